import type { Node, NodeAPI } from 'node-red';
import type { Field, Operation } from '../src/model/operation';
import { badConfig } from './properties';
import { mayBeWhole } from './rules';
import { payloadUse, sourceOf, WHOLE, type Message, type Source, type Typed } from './sources';
import { isObject, type JsonObject } from '../src/model/json';
import { sentence } from '../src/model/sentence';

type Values = Record<string, unknown>;
type Now = readonly [name: string, read: (message: Message) => unknown];
type Later = readonly [name: string, read: (message: Message) => Promise<unknown>];

/**
 * What the node's `fields` say, checked for shape; flows of 0.1 have them under `inputs`, where Node-RED itself may put a number of
 * ports. Errors: `BAD_CONFIG` naming the entry.
 */
export function readTyped({ fields: given, inputs }: Readonly<Record<string, unknown>>): ReadonlyMap<string, Typed> {
  const fields = given ?? (isObject(inputs) ? inputs : undefined);
  if (fields === undefined || fields === '') return new Map();
  if (!isObject(fields)) throw badConfig('fields has to be an object: one entry for each field, with type and value.');
  return new Map(
    Object.entries(fields).map(([name, entry]): [string, Typed] => {
      if (!isObject(entry) || typeof entry.type !== 'string')
        throw badConfig(sentence`fields.${name} has to be an object with type and value.`);
      return [name, { type: entry.type, value: entry.value }];
    }),
  );
}

/**
 * How one operation of one node gets its input (contract, "Where a field's value comes from"), worked out once. Only where values
 * come from is decided here; what they have to be, `readInput` of the library says.
 */
export class Fields {
  readonly #constants: Values = {};
  readonly #now: Now[] = [];
  readonly #later: Later[] = [];
  readonly #payload: readonly (readonly [string, Field])[];
  readonly #subject: string | undefined;
  readonly #required: boolean;
  readonly #takesNumber: boolean;
  /** The whole payload may be the object that the operation is about. */
  readonly #whole: boolean;
  /** Properties of the payload that are read by name: sources that name one, and what tells the operation. */
  readonly #used = new Set<string | symbol>();

  constructor(
    red: NodeAPI,
    node: Node<Record<string, unknown>>,
    operation: Operation,
    typed: ReadonlyMap<string, Typed>,
    used: Iterable<string | symbol> = [],
  ) {
    for (const [name, value] of typed) {
      const field: Field | undefined = operation.fields[name];
      const tags = field?.kind === 'path';
      this.#add(name, sourceOf(red, node, value, { name, label: field?.label, secret: field?.secret ?? false, tags }));
      for (const property of payloadUse(red, value, tags)) this.#used.add(property);
    }
    for (const property of used) this.#used.add(property);
    this.#payload = Object.entries(operation.fields).filter(([name, field]) => !typed.has(name) && !field.guard);
    const [subject, field] = this.#payload.find(([, { subject }]) => subject) ?? [];
    this.#subject = subject;
    this.#required = field?.required === true;
    this.#takesNumber = field?.kind === 'number' || field?.numberPayload === true;
    this.#whole = subject !== undefined && mayBeWhole(subject, operation.fields, (name) => typed.has(name));
  }

  /** Values by field. A promise only where a source needs one; it and the call itself fail with a `GatewayError`. */
  read(message: Message): Values | Promise<Values> {
    const values: Values = { ...this.#constants };
    for (const [name, read] of this.#now) values[name] = read(message);
    this.#readPayload(message.payload, values);
    return this.#later.length === 0 ? values : this.#readLater(message, values);
  }

  #add(name: string, source: Source): void {
    if ('constant' in source) this.#constants[name] = source.constant;
    else if ('now' in source) this.#now.push([name, source.now]);
    else this.#later.push([name, source.later]);
  }

  #readPayload(payload: unknown, values: Values): void {
    const subject = this.#subject;
    if (!isObject(payload)) {
      if (subject !== undefined && this.#isSubject(payload)) values[subject] = payload;
    } else if (subject !== undefined && this.#isWhole(payload)) {
      values[subject] = payload;
    } else this.#readProperties(payload, values);
  }

  #isWhole(payload: JsonObject): boolean {
    return this.#subject !== undefined && this.#whole && !Object.hasOwn(payload, this.#subject);
  }

  /** The properties of an object payload that nothing of this operation reads; the first hundred. */
  ignored(payload: unknown): string[] {
    if (!isObject(payload) || this.#isWhole(payload) || this.#used.has(WHOLE)) return [];
    const fields = new Set(this.#payload.map(([name]) => name));
    return Object.keys(payload)
      .filter((name) => !fields.has(name) && !this.#used.has(name))
      .slice(0, 100);
  }

  #readProperties(payload: JsonObject, values: Values): void {
    for (const [name, field] of this.#payload) {
      if (!Object.hasOwn(payload, name)) continue;
      const value = payload[name];
      // A filter that is there but empty is an error later on, not "everything".
      values[name] = value === undefined && field.filter ? null : value;
    }
  }

  /** A number is one only where a number is wanted: an Inject node's timestamp is no session id. */
  #isSubject(payload: unknown): boolean {
    if (typeof payload === 'number') return this.#takesNumber;
    if ((typeof payload === 'string' && payload !== '') || Array.isArray(payload) || Buffer.isBuffer(payload)) return true;
    // A Map or a Date, say: where something has to come, what came is told.
    return this.#required && typeof payload === 'object' && payload !== null;
  }

  async #readLater(message: Message, values: Values): Promise<Values> {
    const found = await Promise.all(this.#later.map(([, read]) => read(message)));
    this.#later.forEach(([name], index) => (values[name] = found[index]));
    return values;
  }
}
