import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';

/** The clock of the pauses between requests. Tests replace it. */
export interface CheckClock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

export const systemCheckClock: CheckClock = {
  now: () => performance.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const timer = setTimeout(finish, ms);
      signal?.addEventListener('abort', finish, { once: true });
    }),
};

export const DEFAULT_MAX_REQUESTS = 200;
export const DEFAULT_REQUESTS_PER_SECOND = 4;

/** Spaces requests evenly and counts them. Simultaneous requests have the pause of all of them before and after. */
export class RequestPacer {
  sent = 0;
  #nextAt = -Infinity;

  constructor(
    readonly maxRequests: number,
    readonly requestsPerSecond: number,
    readonly clock: CheckClock,
    readonly signal: AbortSignal | undefined,
  ) {}

  get remaining(): number {
    return this.maxRequests - this.sent;
  }

  /** Waits for the next request. Errors: `ABORTED`; `LIMIT` if no requests are left. */
  async reserve(count = 1): Promise<void> {
    this.#throwIfAborted();
    if (count > this.remaining)
      throw new GatewayError('LIMIT', safeMessage`The check has sent ${this.sent} requests, as many as it may.`, { sent: false });
    await this.#waitForTurn(count, this.signal);
    this.#throwIfAborted();
  }

  /** Waits for requests that remove what the check created. Neither a limit nor a cancellation stops them. */
  reserveCleanup(): Promise<void> {
    return this.#waitForTurn(1, undefined);
  }

  async #waitForTurn(count: number, signal: AbortSignal | undefined): Promise<void> {
    this.sent += count;
    const now = this.clock.now();
    const startAt = Math.max(now, this.#nextAt + ((count - 1) * 1000) / this.requestsPerSecond);
    this.#nextAt = startAt + (count * 1000) / this.requestsPerSecond;
    if (startAt > now) await this.clock.wait(startAt - now, signal);
  }

  #throwIfAborted(): void {
    if (this.signal?.aborted) throw new GatewayError('ABORTED', 'The check was canceled.', { sent: false });
  }
}
