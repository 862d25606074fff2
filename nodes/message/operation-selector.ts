import type { Node, NodeAPI } from 'node-red';
import { badInput } from '../../src/model/error';
import type { Area, Operation } from '../../src/model/operation';
import { InputReader, readTypedValues } from './input-reader';
import { badConfig, NodeProperties } from '../common/node-properties';
import { findPayloadProperties, createValueResolver, type Message, type ValueResolver, type TypedValue } from './typed-value';
import { describeValueKind } from '../../src/model/json';
import { trusted, safeMessage, type SafeMessage } from '../../src/model/safe-message';

/** An operation that is ready to read its input from messages. */
export interface SelectedOperation {
  /** The name in the library, such as `sessions.kill`. */
  readonly name: string;
  readonly operation: Operation;
  readonly inputReader: InputReader;
  /** Why a PUT of this operation may not remove anything; undefined if it may. */
  readonly removalRefusal: SafeMessage | undefined;
}

const REMOVAL_REFUSAL = safeMessage`A message chose the operation, and only the dialog may choose one that destroys. Allow messages to choose it in the node.`;

/** Selects the operation of a message: a fixed one, or one named by a message, context store, variable or expression. */
export class OperationSelector {
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  readonly #area: Area;
  readonly #typedValues: ReadonlyMap<string, TypedValue>;
  readonly #isDestroyAllowed: boolean;
  readonly #resolver: ValueResolver;
  /** Payload properties that select the operation. */
  readonly #usedProperties: Iterable<string | symbol>;
  readonly #prepared = new Map<string, SelectedOperation>();

  /** Parses the selection. Errors: `BAD_CONFIG` if a property is invalid. Each message with an unknown operation fails with `BAD_INPUT`. */
  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, area: Area, definition: Readonly<Record<string, unknown>>) {
    this.#red = red;
    this.#node = node;
    this.#area = area;
    this.#typedValues = readTypedValues(definition);
    const properties = new NodeProperties(definition);
    const type = properties.choice('operationType', ['op', 'msg', 'flow', 'global', 'env', 'jsonata']);
    const value = properties.text('operation');
    if (value === undefined) throw badConfig('No operation is chosen. Open the node and choose one.');
    this.#isDestroyAllowed = type === 'op' || properties.flag('allowDestroy');
    this.#resolver =
      type === 'op'
        ? { constant: value }
        : createValueResolver(red, node, { type, value }, { name: 'operation', label: 'Operation', isSecret: false, hasPathTags: false });
    this.#usedProperties = findPayloadProperties(red, { type, value }, false);
    if (type === 'op') this.#prepare(value);
  }

  /** Returns the operation of a message. Errors: `BAD_INPUT` if it does not exist or only the dialog may select it. */
  select(message: Message): SelectedOperation | Promise<SelectedOperation> {
    if ('constant' in this.#resolver) return this.#selectByName(this.#resolver.constant);
    if ('sync' in this.#resolver) return this.#selectByName(this.#resolver.sync(message));
    return this.#resolver.async(message).then((name) => this.#selectByName(name));
  }

  #selectByName(requested: unknown): SelectedOperation {
    if (typeof requested !== 'string')
      throw badInput(safeMessage`operation must be the name of an operation, not ${trusted(describeValueKind(requested))}.`);
    const prefix = `${this.#area.name}.`;
    const name = requested.startsWith(prefix) ? requested.slice(prefix.length) : requested;
    const selectedOperation = this.#prepared.get(name) ?? this.#prepare(name);
    if (!selectedOperation) {
      throw badInput(
        safeMessage`This node has no operation ${JSON.stringify(requested)}. It has: ${trusted(Object.keys(this.#area.operations).join(', '))}.`,
        { statusReason: 'unknown-operation' },
      );
    }
    if (selectedOperation.operation.effect === 'destroy' && !this.#isDestroyAllowed) {
      throw badInput(
        safeMessage`The operation ${trusted(name)} destroys something, and only the dialog may choose it. Nothing was sent. Allow messages to choose it in the node.`,
      );
    }
    return selectedOperation;
  }

  #prepare(name: string): SelectedOperation | undefined {
    if (!Object.hasOwn(this.#area.operations, name)) return undefined;
    const operation = this.#area.operations[name] as Operation;
    const inputReader = new InputReader(this.#red, this.#node, operation, this.#typedValuesFor(operation), this.#usedProperties);
    const removalRefusal = this.#isDestroyAllowed ? undefined : REMOVAL_REFUSAL;
    const selectedOperation = { name: `${this.#area.name}.${name}`, operation, inputReader, removalRefusal };
    this.#prepared.set(name, selectedOperation);
    return selectedOperation;
  }

  /** Removes the fields of other operations, which a node with a variable operation can have. Unknown fields stay and cause an error. */
  #typedValuesFor(operation: Operation): ReadonlyMap<string, TypedValue> {
    if ('constant' in this.#resolver) return this.#typedValues;
    const otherOperations = Object.values(this.#area.operations).filter((other) => other !== operation);
    const isFieldOfOther = (name: string): boolean => otherOperations.some(({ fields }) => Object.hasOwn(fields, name));
    return new Map([...this.#typedValues].filter(([name]) => Object.hasOwn(operation.fields, name) || !isFieldOfOther(name)));
  }
}
