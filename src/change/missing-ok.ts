import type { WriteResult } from '../model/envelope';
import { asGatewayError } from '../model/error';
import { boolean, type Call } from '../model/operation';
import { CONFIGURATION } from '../model/path';
import type { Request } from '../model/request';
import { readIfThere } from './read';

/** Field of every operation that takes something away. `Gateway` does what it says, for all that are one request. */
export const missingOk = boolean('Missing is fine', 'What is not there is a success too, with `msg.envelope.changed` false.', {
  guard: true,
});

/** Takes something away, if it is there. A dry run looks, where that can be done, and says in the envelope whether it would change anything. */
export async function removeIfThere<R = WriteResult>(
  request: Request,
  call: Call,
  send: () => Promise<R | WriteResult> = () => call.write(request),
): Promise<R | WriteResult> {
  if (!call.dryRun || !request.path.startsWith(`${CONFIGURATION}/`)) return unlessMissing(call, send);
  const there = (await readIfThere(request.path, call)) !== undefined;
  call.note({ wouldChange: there });
  return there ? send() : call.unchanged();
}

/** A deletion for which what is not there is as good as deleted. */
export async function unlessMissing<R = WriteResult>(call: Call, remove: () => Promise<R>): Promise<R | WriteResult> {
  try {
    return await remove();
  } catch (thrown) {
    if (asGatewayError(thrown).answered !== 'NOT_FOUND') throw thrown;
    return call.unchanged();
  }
}
