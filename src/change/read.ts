import { asGatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';

/** The resource, or undefined where there is none. `known`: as this run has read it since the last write there, if it has. */
export async function readIfThere(path: string, call: Call, known = false): Promise<JsonObject | undefined> {
  try {
    return await ((known && call.known(path)) || call.read({ method: 'GET', path }));
  } catch (thrown) {
    if (asGatewayError(thrown).answered === 'NOT_FOUND') return undefined;
    throw thrown;
  }
}
