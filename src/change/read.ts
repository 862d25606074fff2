import { asGatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';

/** The resource, or undefined where there is none. */
export async function readIfThere(path: string, call: Call): Promise<JsonObject | undefined> {
  try {
    return await call.read({ method: 'GET', path });
  } catch (thrown) {
    if (asGatewayError(thrown).code === 'NOT_FOUND') return undefined;
    throw thrown;
  }
}
