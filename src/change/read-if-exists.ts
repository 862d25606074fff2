import { asGatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';

/** Reads a resource; undefined if it does not exist. `allowCached` accepts a read of the same run since the last write to the path. */
export async function readIfExists(path: string, call: OperationContext, allowCached = false): Promise<JsonObject | undefined> {
  try {
    return await ((allowCached && call.cachedRead(path)) || call.read({ method: 'GET', path }));
  } catch (thrown) {
    if (asGatewayError(thrown).requestCode === 'NOT_FOUND') return undefined;
    throw thrown;
  }
}
