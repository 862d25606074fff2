import type { Cancellable } from './canceller';
import { GatewayError } from './error';

/** A promise that others share, left early when `signal` says so. Errors: `ABORTED` with these words; nothing of it was sent. */
export async function unlessAborted<T>(shared: Promise<T>, signal: Cancellable | undefined, words: string): Promise<T> {
  if (!signal) return shared;
  let leave = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(new GatewayError('ABORTED', words, { sent: false }));
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([aborted, shared]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
