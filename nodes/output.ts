import type { NodeAPI, NodeMessage } from 'node-red';
import { isOurs } from './failure';
import { badConfig } from './properties';
import { RESERVED } from './rules';
import type { Message } from './sources';
import { isObject, kindOf } from '../src/model/json';
import { ours, sentence } from '../src/model/sentence';

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
    if (typeof first !== 'string' || RESERVED.has(first) || parts.some((part) => PROTOTYPES.has(part))) {
      throw badConfig(
        sentence`output may not be ${JSON.stringify(property)}: the message needs that for something else. Choose another property.`,
      );
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
        throw badConfig(
          sentence`output is msg.${this.#property}, but there the message has ${ours(kindOf(holder))}, which cannot hold it.`,
        );
      }
    }
  }

  /**
   * The message itself, or a copy where it cannot take what a node writes into it: it is sealed, or has a property that is read-only.
   * Known before anything is sent: a change that was made must not be reported as failed.
   */
  own(message: Message): Message {
    const own = owned(message, this.#property === '' ? [] : [String(this.#parts(message)[0])]);
    let holder: Record<string | number, unknown> = own;
    if (this.#nested) {
      const parts = this.#parts(message);
      for (const [index, part] of parts.slice(0, -1).entries()) {
        const inner = holder[part];
        if (typeof inner !== 'object' || inner === null) break;
        if (!takes(inner, parts[index + 1] as string | number))
          holder[part] = Array.isArray(inner) ? [...(inner as unknown[])] : { ...inner };
        holder = holder[part] as Record<string | number, unknown>;
      }
    }
    return own;
  }

  /** Tells an `http response` what the payload is, where that is no JSON. */
  declare(message: Message, contentType: string | undefined): void {
    if (contentType === undefined || this.#property !== 'payload') return;
    message.headers = { ...(isObject(message.headers) && message.headers), 'content-type': contentType };
  }

  set(message: NodeMessage, data: unknown): void {
    if (this.#property === 'payload') message.payload = data;
    else if (this.#property !== '') this.#red.util.setMessageProperty(message, this.#property, data, true);
  }

  /**
   * A message of its own for one part of a stream: it shares nothing with the others, but what hangs on an HTTP request. An error that
   * one of these nodes set stays behind.
   */
  copy(message: Message, replaced = this.#replaced): Message {
    // What is replaced anyway need not be copied: a payload may be large.
    const kept = Object.entries(message).filter(([name, value]) => !replaced.includes(name) && !(name === 'error' && isOurs(value)));
    return this.#red.util.cloneMessage(Object.fromEntries(kept) as Message);
  }

  get #replaced(): string[] {
    return ['envelope', 'parts', ...(this.#nested ? [] : [this.#property])];
  }

  #parts(message?: Message): (string | number)[] {
    try {
      return this.#red.util.normalisePropertyExpression(this.#property, message);
    } catch {
      throw badConfig(sentence`output is ${JSON.stringify(this.#property)}, which is no message property. Enter one such as payload.`);
    }
  }
}

/** A message that takes `envelope`, `error` and the properties of these names. Something that is no object becomes the payload of one. */
export function owned(message: Message, names: readonly string[]): Message {
  if (typeof message !== 'object') return { payload: message } as unknown as Message;
  return ['envelope', 'error', ...names].every((name) => takes(message, name)) ? message : { ...message };
}

/** Whether a property can be written, and be taken away again. */
function takes(holder: object, name: string | number): boolean {
  const property = Object.getOwnPropertyDescriptor(holder, name);
  return property ? property.writable === true && property.configurable === true : Object.isExtensible(holder);
}
