import { badInput } from './error';

/** A body as JSON. Errors: `BAD_INPUT` for what JSON cannot carry, such as an object that holds itself. */
export function jsonText(body: unknown, replacer?: (key: string, value: unknown) => unknown): string {
  try {
    return JSON.stringify(body, replacer);
  } catch (error) {
    throw badInput(`The body cannot be sent as JSON: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}.`);
  }
}

/** The configuration tree writes booleans as text (contract, section 5). */
export function truth(value: boolean): 'true' | 'false' {
  return value ? 'true' : 'false';
}

/** The same for every boolean inside an object that goes into the configuration tree: a flow may give either. */
export function truths<T>(value: T): T {
  return JSON.parse(jsonText(value, (_key, item: unknown) => (typeof item === 'boolean' ? truth(item) : item))) as T;
}
