import { createContentCheck } from '../../src/transfer/content-check';
import { MalformedContentError } from '../../src/transfer/malformed-content-error';

/** The verdict on a binary configuration that arrives in pieces of the given size. */
export function checkBinary(text: string | Buffer, pieces = 1 << 20, zipOnly = false): string {
  const bytes = Buffer.from(text);
  const check = createContentCheck('binary', { zipOnly });
  try {
    for (let at = 0; at < bytes.length; at += pieces) check.write(Buffer.from(bytes.subarray(at, at + pieces)));
    return check.end().verified;
  } catch (error) {
    if (error instanceof MalformedContentError) return error.message;
    throw error;
  }
}
