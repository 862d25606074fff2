import { isIPv4 } from 'node:net';
import { Refusal } from './reply';

/** A shape describes the fields of a body: their names, their kinds, and which are required. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface BodyField {
  /** Returns the problem of a value, or undefined. */
  readonly check: (value: Json) => string | undefined;
  readonly isRequired?: boolean;
  /** Stored, but never returned (passwords). */
  readonly isSecret?: boolean;
}
export type BodyShape = Readonly<Record<string, BodyField>>;

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a text field of a checked body, or an empty text if it is missing. */
export function readText(body: JsonObject, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : '';
}

const createField = (what: string, test: (value: Json) => boolean): BodyField => ({
  check: (value) => (test(value) ? undefined : `must be ${what}`),
});

export const textField = createField('a string', (value) => typeof value === 'string');
export const nonEmptyTextField = createField('a non-empty string', (value) => typeof value === 'string' && value !== '');
export const flagField = createField('the string "true" or "false"', (value) => value === 'true' || value === 'false');
export const digitsField = createField('a string of digits', (value) => typeof value === 'string' && /^\d+$/.test(value));
const integerField = createField('an integer', (value) => Number.isSafeInteger(value));
export const booleanField = createField('a boolean', (value) => typeof value === 'boolean');
export const ipv4Field = createField('an IPv4 address as a string', (value) => typeof value === 'string' && isIPv4(value));
function isNetmask(value: Json): boolean {
  if (typeof value !== 'string' || !isIPv4(value)) return false;
  const bits = value
    .split('.')
    .map((part) => Number(part).toString(2).padStart(8, '0'))
    .join('');
  return /^1*0*$/.test(bits);
}

export const netmaskField = createField('a netmask as a string', isNetmask);
export const textListField = createField(
  'an array of strings',
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
);
export const oneOfField = (...values: string[]): BodyField =>
  createField(`one of ${values.join(', ')}`, (value) => typeof value === 'string' && values.includes(value));

export const requiredField = (field: BodyField): BodyField => ({ ...field, isRequired: true });
export const secretField = (field: BodyField): BodyField => ({ ...field, isSecret: true });

export const objectField = (shape: BodyShape): BodyField => ({
  check: (value) => (isObject(value) ? findProblems(value, shape)[0] : 'must be an object'),
});
export const listField = (shape: BodyShape): BodyField => ({
  check: (value) => {
    if (!Array.isArray(value)) return 'must be an array';
    for (const [index, item] of value.entries()) {
      const wrong = isObject(item) ? findProblems(item, shape)[0] : 'must be an object';
      if (wrong !== undefined) return `[${index}]: ${wrong}`;
    }
    return undefined;
  },
});

/** Infers the kind of a field from its first value. Later values must be of the same kind. */
export function inferField(value: Json): BodyField {
  if (typeof value === 'string')
    return value === 'true' || value === 'false'
      ? flagField
      : value === 'enabled' || value === 'disabled'
        ? oneOfField('enabled', 'disabled')
        : textField;
  if (typeof value === 'number') return integerField;
  if (typeof value === 'boolean') return booleanField;
  if (Array.isArray(value)) return textListField;
  return createField('an object', isObject);
}

/** Returns a sentence for each problem of `body`. With `partial`, required fields may be missing (a change of an existing resource). */
export function findProblems(body: JsonObject, shape: BodyShape, isPartial = false): string[] {
  const found: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
    const wrong = field ? field.check(value) : 'is not a field of this resource';
    if (wrong !== undefined) found.push(wrong.startsWith('[') ? `${name}${wrong}` : `${name} ${wrong}`);
  }
  if (isPartial) return found;
  for (const [name, field] of Object.entries(shape)) if (field.isRequired && !Object.hasOwn(body, name)) found.push(`${name} is missing`);
  return found;
}

export function checkBody(body: JsonObject, shape: BodyShape, isPartial = false): void {
  const found = findProblems(body, shape, isPartial);
  if (found.length > 0) throw new Refusal(422, `Validation failed: ${found.join('; ')}`);
}
