import { badInput, GatewayError } from './error';
import { isObject, describeValueKind } from './json';
import { trusted, safeMessage } from './safe-message';

/** Fixed messages of V8 are trusted. A `toJSON` method may throw any text. */
const V8_MESSAGES = new Set(['Do not know how to serialize a BigInt', 'Converting circular structure to JSON']);

type Replacer = (key: string, value: unknown) => unknown;

/**
 * Serializes a body as JSON. Errors: `BAD_INPUT` for values that JSON cannot represent, such as circular objects, or would change: a `Map`,
 * `NaN`, a function.
 */
export function toJsonText(body: unknown, replacer?: Replacer): string {
  try {
    if (!replacer) return JSON.stringify(body, checkSerializable);
    return JSON.stringify(body, (key, value: unknown) => replacer(key, checkSerializable(key, value)));
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw badInput(safeMessage`The body cannot be sent as JSON: ${V8_MESSAGES.has(reason) ? trusted(reason) : reason}.`);
  }
}

function checkSerializable(key: string, value: unknown): unknown {
  if ((typeof value === 'number' && !Number.isFinite(value)) || typeof value === 'function' || typeof value === 'symbol') {
    throw badInput(
      safeMessage`The body cannot be sent as JSON: ${trusted(typeof value === 'number' ? String(value) : describeValueKind(value))} is at ${JSON.stringify(key)} and would be lost.`,
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isObject(value)) return value;
  throw badInput(
    safeMessage`The body cannot be sent as JSON: ${trusted(describeValueKind(value))} is at ${JSON.stringify(key)} and would become an empty object.`,
  );
}

/** The configuration tree stores booleans as text (contract, section 5). */
export function toBooleanText(value: boolean): 'true' | 'false' {
  return value ? 'true' : 'false';
}

/** Converts every boolean in an object for the configuration tree, because a flow may give booleans or texts. */
export function withBooleanTexts<T>(value: T): T {
  return JSON.parse(toJsonText(value, (_key, item: unknown) => (typeof item === 'boolean' ? toBooleanText(item) : item))) as T;
}
