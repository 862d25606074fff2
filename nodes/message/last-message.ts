import type { Node } from 'node-red';
import { setOwnProperty, type JsonObject } from '../../src/model/json';
import type { Message } from './typed-value';

/** Maximum number of values in the copy. The dialog shows only a part of a large message, and copying more would slow the flow. */
const MAX_VALUES = 500;
const MAX_TEXT_LENGTH = 20_000;
const MAX_DEPTH = 12;
/** Properties that fields do not use, or that belong to a connection. */
const OMITTED_PROPERTIES: ReadonlySet<string> = new Set(['_msgid', 'req', 'res', 'error', 'parts', 'approve', 'reject', 'cancel']);

/** The remaining size for the copy. */
interface RemainingSize {
  values: number;
  text: number;
}

const lastMessages = new Map<string, LastMessage>();

/** What the dialog can read about a running node: its properties and the last message. */
export class LastMessage {
  readonly node: Node<Record<string, unknown>>;
  /** The deployed properties, with the values of variables. */
  readonly definition: Readonly<Record<string, unknown>>;
  #message: JsonObject | undefined;
  #receivedAt = 0;

  constructor(node: Node<Record<string, unknown>>, definition: object) {
    this.node = node;
    this.definition = { ...definition };
    lastMessages.set(node.id, this);
  }

  /** Keeps a small copy of the message, because this node and later ones change the message. */
  record(message: Message): void {
    this.#receivedAt = Date.now();
    const remaining = { values: MAX_VALUES, text: MAX_TEXT_LENGTH };
    const copy: Record<string, unknown> = {};
    try {
      copyProperties(message, copy, remaining, 0, OMITTED_PROPERTIES);
    } catch {
      // The message is too large or a property throws. The part copied so far is shown.
    }
    this.#message = copy;
  }

  read(): { at: number; message: JsonObject } | undefined {
    return this.#message && { at: this.#receivedAt, message: this.#message };
  }

  close(): void {
    // A deploy can already have created a node with the same id.
    if (lastMessages.get(this.node.id) === this) lastMessages.delete(this.node.id);
  }
}

export function findLastMessage(id: unknown): LastMessage | undefined {
  return typeof id === 'string' ? lastMessages.get(id) : undefined;
}

/** Copies what JSON can hold and returns undefined for the rest. Throws if the value is too large. */
function copyValue(value: unknown, remaining: RemainingSize, depth: number): unknown {
  if (--remaining.values < 0 || depth > MAX_DEPTH) throw new RangeError('too large');
  if (typeof value === 'string') {
    if ((remaining.text -= value.length) < 0) throw new RangeError('too large');
    return value;
  }
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object' || Buffer.isBuffer(value)) return undefined;
  if (Array.isArray(value)) return value.map((item) => copyValue(item, remaining, depth + 1));
  return copyProperties(value as JsonObject, {}, remaining, depth + 1);
}

/** Iterates without `Object.entries`, because its lists would use more memory than the copy. */
function copyProperties(
  value: JsonObject,
  copy: Record<string, unknown>,
  remaining: RemainingSize,
  depth: number,
  omitted?: ReadonlySet<string>,
): JsonObject {
  for (const name in value) {
    if (!Object.hasOwn(value, name) || omitted?.has(name)) continue;
    const item = copyValue(value[name], remaining, depth);
    if (item !== undefined) setOwnProperty(copy, name, item);
  }
  return copy;
}
