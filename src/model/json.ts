export type JsonObject = { readonly [key: string]: unknown };

/**
 * Whether a value is a JSON object: not an array and not a `Map` or `RegExp`, which JSON would turn into `{}`. It does not compare
 * prototypes, because messages of a Function node come from another realm.
 */
export function isObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    prototype === Object.prototype || prototype === null || (Object.getPrototypeOf(prototype) === null && !(Symbol.toStringTag in value))
  );
}

/** Sets a property, also one named `__proto__`, which an assignment would take for the prototype. */
export function setOwnProperty(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  else target[name] = value;
}

/** Copies the arrays and objects of a JSON value. Other values, such as a Buffer, are shared. */
export function copyJson<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson) as T;
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) setOwnProperty(copy, name, copyJson(value[name]));
  return copy as T;
}

/** Reads a boolean as appliances spell it: `true`, `"true"` or `"True"` in any case; undefined for other values. */
export function readBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' && value.length < 6 ? value.toLowerCase() : undefined;
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

/** Reads a switch as appliances spell it: a boolean, `enabled` or `disabled`, 0 or 1; undefined for other values. */
export function readSwitchValue(value: unknown): boolean | undefined {
  const text = readText(value).toLowerCase();
  if (text === 'enabled' || text === '1') return true;
  return text === 'disabled' || text === '0' ? false : readBoolean(value);
}

/** A text, number or boolean as text; empty for anything else. */
export function readText(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** Names the kind of a value in a message: "an array", "a number", "nothing". */
export function describeValueKind(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (value === '') return 'empty text';
  if (Array.isArray(value)) return 'an array';
  // By its name, because this code also runs in the browser, where `Buffer` does not exist.
  if (value instanceof Uint8Array && value.constructor.name === 'Buffer') return 'a Buffer';
  if (typeof value === 'string') return 'text';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name = Object.prototype.toString.call(value).slice(8, -1).slice(0, 40);
  if (name !== 'Object') return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`;
  return isObject(value) ? 'an object' : 'an object of a class';
}

/** A `JSON.stringify` replacer that makes the text independent of the order of keys: objects become sorted pairs. */
export function sortKeysReplacer(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  // Pairs keep their order; integer keys of an object would not.
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
