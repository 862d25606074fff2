import type { NodeAPI, NodeMessage } from 'node-red';
import { badConfig } from './properties';
import type { Message } from './sources';
import { isObject, kindOf } from '../src/model/json';

/** What the node itself writes, what Node-RED tells messages apart by, and what an HTTP request hangs on. */
const FORBIDDEN = new Set(['envelope', 'error', '_msgid', 'req', 'res', 'parts']);
const PROTOTYPES = new Set<unknown>(['__proto__', 'constructor', 'prototype']);

/** The message property that receives the data; none when the node is to leave the message's own properties alone. */
export class Output {
  readonly #red: NodeAPI;
  readonly #property: string;
  readonly #nested: boolean;

  /** Errors: `BAD_CONFIG` for a property that cannot be, or that a message needs for something else. */
  constructor(red: NodeAPI, property: string) {
    this.#red = red;
    this.#property = property.startsWith('msg.') ? property.slice(4) : property;
    const parts = this.#property === '' ? ['payload'] : this.#parts();
    this.#nested = parts.length > 1;
    const first = parts[0];
    if (typeof first !== 'string' || FORBIDDEN.has(first) || parts.some((part) => PROTOTYPES.has(part))) {
      throw badConfig(`output may not be ${JSON.stringify(property)}: the message needs that for something else. Choose another property.`);
    }
  }

  /** Before anything is sent: the data must not be lost because a text stands where an object is needed. */
  check(message: Message): void {
    if (!this.#nested) return;
    let holder: unknown = message;
    for (const part of this.#parts(message).slice(0, -1)) {
      holder = (holder as Record<string | number, unknown>)[part];
      if (holder === undefined) return;
      if (typeof holder !== 'object' || holder === null) {
        throw badConfig(`output is msg.${this.#property}, but there the message has ${kindOf(holder)}, which cannot hold it.`);
      }
    }
  }

  set(message: NodeMessage, data: unknown): void {
    if (this.#property === 'payload') message.payload = data;
    else if (this.#property !== '') this.#red.util.setMessageProperty(message, this.#property, data, true);
  }

  /** A message of its own for one part of a stream: what the others hold, and the way to the property not shared with them. */
  copy(message: Message): Message {
    const copy = { ...message };
    if (!this.#nested) return copy;
    let holder: Record<string | number, unknown> = copy;
    for (const part of this.#parts(message).slice(0, -1)) {
      const inner = holder[part];
      if (!isObject(inner) && !Array.isArray(inner)) break;
      const own: unknown = Array.isArray(inner) ? [...(inner as unknown[])] : { ...inner };
      holder[part] = own;
      holder = own as Record<string | number, unknown>;
    }
    return copy;
  }

  #parts(message?: Message): (string | number)[] {
    try {
      return this.#red.util.normalisePropertyExpression(this.#property, message);
    } catch {
      throw badConfig(`output is ${JSON.stringify(this.#property)}, which is no message property. Enter one such as payload.`);
    }
  }
}
