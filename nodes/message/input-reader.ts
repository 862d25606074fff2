import type { Node, NodeAPI } from 'node-red';
import type { Field, Operation } from '../../src/model/operation';
import { badConfig } from '../common/node-properties';
import { canFieldTakeWholePayload } from '../common/rules';
import {
  findPayloadProperties,
  createValueResolver,
  WHOLE_PAYLOAD,
  type Message,
  type ValueResolver,
  type TypedValue,
} from './typed-value';
import { isObject, type JsonObject } from '../../src/model/json';
import { trusted, safeMessage } from '../../src/model/safe-message';
import { badInput } from '../../src/model/error';
import { assertMessageDepth } from './message-depth';

const MAX_LISTED_PROPERTIES = 20;

type InputValues = Record<string, unknown>;
type SyncReader = readonly [name: string, read: (message: Message) => unknown];
type AsyncReader = readonly [name: string, read: (message: Message) => Promise<unknown>];

/** Reads the `fields` of a node. Errors: `BAD_CONFIG` with the entry. */
export function readTypedValues({ fields }: Readonly<Record<string, unknown>>): ReadonlyMap<string, TypedValue> {
  if (fields === undefined || fields === null || fields === '') return new Map();
  if (!isObject(fields)) throw badConfig('fields must be an object with one entry per field, each with type and value.');
  return new Map(
    Object.entries(fields).map(([name, entry]): [string, TypedValue] => {
      if (!isObject(entry) || typeof entry.type !== 'string')
        throw badConfig(safeMessage`fields.${name} must be an object with type and value.`);
      return [name, { type: entry.type, value: entry.value }];
    }),
  );
}

/**
 * Reads the input of one operation from messages (contract, "Where a field's value comes from"). `parseInput` of the library checks the
 * values.
 */
export class InputReader {
  readonly #constants: [name: string, value: unknown][] = [];
  readonly #syncReaders: SyncReader[] = [];
  readonly #asyncReaders: AsyncReader[] = [];
  readonly #payloadFields: readonly (readonly [string, Field])[];
  readonly #fields: Operation['fields'];
  readonly #subject: string | undefined;
  readonly #isSubjectRequired: boolean;
  readonly #canTakeNumber: boolean;
  /** Whether the payload itself can be the subject of the operation. */
  readonly #canBeWholePayload: boolean;
  /** Payload properties that a field or the choice of the operation reads by name. */
  readonly #usedProperties = new Set<string | symbol>();

  constructor(
    red: NodeAPI,
    node: Node<Record<string, unknown>>,
    operation: Operation,
    typedValues: ReadonlyMap<string, TypedValue>,
    usedProperties: Iterable<string | symbol> = [],
  ) {
    for (const [name, value] of typedValues) {
      const field: Field | undefined = operation.fields[name];
      const hasPathTags = field?.kind === 'path';
      this.#add(name, createValueResolver(red, node, value, { name, label: field?.label, isSecret: field?.secret ?? false, hasPathTags }));
      for (const property of findPayloadProperties(red, value, hasPathTags)) this.#usedProperties.add(property);
    }
    for (const property of usedProperties) this.#usedProperties.add(property);
    this.#fields = operation.fields;
    this.#payloadFields = Object.entries(operation.fields).filter(([name, field]) => !typedValues.has(name) && !field.guard);
    const [subject, field] = this.#payloadFields.find(([, { subject }]) => subject) ?? [];
    this.#subject = subject;
    this.#isSubjectRequired = field?.required === true;
    this.#canTakeNumber = field?.kind === 'number' || field?.numberPayload === true;
    this.#canBeWholePayload = subject !== undefined && canFieldTakeWholePayload(subject, operation.fields, (name) => typedValues.has(name));
  }

