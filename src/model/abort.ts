import { GatewayError } from './error';
import { trusted } from './safe-message';

/** What the library needs of an `AbortSignal`. A real one fits. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options: { once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A signal aborts once. */
export const LISTEN_ONCE_OPTION = { once: true } as const;

/**
 * A cheap `AbortController`: creating a real one per message costs the garbage collector more than the rest of the message's way through
 * its node.
 */
export class LightAbortController implements AbortSignalLike {
  aborted = false;
  /** The first listener, because most signals have one, and a list of the others. */
  #listener: (() => void) | undefined;
  /** An array, because each old table of a `Set` would keep its listeners alive until the next full garbage collection. */
  #others: (() => void)[] | undefined;

  get signal(): AbortSignalLike {
    return this;
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    const first = this.#listener;
    const others = this.#others ?? [];
    this.#listener = this.#others = undefined;
    first?.();
    for (const listener of others) listener();
  }

  /**
   * Aborts with `signal` until the returned function is called. It adds one listener to `signal`, whatever the number of listeners here.
   */
  follow(signal: AbortSignal): () => void {
    const abort = (): void => this.abort();
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, LISTEN_ONCE_OPTION);
    return () => signal.removeEventListener('abort', abort);
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (listener === this.#listener || this.#others?.includes(listener)) return;
    if (this.#listener) (this.#others ??= []).push(listener);
    else this.#listener = listener;
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    if (listener === this.#listener) this.#listener = undefined;
    else {
      const others = this.#others ?? [];
      const index = others.indexOf(listener);
      const last = others.at(-1);
      if (index < 0 || !last) return;
      others[index] = last;
      others.pop();
    }
  }
}

/** Converts to a real signal, for Node.js APIs that require one. */
export function toAbortSignal(signal: AbortSignalLike): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener('abort', () => controller.abort(), LISTEN_ONCE_OPTION);
  return controller.signal;
}

/**
 * Waits for a promise that other runs share, and stops waiting when `signal` aborts. Errors: `ABORTED` with `abortMessage` and
 * `details.sent: false`.
 */
export async function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignalLike | undefined, abortMessage: string): Promise<T> {
  if (!signal) return promise;
  let rejectAborted = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    rejectAborted = () => reject(new GatewayError('ABORTED', trusted(abortMessage), { sent: false }));
    if (signal.aborted) rejectAborted();
    signal.addEventListener('abort', rejectAborted, LISTEN_ONCE_OPTION);
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener('abort', rejectAborted);
  }
}
