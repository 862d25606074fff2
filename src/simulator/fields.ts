import { isIPv4 } from 'node:net';
import { Refusal } from './reply';

/** Bodies are checked against shapes: which fields there are, of what kind, and which must be there. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Field {
  /** Says what is wrong with a value, or undefined. */
  readonly check: (value: Json) => string | undefined;
  readonly required?: boolean;
  /** Stored, but never returned (passwords). */
  readonly secret?: boolean;
}
export type Shape = Readonly<Record<string, Field>>;

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text field of a body that was checked; empty when it is not there. */
export function textOf(body: JsonObject, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : '';
}

const kind = (what: string, test: (value: Json) => boolean): Field => ({ check: (value) => (test(value) ? undefined : `must be ${what}`) });

export const text = kind('a string', (value) => typeof value === 'string');
export const filledText = kind('a non-empty string', (value) => typeof value === 'string' && value !== '');
export const flag = kind('the string "true" or "false"', (value) => value === 'true' || value === 'false');
export const digits = kind('a string of digits', (value) => typeof value === 'string' && /^\d+$/.test(value));
export const integer = kind('an integer', (value) => Number.isSafeInteger(value));
export const boolean = kind('a boolean', (value) => typeof value === 'boolean');
export const address = kind('an IPv4 address as a string', (value) => typeof value === 'string' && isIPv4(value));
function isNetmask(value: Json): boolean {
  if (typeof value !== 'string' || !isIPv4(value)) return false;
  const bits = value
    .split('.')
    .map((part) => Number(part).toString(2).padStart(8, '0'))
    .join('');
  return /^1*0*$/.test(bits);
}

export const netmask = kind('a netmask as a string', isNetmask);
export const texts = kind('an array of strings', (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'));
export const oneOf = (...values: string[]): Field =>
  kind(`one of ${values.join(', ')}`, (value) => typeof value === 'string' && values.includes(value));

export const required = (field: Field): Field => ({ ...field, required: true });
export const secret = (field: Field): Field => ({ ...field, secret: true });

export const object = (shape: Shape): Field => ({
  check: (value) => (isObject(value) ? problems(value, shape)[0] : 'must be an object'),
});
export const list = (shape: Shape): Field => ({
  check: (value) => {
    if (!Array.isArray(value)) return 'must be an array';
    for (const [index, item] of value.entries()) {
      const wrong = isObject(item) ? problems(item, shape)[0] : 'must be an object';
      if (wrong !== undefined) return `[${index}]: ${wrong}`;
    }
    return undefined;
  },
});

/** The kind of a value that the tree was seeded with: a later value must be of the same kind. */
export function like(value: Json): Field {
  if (typeof value === 'string')
    return value === 'true' || value === 'false' ? flag : value === 'enabled' || value === 'disabled' ? oneOf('enabled', 'disabled') : text;
  if (typeof value === 'number') return integer;
  if (typeof value === 'boolean') return boolean;
  if (Array.isArray(value)) return texts;
  return kind('an object', isObject);
}

/** Every sentence about what is wrong in `body`. `partial`: required fields may be missing (a change of something that exists). */
export function problems(body: JsonObject, shape: Shape, partial = false): string[] {
  const found: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
    const wrong = field ? field.check(value) : 'is not a field of this resource';
    if (wrong !== undefined) found.push(wrong.startsWith('[') ? `${name}${wrong}` : `${name} ${wrong}`);
  }
  if (partial) return found;
  for (const [name, field] of Object.entries(shape)) if (field.required && !Object.hasOwn(body, name)) found.push(`${name} is missing`);
  return found;
}

export function checkBody(body: JsonObject, shape: Shape, partial = false): void {
  const found = problems(body, shape, partial);
  if (found.length > 0) throw new Refusal(422, `Validation failed: ${found.join('; ')}`);
}