  /** Returns the values by field; a promise only if a source needs one. Fails with a `GatewayError`. */
  read(message: Message): InputValues | Promise<InputValues> {
    const values: InputValues = {};
    // In Node.js 20, adding properties to a spread copy gives each object its own hidden class.
    for (const [name, value] of this.#constants) values[name] = value;
    for (const [name, read] of this.#syncReaders) values[name] = read(message);
    this.#readPayload(message.payload, values);
    if (this.#asyncReaders.length > 0) return this.#readAsync(message, values);
    this.#assertInput(message.payload, values);
    return values;
  }

  #add(name: string, resolver: ValueResolver): void {
    if ('constant' in resolver) this.#constants.push([name, resolver.constant]);
    else if ('sync' in resolver) this.#syncReaders.push([name, resolver.sync]);
    else this.#asyncReaders.push([name, resolver.async]);
  }

  #readPayload(payload: unknown, values: InputValues): void {
    const subject = this.#subject;
    if (!isObject(payload)) {
      if (subject !== undefined && this.#isSubject(payload)) values[subject] = payload;
    } else if (subject !== undefined && this.#isWholePayload(payload)) {
      values[subject] = payload;
    } else this.#readProperties(payload, values);
  }

  #isWholePayload(payload: JsonObject): boolean {
    return this.#subject !== undefined && this.#canBeWholePayload && !Object.hasOwn(payload, this.#subject);
  }

  /** Returns the payload properties that the operation does not read, at most 100. */
  findIgnored(payload: unknown): string[] {
    if (!isObject(payload) || this.#isWholePayload(payload) || this.#usedProperties.has(WHOLE_PAYLOAD)) return [];
    const fields = new Set(this.#payloadFields.map(([name, field]) => this.#findProperty(payload, name, field) ?? name));
    return Object.keys(payload)
      .filter((name) => !fields.has(name) && !this.#usedProperties.has(name))
      .slice(0, 100);
  }

  #readProperties(payload: JsonObject, values: InputValues): void {
    for (const [name, field] of this.#payloadFields) {
      const property = this.#findProperty(payload, name, field);
      if (property === undefined) continue;
      const value = payload[property];
      // A filter that is present but empty must become an error, not "everything".
      values[name] = value === undefined && field.filter ? null : value;
    }
  }

  /** Returns the payload property of a field: its name, or an alias that is not itself a field. */
  #findProperty(payload: JsonObject, name: string, { aliases = [] }: Field): string | undefined {
    return [name, ...aliases].find((property) => Object.hasOwn(payload, property) && (property === name || !this.#isField(property)));
  }

  #isField(name: string): boolean {
    return Object.hasOwn(this.#fields, name);
  }

  #assertInput(payload: unknown, values: InputValues): void {
    assertMessageDepth(values);
    this.#assertComplete(payload, values);
  }

  #hasSubjectList(values: InputValues): boolean {
    return Object.entries(this.#fields).some(([name, { subject }]) => subject && Array.isArray(values[name]));
  }

  /** Reports a missing field with the properties that the payload has. Errors: `BAD_INPUT`. */
  #assertComplete(payload: unknown, values: InputValues): void {
    if (!isObject(payload)) return;
    const names = Object.keys(payload);
    if (names.length === 0) return;
    for (const [name, field] of this.#payloadFields) {
      if (!field.required || (values[name] !== undefined && values[name] !== null)) continue;
      if (field.perItem && this.#hasSubjectList(values)) continue;
      const rest = names.length > MAX_LISTED_PROPERTIES ? safeMessage` and ${names.length - MAX_LISTED_PROPERTIES} more` : trusted('');
      throw badInput(
        safeMessage`msg.payload.${trusted(name)} (${trusted(field.label)}) is missing; the payload has: ${names.slice(0, MAX_LISTED_PROPERTIES).join(', ')}${rest}. Nothing was sent.`,
        { sent: false, missing: { name, label: field.label } },
      );
    }
  }

  /** Accepts a number only for a number field: the timestamp of an Inject node is not a session id. */
  #isSubject(payload: unknown): boolean {
    if (typeof payload === 'number') return this.#canTakeNumber;
    if ((typeof payload === 'string' && payload !== '') || Array.isArray(payload) || Buffer.isBuffer(payload)) return true;
    // Passes on a Map or a Date, so that the error can name it.
    return this.#isSubjectRequired && typeof payload === 'object' && payload !== null;
  }

  async #readAsync(message: Message, values: InputValues): Promise<InputValues> {
    const found = await Promise.all(this.#asyncReaders.map(([, read]) => read(message)));
    this.#asyncReaders.forEach(([name], index) => (values[name] = found[index]));
    this.#assertInput(message.payload, values);
    return values;
  }
}
