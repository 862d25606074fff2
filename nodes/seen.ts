import type { Node } from 'node-red';
import type { JsonObject } from '../src/model/json';
import type { Message } from './sources';

/** A dialog shows it to somebody: of a message that is larger only a part would be read, and nobody should pay for the rest. */
const MOST_VALUES = 500;
const MOST_TEXT = 20_000;
const DEEPEST = 12;
/** What no field is taken from, or what hangs on a connection. */
const LEFT_OUT = ['_msgid', 'req', 'res', 'error', 'parts', 'approve', 'reject', 'cancel'];

const nodes = new Map<string, Seen>();

/** What a dialog may know of the node that runs: its properties, and the last message that came to it. */
export class Seen {
  readonly node: Node<Record<string, unknown>>;
  /** As Node-RED gave them: variables have their values. */
  readonly definition: Readonly<Record<string, unknown>>;
  #message: JsonObject | undefined;
  #at = 0;

  constructor(node: Node<Record<string, unknown>>, definition: object) {
    this.node = node;
    this.definition = { ...definition };
    nodes.set(node.id, this);
  }

  /** Keeps a small copy: the message itself is changed by this node and by those behind it. */
  keep(message: Message): void {
    this.#at = Date.now();
    const left = { values: MOST_VALUES, text: MOST_TEXT };
    const copy: Record<string, unknown> = {};
    try {
      for (const name of Object.keys(message)) {
        if (LEFT_OUT.includes(name)) continue;
        const value = copied(message[name as keyof Message], left, 0);
        if (value !== undefined) copy[name] = value;
      }
    } catch {
      // Too much of it, or a property that throws: what was copied until then is shown.
    }
    this.#message = copy;
  }

  last(): { at: number; message: JsonObject } | undefined {
    return this.#message && { at: this.#at, message: this.#message };
  }

  close(): void {
    // A node of the same id may be there already.
    if (nodes.get(this.node.id) === this) nodes.delete(this.node.id);
  }
}

export function seenBy(id: unknown): Seen | undefined {
  return typeof id === 'string' ? nodes.get(id) : undefined;
}

/** What JSON can hold, of it; undefined for what it cannot. Throws where it is too much. */
function copied(value: unknown, left: { values: number; text: number }, depth: number): unknown {
  if (--left.values < 0 || depth > DEEPEST) throw new RangeError('too large');
  if (typeof value === 'string') {
    if ((left.text -= value.length) < 0) throw new RangeError('too large');
    return value;
  }
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object' || Buffer.isBuffer(value)) return undefined;
  if (Array.isArray(value)) return value.map((item) => copied(item, left, depth + 1));
  const entries: [string, unknown][] = [];
  for (const name of Object.keys(value)) {
    const item = copied((value as JsonObject)[name], left, depth + 1);
    if (item !== undefined) entries.push([name, item]);
  }
  return Object.fromEntries(entries);
}
