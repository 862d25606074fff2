import type { Node } from 'node-red';
import type { JsonObject } from '../../src/model/json';
import type { Message } from './typed-value';

/** A dialog shows it to somebody: of a message that is larger only a part would be read, and nobody should pay for the rest. */
const MAX_VALUES = 500;
const MAX_TEXT_LENGTH = 20_000;
const MAX_DEPTH = 12;
/** What no field is taken from, or what hangs on a connection. */
const OMITTED_PROPERTIES = ['_msgid', 'req', 'res', 'error', 'parts', 'approve', 'reject', 'cancel'];

const lastMessages = new Map<string, LastMessage>();

/** What a dialog may know of the node that runs: its properties, and the last message that came to it. */
export class LastMessage {
  readonly node: Node<Record<string, unknown>>;
  /** As Node-RED gave them: variables have their values. */
  readonly definition: Readonly<Record<string, unknown>>;
  #message: JsonObject | undefined;
  #receivedAt = 0;

  constructor(node: Node<Record<string, unknown>>, definition: object) {
    this.node = node;
    this.definition = { ...definition };
    lastMessages.set(node.id, this);
  }

  /** Keeps a small copy: the message itself is changed by this node and by those behind it. */
  record(message: Message): void {
    this.#receivedAt = Date.now();
    const remaining = { values: MAX_VALUES, text: MAX_TEXT_LENGTH };
    const copy: Record<string, unknown> = {};
    try {
      for (const name of Object.keys(message)) {
        if (OMITTED_PROPERTIES.includes(name)) continue;
        const value = copyValue(message[name as keyof Message], remaining, 0);
        if (value !== undefined) copy[name] = value;
      }
    } catch {
      // Too much of it, or a property that throws: what was copied until then is shown.
    }
    this.#message = copy;
  }

  read(): { at: number; message: JsonObject } | undefined {
    return this.#message && { at: this.#receivedAt, message: this.#message };
  }

  close(): void {
    // A node of the same id may be there already.
    if (lastMessages.get(this.node.id) === this) lastMessages.delete(this.node.id);
  }
}

export function findLastMessage(id: unknown): LastMessage | undefined {
  return typeof id === 'string' ? lastMessages.get(id) : undefined;
}

/** What JSON can hold, of it; undefined for what it cannot. Throws where it is too much. */
function copyValue(value: unknown, remaining: { values: number; text: number }, depth: number): unknown {
  if (--remaining.values < 0 || depth > MAX_DEPTH) throw new RangeError('too large');
  if (typeof value === 'string') {
    if ((remaining.text -= value.length) < 0) throw new RangeError('too large');
    return value;
  }
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object' || Buffer.isBuffer(value)) return undefined;
  if (Array.isArray(value)) return value.map((item) => copyValue(item, remaining, depth + 1));
  const entries: [string, unknown][] = [];
  for (const name of Object.keys(value)) {
    const item = copyValue((value as JsonObject)[name], remaining, depth + 1);
    if (item !== undefined) entries.push([name, item]);
  }
  return Object.fromEntries(entries);
}
