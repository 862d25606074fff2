import { asGatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';

/** The resource, or undefined where there is none. `known`: as this run has read it since the last write there, if it has. */
export async function readIfExists(path: string, call: OperationContext, allowCached = false): Promise<JsonObject | undefined> {
  try {
    return await ((allowCached && call.cachedRead(path)) || call.read({ method: 'GET', path }));
  } catch (thrown) {
    if (asGatewayError(thrown).requestCode === 'NOT_FOUND') return undefined;
    throw thrown;
  }
}
