import { isObject, type JsonObject } from '../model/json';
import { toBooleanText } from '../model/json-text';
import { isSecretKey } from '../model/secrets';
import { containsOnlyLinks } from './hyperlinks';

/**
 * Returns the body of a PUT: the current resource with the desired values in it. Objects merge by key, items of arrays by
 * `mergeArrayForPut`. Numbers
 * and booleans get the type that the appliance uses. Clear-text and dotted passwords are not sent back, nor an old password beside a
 * new one. Existing hyperlinks replace given ones.
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
    if (isObject(value)) merged.set(key, mergeForPut(isObject(currentValue) ? currentValue : {}, value));
    else merged.set(key, Array.isArray(value) ? mergeArrayForPut(currentValue, value) : toCurrentType(value, currentValue));
  }
  return Object.fromEntries(merged);
}

/**
 * Returns the given items in their order. An object is laid over the current item with the same `name`, or without a name over the one at
 * its index.
 */
export function mergeArrayForPut(current: unknown, desired: readonly unknown[]): unknown[] {
  const items: unknown[] = Array.isArray(current) ? current : [];
  return desired.map((item, index) => {
    const counterpart = findMatchingItem(items, item, index);
    return isObject(item) && isObject(counterpart) ? mergeForPut(counterpart, item) : toCurrentType(item, counterpart ?? items[0]);
  });
}

/** Returns the current item that a given one belongs to. */
export function findMatchingItem(items: readonly unknown[], item: unknown, index: number): unknown {
  const name = readListItemName(item);
  if (name === undefined) return items[index];
  return readListItemName(items[index]) === name ? items[index] : items.find((candidate) => readListItemName(candidate) === name);
}

/** Returns the name of a list item; undefined if it has none. */
export function readListItemName(item: unknown): string | undefined {
  const name = isObject(item) ? item['name'] : undefined;
  return typeof name === 'string' || typeof name === 'number' ? String(name) : undefined;
}

function canSendBack(key: string, secret: unknown): boolean {
  return !/-?(clear|plain)text$/i.test(key) && !(typeof secret === 'string' && /^[*•●]+$/.test(secret));
}

/** Returns the common part of a secret's names: `password` for `password-cleartext` and `password-encrypted`. */
function secretStem(name: string): string {
  return name.replace(/[-_]?(cleartext|plaintext|encrypted|hash|hashed|text|value)$/i, '');
}

/** Converts a value to the type that the appliance uses for it, for example `"true"` for true. */
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
