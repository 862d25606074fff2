import { GatewayError } from './error';
import { ours } from './sentence';

/** What can be cancelled: as much of an `AbortSignal` as the library needs, so that one fits. */
export interface Cancellable {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options: { once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Nobody is cancelled twice. */
export const ONCE = { once: true } as const;

/**
 * An `AbortController` for the many messages of which hardly one is ever cancelled: making a real one, with its signal's weak
 * references, costs the collector more than the rest of a message's way through its node.
 */
export class Canceller implements Cancellable {
  aborted = false;
  readonly #listeners = new Set<() => void>();

  get signal(): Cancellable {
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
    signal.addEventListener('abort', abort, ONCE);
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
export function abortSignalOf(signal: Cancellable): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener('abort', () => controller.abort(), ONCE);
  return controller.signal;
}

/** A promise that others share, left early when `signal` says so. Errors: `ABORTED` with these words; nothing of it was sent. */
export async function unlessAborted<T>(shared: Promise<T>, signal: Cancellable | undefined, words: string): Promise<T> {
  if (!signal) return shared;
  let leave = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(new GatewayError('ABORTED', ours(words), { sent: false }));
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, ONCE);
  });
  try {
    return await Promise.race([aborted, shared]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
