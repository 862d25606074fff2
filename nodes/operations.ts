import type { Node, NodeAPI } from 'node-red';
import { badInput } from '../src/model/error';
import type { Area, Operation } from '../src/model/operation';
import { Fields, readTyped } from './fields';
import { badConfig, Properties } from './properties';
import { payloadUse, sourceOf, type Message, type Source, type Typed } from './sources';
import { kindOf } from '../src/model/json';
import { ours, sentence } from '../src/model/sentence';

/** One operation, ready to get its input from messages. */
export interface Chosen {
  /** As the library calls it: `sessions.kill`. */
  readonly name: string;
  readonly operation: Operation;
  readonly fields: Fields;
}

/** Which operation a message runs: the one of the dialog, or one that the message, a context store or the environment names. */
export class Operations {
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  readonly #area: Area;
  readonly #typed: ReadonlyMap<string, Typed>;
  readonly #mayDestroy: boolean;
  readonly #source: Source;
  /** Properties of the payload that tell the operation. */
  readonly #used: Iterable<string | symbol>;
  readonly #known = new Map<string, Chosen>();

  /** Errors: `BAD_CONFIG` for what cannot be of any use; an operation that does not exist is `BAD_INPUT`, for each message. */
  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, area: Area, definition: Readonly<Record<string, unknown>>) {
    this.#red = red;
    this.#node = node;
    this.#area = area;
    this.#typed = readTyped(definition);
    const properties = new Properties(definition);
    const type = properties.choice('operationType', ['op', 'msg', 'flow', 'global', 'env', 'jsonata']);
    const value = properties.text('operation');
    if (value === undefined) throw badConfig('No operation is chosen. Open the node and choose one.');
    this.#mayDestroy = type === 'op' || properties.flag('allowDestroy');
    this.#source =
      type === 'op'
        ? { constant: value }
        : sourceOf(red, node, { type, value }, { name: 'operation', label: 'Operation', secret: false, tags: false });
    this.#used = payloadUse(red, { type, value }, false);
    if (type === 'op') this.#prepare(value);
  }

  /** Errors: `BAD_INPUT` for an operation that there is not, or that only the dialog may choose. */
  choose(message: Message): Chosen | Promise<Chosen> {
    if ('constant' in this.#source) return this.#named(this.#source.constant);
    if ('now' in this.#source) return this.#named(this.#source.now(message));
    return this.#source.later(message).then((name) => this.#named(name));
  }

  #named(given: unknown): Chosen {
    if (typeof given !== 'string') throw badInput(sentence`operation has to be the name of an operation; ${ours(kindOf(given))} came.`);
    const prefix = `${this.#area.name}.`;
    const name = given.startsWith(prefix) ? given.slice(prefix.length) : given;
    const chosen = this.#known.get(name) ?? this.#prepare(name);
    if (!chosen) {
      throw badInput(
        sentence`There is no operation ${JSON.stringify(given)} in this node. There are: ${ours(Object.keys(this.#area.operations).join(', '))}.`,
      );
    }
    if (chosen.operation.effect === 'destroy' && !this.#mayDestroy) {
      throw badInput(
        sentence`The operation ${ours(name)} destroys something, and this node lets only its own dialog choose such a one. Allow it there.`,
      );
    }
    return chosen;
  }

  #prepare(name: string): Chosen | undefined {
    if (!Object.hasOwn(this.#area.operations, name)) return undefined;
    const operation = this.#area.operations[name] as Operation;
    const fields = new Fields(this.#red, this.#node, operation, this.#typedFor(operation), this.#used);
    const chosen = { name: `${this.#area.name}.${name}`, operation, fields };
    this.#known.set(name, chosen);
    return chosen;
  }

  /** A node with a dynamic operation has entries for several: those of the others do not count. An unknown one stays, to be told. */
  #typedFor(operation: Operation): ReadonlyMap<string, Typed> {
    if ('constant' in this.#source) return this.#typed;
    const others = Object.values(this.#area.operations).filter((other) => other !== operation);
    const ofOthers = (name: string): boolean => others.some(({ fields }) => Object.hasOwn(fields, name));
    return new Map([...this.#typed].filter(([name]) => Object.hasOwn(operation.fields, name) || !ofOthers(name)));
  }
}
