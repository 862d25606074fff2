import type { NodeAPI, NodeMessage } from 'node-red';
import { isGatewayFailure } from './failure';
import { badConfig } from '../common/node-properties';
import { RESERVED_MESSAGE_PROPERTIES } from '../common/rules';
import type { Message } from './typed-value';
import { isObject, describeValueKind } from '../../src/model/json';
import { trusted, safeMessage } from '../../src/model/safe-message';

const PROTOTYPE_NAMES = new Set<unknown>(['__proto__', 'constructor', 'prototype']);

/** The message property that receives the data. With an empty name the node changes only its own properties. */
export class OutputProperty {
  readonly #red: NodeAPI;
  readonly #property: string;
  readonly #isNested: boolean;
  /** The message properties that receive data; undefined if the message selects them. */
  readonly #names: readonly string[] | undefined;

  /** Parses the name of the property. Errors: `BAD_CONFIG` if the property is invalid or reserved. */
  constructor(red: NodeAPI, property: string) {
    this.#red = red;
    this.#property = property.startsWith('msg.') ? property.slice(4) : property;
    const parts = this.#property === '' ? ['payload'] : this.#pathParts();
    this.#isNested = parts.length > 1;
    const first = parts[0];
    if (!this.#isNested) this.#names = this.#property === '' ? [] : [String(first)];
    if (typeof first !== 'string' || RESERVED_MESSAGE_PROPERTIES.has(first) || parts.some((part) => PROTOTYPE_NAMES.has(part))) {
      throw badConfig(
        safeMessage`output cannot be ${JSON.stringify(property)}, because the message needs that property. Choose another one.`,
      );
    }
  }

  /** Checks before anything is sent that every object on the path is an object. Otherwise the data would be lost. */
  assertWritable(message: Message): void {
    if (!this.#isNested) return;
    let holder: unknown = message;
    for (const part of this.#pathParts(message).slice(0, -1)) {
      holder = (holder as Record<string | number, unknown>)[part];
      if (holder === undefined) return;
      if (typeof holder !== 'object' || holder === null) {
        throw badConfig(
          safeMessage`output is msg.${this.#property}, but the message has ${trusted(describeValueKind(holder))} there, which cannot hold data. Nothing was sent.`,
        );
      }
    }
  }

  /**
   * Returns the message, or a copy if it is sealed or has a read-only property that the node writes. It is checked before sending, so
   * that a completed change is not reported as failed.
   */
  normalize(message: Message): Message {
    const normalized = normalizeMessage(message, this.#names ?? [String(this.#pathParts(message)[0])]);
    let holder: Record<string | number, unknown> = normalized;
    if (this.#isNested) {
      const parts = this.#pathParts(message);
      for (const [index, part] of parts.slice(0, -1).entries()) {
        const inner = holder[part];
        if (typeof inner !== 'object' || inner === null) break;
        if (!isWritable(inner, parts[index + 1] as string | number))
          holder[part] = Array.isArray(inner) ? [...(inner as unknown[])] : { ...inner };
        holder = holder[part] as Record<string | number, unknown>;
      }
    }
    return normalized;
  }

  /** Sets the content type for an `http response` node, if the payload is not JSON. */
  setContentType(message: Message, contentType: string | undefined): void {
    if (contentType === undefined || this.#property !== 'payload') return;
    message.headers = { ...(isObject(message.headers) && message.headers), 'content-type': contentType };
  }

  set(message: NodeMessage, data: unknown): void {
    if (this.#property === 'payload') message.payload = data;
    else if (this.#property !== '') this.#red.util.setMessageProperty(message, this.#property, data, true);
  }

  /**
   * Returns a copy for one part of a stream. Parts share only the objects of an HTTP request. An earlier error of this package is left
   * out.
   */
  copy(message: Message, replacedProperties = this.#replacedProperties): Message {
    // Replaced properties are not copied, because a payload can be large.
    const copiedEntries = Object.entries(message).filter(
      ([name, value]) => !replacedProperties.includes(name) && !(name === 'error' && isGatewayFailure(value)),
    );
    return this.#red.util.cloneMessage(Object.fromEntries(copiedEntries) as Message);
  }

  get #replacedProperties(): string[] {
    return ['envelope', 'parts', ...(this.#isNested ? [] : [this.#property])];
  }

  #pathParts(message?: Message): (string | number)[] {
    try {
      return this.#red.util.normalisePropertyExpression(this.#property, message);
    } catch {
      throw badConfig(
        safeMessage`output is ${JSON.stringify(this.#property)}, which is not a message property. Enter one such as payload.`,
      );
    }
  }
}

/** Returns a message that accepts `envelope`, `error` and the output properties. A value that is not an object becomes the payload. */
export function normalizeMessage(message: Message, names: readonly string[]): Message {
  if (typeof message !== 'object') return { payload: message } as unknown as Message;
  let isNormal = isWritable(message, 'envelope') && isWritable(message, 'error');
  for (const name of names) isNormal &&= isWritable(message, name);
  return isNormal ? message : { ...message };
}

/** Whether a property can be written and deleted. */
function isWritable(holder: object, name: string | number): boolean {
  if (!Object.hasOwn(holder, name)) return Object.isExtensible(holder);
  const property = Object.getOwnPropertyDescriptor(holder, name);
  return property ? property.writable === true && property.configurable === true : Object.isExtensible(holder);
}
