import type { WriteResult } from '../model/envelope';
import { asGatewayError } from '../model/error';
import { booleanField, type OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT } from '../model/path';
import type { Request } from '../model/request';
import { readIfExists } from './read-if-exists';

/** Field of every operation that takes something away. `Gateway` does what it says, for all that are one request. */
export const missingOkField = booleanField('Missing is fine', 'What is not there is a success too, with `msg.envelope.changed` false.', {
  guard: true,
});

/** Takes something away, if it is there. A dry run looks, where that can be done, and says in the envelope whether it would change anything. */
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

/** A deletion for which what is not there is as good as deleted. */
export async function ignoreNotFound<R = WriteResult>(call: OperationContext, remove: () => Promise<R>): Promise<R | WriteResult> {
  try {
    return await remove();
  } catch (thrown) {
    if (asGatewayError(thrown).requestCode !== 'NOT_FOUND') throw thrown;
    return call.reportUnchanged();
  }
}
