import { isObject, type JsonObject } from '../model/json';
import { toBooleanText } from '../model/json-text';
import { containsOnlyLinks, isSecretKey } from './compare';

/**
 * A resource as it goes back: everything that was read, with what was given laid over it, objects by key and arrays as a whole. Numbers and
 * truth values are written as the appliance writes them there. Of what was read a password in clear and one that is only shown as dots
 * do not go back, nor an old password in whatever form beside a new one; of what was given, hyperlinks give way to those that are there.
 */
export function mergeForPut(current: JsonObject, desired: JsonObject): JsonObject {
  const merged = new Map<string, unknown>();
  const replaced = new Set(
    Object.keys(desired)
      .filter((key) => isSecretKey(key, desired))
      .map(secretStem),
  );
  for (const [key, value] of Object.entries(current)) {
    if (!isSecretKey(key, current) || (canSendBack(key, value) && !replaced.has(secretStem(key)))) merged.set(key, value);
  }
  for (const [key, value] of Object.entries(desired)) {
    const currentValue = Object.hasOwn(current, key) ? current[key] : undefined;
    if (currentValue !== undefined && containsOnlyLinks(value)) continue;
    merged.set(key, isObject(value) ? mergeForPut(isObject(currentValue) ? currentValue : {}, value) : toCurrentType(value, currentValue));
  }
  return Object.fromEntries(merged);
}

function canSendBack(key: string, secret: unknown): boolean {
  return !/-?(clear|plain)text$/i.test(key) && !(typeof secret === 'string' && /^[*•●]+$/.test(secret));
}

/** What is the same of the names of one secret: `password` of `password-cleartext` and of `password-encrypted`. */
function secretStem(name: string): string {
  return name.replace(/[-_]?(cleartext|plaintext|encrypted|hash|hashed|text|value)$/i, '');
}

/** A value in the kind that the appliance has there: text for a number, `"true"` for true, and the other way round. */
function toCurrentType(value: unknown, currentValue: unknown): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = Array.isArray(currentValue) ? currentValue : [];
    return value.map((item, index) => toCurrentType(item, items[index] ?? items[0]));
  }
  if (isObject(value)) {
    const currentObject = isObject(currentValue) ? currentValue : {};
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        toCurrentType(item, Object.hasOwn(currentObject, key) ? currentObject[key] : undefined),
      ]),
    );
  }
  if (typeof value === 'boolean') return typeof currentValue === 'boolean' ? value : toBooleanText(value);
  if (typeof value === 'number' && typeof currentValue === 'string') return String(value);
  if (typeof value === 'string' && typeof currentValue === 'number' && String(Number(value)) === value) return Number(value);
  if (typeof value === 'string' && typeof currentValue === 'boolean' && /^(true|false)$/i.test(value))
    return value.toLowerCase() === 'true';
  return value;
}
