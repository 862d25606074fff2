import { GatewayError } from './error';
import { trusted } from './safe-message';

/** What can be cancelled: as much of an `AbortSignal` as the library needs, so that one fits. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options: { once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Nobody is cancelled twice. */
export const LISTEN_ONCE = { once: true } as const;

/**
 * An `AbortController` for the many messages of which hardly one is ever cancelled: making a real one, with its signal's weak
 * references, costs the collector more than the rest of a message's way through its node.
 */
export class LightAbortController implements AbortSignalLike {
  aborted = false;
  readonly #listeners = new Set<() => void>();

  get signal(): AbortSignalLike {
    return this;
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }

  /** Is cancelled with that signal until the answer is called: one listener there, however many are here. */
  follow(signal: AbortSignal): () => void {
    const abort = (): void => this.abort();
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, LISTEN_ONCE);
    return () => signal.removeEventListener('abort', abort);
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener);
  }
}

/** The same as a real signal, for those that pass it on to Node.js. */
export function toAbortSignal(signal: AbortSignalLike): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener('abort', () => controller.abort(), LISTEN_ONCE);
  return controller.signal;
}

/** A promise that others share, left early when `signal` says so. Errors: `ABORTED` with these words; nothing of it was sent. */
export async function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignalLike | undefined, abortMessage: string): Promise<T> {
  if (!signal) return promise;
  let rejectAborted = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    rejectAborted = () => reject(new GatewayError('ABORTED', trusted(abortMessage), { sent: false }));
    if (signal.aborted) rejectAborted();
    signal.addEventListener('abort', rejectAborted, LISTEN_ONCE);
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener('abort', rejectAborted);
  }
}
