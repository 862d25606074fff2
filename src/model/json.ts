export type JsonObject = { readonly [key: string]: unknown };

/**
 * Whether a value is an object as JSON has it: not an array, and nothing that JSON would make `{}` of, such as a `Map` or a `RegExp`.
 * The messages of a Function node have prototypes of their own, so it is not asked whose it is.
 */
export function isObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    prototype === Object.prototype || prototype === null || (Object.getPrototypeOf(prototype) === null && !(Symbol.toStringTag in value))
  );
}

/** A truth value as appliances spell it: `true`, `"true"` or `"True"`, in whatever case; undefined where it is none. */
export function readBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' && value.length < 6 ? value.toLowerCase() : undefined;
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

/** How a message names what came instead: "an array", "a number", "nothing". */
export function describeKind(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (value === '') return 'empty text';
  if (Array.isArray(value)) return 'an array';
  // By its name: the dialogs say this too, and in a browser there is none.
  if (value instanceof Uint8Array && value.constructor.name === 'Buffer') return 'a Buffer';
  if (typeof value === 'string') return 'text';
  if (typeof value !== 'object') return `a ${typeof value}`;
  // `[object Map]`
  const name = Object.prototype.toString.call(value).slice(8, -1).slice(0, 40);
  if (name !== 'Object') return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`;
  return isObject(value) ? 'an object' : 'an object of a class';
}

/** A `JSON.stringify` replacer that makes the text independent of the order of keys: objects become sorted pairs. */
export function sortKeys(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  // Pairs keep their order; integer keys of an object would not.
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
