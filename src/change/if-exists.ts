import type { WriteResult } from '../model/envelope';
import { asGatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import { booleanField, type OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT } from '../model/path';
import type { Request } from '../model/request';

/** Reads a resource; undefined if it does not exist. `allowCached` accepts a read of the same run since the last write to the path. */
export async function readIfExists(path: string, call: OperationContext, allowCached = false): Promise<JsonObject | undefined> {
  try {
    return await ((allowCached && call.cachedRead(path)) || call.read({ method: 'GET', path }));
  } catch (thrown) {
    if (asGatewayError(thrown).requestCode === 'NOT_FOUND') return undefined;
    throw thrown;
  }
}

/** Field of every operation that deletes something. `Gateway` applies it to all operations that are a single request. */
export const allowMissingField = booleanField(
  'Missing is fine',
  'A missing resource counts as success, with `msg.envelope.changed` false.',
  {
    guard: true,
  },
);

/** Deletes a resource if it exists. A dry run checks a configuration path and adds `wouldChange` to the envelope. */
export async function deleteIfExists<R = WriteResult>(
  request: Request,
  call: OperationContext,
  send: () => Promise<R | WriteResult> = () => call.write(request),
): Promise<R | WriteResult> {
  if (!call.dryRun || !request.path.startsWith(`${CONFIGURATION_ROOT}/`)) return ignoreNotFound(call, send);
  const exists = (await readIfExists(request.path, call)) !== undefined;
  call.addToEnvelope({ wouldChange: exists });
  return exists ? send() : call.reportUnchanged();
}

/** Runs a deletion and treats `NOT_FOUND` as success. */
export async function ignoreNotFound<R = WriteResult>(call: OperationContext, remove: () => Promise<R>): Promise<R | WriteResult> {
  try {
    return await remove();
  } catch (thrown) {
    if (asGatewayError(thrown).requestCode !== 'NOT_FOUND') throw thrown;
    return call.reportUnchanged();
  }
}
