import { isObject, type JsonObject } from '../model/json';
import { truth } from '../model/json-text';
import { isLinks, isSecretKey } from './compare';

/**
 * A resource as it goes back: everything that was read, with what was given laid over it, objects by key and arrays as a whole. Numbers and
 * truth values are written as the appliance writes them there. Of what was read a password in clear and one that is only shown as dots
 * do not go back, nor an old password in whatever form beside a new one; of what was given, hyperlinks give way to those that are there.
 */
export function overlay(present: JsonObject, given: JsonObject): JsonObject {
  const laid = new Map<string, unknown>();
  const replaced = new Set(
    Object.keys(given)
      .filter((key) => isSecretKey(key, given))
      .map(stem),
  );
  for (const [key, value] of Object.entries(present)) {
    if (!isSecretKey(key, present) || (goesBack(key, value) && !replaced.has(stem(key)))) laid.set(key, value);
  }
  for (const [key, value] of Object.entries(given)) {
    const there = Object.hasOwn(present, key) ? present[key] : undefined;
    if (there !== undefined && isLinks(value)) continue;
    laid.set(key, isObject(value) ? overlay(isObject(there) ? there : {}, value) : asThere(value, there));
  }
  return Object.fromEntries(laid);
}

function goesBack(key: string, secret: unknown): boolean {
  return !/-?(clear|plain)text$/i.test(key) && !(typeof secret === 'string' && /^[*•●]+$/.test(secret));
}

/** What is the same of the names of one secret: `password` of `password-cleartext` and of `password-encrypted`. */
function stem(name: string): string {
  return name.replace(/[-_]?(cleartext|plaintext|encrypted|hash|hashed|text|value)$/i, '');
}

/** A value in the kind that the appliance has there: text for a number, `"true"` for true, and the other way round. */
function asThere(value: unknown, there: unknown): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = Array.isArray(there) ? there : [];
    return value.map((item, index) => asThere(item, items[index] ?? items[0]));
  }
  if (isObject(value)) {
    const like = isObject(there) ? there : {};
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, asThere(item, Object.hasOwn(like, key) ? like[key] : undefined)]),
    );
  }
  if (typeof value === 'boolean') return typeof there === 'boolean' ? value : truth(value);
  if (typeof value === 'number' && typeof there === 'string') return String(value);
  if (typeof value === 'string' && typeof there === 'number' && String(Number(value)) === value) return Number(value);
  if (typeof value === 'string' && typeof there === 'boolean' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  return value;
}
