import { badInput, GatewayError } from './error';
import { isObject, describeKind } from './json';
import { trusted, safeMessage } from './safe-message';

/** What V8 says; a `toJSON` may say anything. */
const V8_MESSAGES = new Set(['Do not know how to serialize a BigInt', 'Converting circular structure to JSON']);

type Replacer = (key: string, value: unknown) => unknown;

/**
 * A body as JSON. Errors: `BAD_INPUT` for what JSON cannot carry, such as an object that holds itself, or would carry as something else:
 * a `Map` as `{}`, what was computed to `NaN` as null, a function as nothing.
 */
export function toJsonText(body: unknown, replacer: Replacer = (_key, value) => value): string {
  try {
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
      safeMessage`The body cannot be sent as JSON: ${trusted(typeof value === 'number' ? String(value) : describeKind(value))} stands at ${JSON.stringify(key)}, which would be lost.`,
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isObject(value)) return value;
  throw badInput(
    safeMessage`The body cannot be sent as JSON: ${trusted(describeKind(value))} stands at ${JSON.stringify(key)}, which would become an empty object.`,
  );
}

/** The configuration tree writes booleans as text (contract, section 5). */
export function toBooleanText(value: boolean): 'true' | 'false' {
  return value ? 'true' : 'false';
}

/** The same for every boolean inside an object that goes into the configuration tree: a flow may give either. */
export function withBooleanTexts<T>(value: T): T {
  return JSON.parse(toJsonText(value, (_key, item: unknown) => (typeof item === 'boolean' ? toBooleanText(item) : item))) as T;
}
