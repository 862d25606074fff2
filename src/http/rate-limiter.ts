import type { AbortSignalLike } from '../model/abort';
import { createAbortedError } from './response-collector';

const WINDOW_MS = 1000;

interface Waiter {
  readonly owner: object;
  readonly proceed: () => void;
  readonly cancel: () => void;
}

/** Limits requests per second, first in, first out. No interval of one second exceeds the rate. */
export class RateLimiter {
  #rate = 0;
  #windowMs = WINDOW_MS;
  /** A ring of the latest start times, one slot per request that a window allows. */
  #sentAt: number[] = [];
  #next = 0;
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  readonly #now: () => number;

  constructor(rate: number, now: () => number = () => performance.now()) {
    this.#now = now;
    this.rate = rate;
  }

  set rate(rate: number) {
    if (rate === this.#rate) return;
    this.#rate = rate;
    // A rate below one per second becomes one request in a longer window.
    const slots = Math.max(1, Math.floor(rate));
    const recent = [...this.#sentAt.slice(this.#next), ...this.#sentAt.slice(0, this.#next)].slice(-slots);
    this.#windowMs = (slots / rate) * WINDOW_MS;
    this.#sentAt = [...new Array<number>(slots - recent.length).fill(-Infinity), ...recent];
    this.#next = 0;
    this.#schedule();
  }

  get waitingCount(): number {
    return this.#waiters.size;
  }

  /**
   * Waits for a free slot; returns undefined when the request may start at once. Errors: `ABORTED` when the signal or the owner cancels the
   * wait.
   */
  acquire(owner: object, signal: AbortSignalLike | undefined): Promise<void> | undefined {
    if (signal?.aborted) return Promise.reject(createAbortedError(false));
    if (this.#waiters.size === 0 && this.#tryAcquire()) return undefined;
    return new Promise((resolve, reject) => {
      const removeWaiter = (): void => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener('abort', waiter.cancel);
      };
      const waiter: Waiter = {
        owner,
        proceed: () => {
          removeWaiter();
          resolve();
        },
        cancel: () => {
          removeWaiter();
          reject(createAbortedError(false));
        },
      };
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', waiter.cancel, { once: true });
      this.#schedule();
    });
  }

  /** Rejects all waiting requests of this owner. */
  cancelWaiters(owner: object): void {
    for (const waiter of [...this.#waiters]) if (waiter.owner === owner) waiter.cancel();
  }

  /** Removes the limit and starts all waiting requests. */
  releaseAll(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { proceed } of [...this.#waiters]) proceed();
  }

  #tryAcquire(): boolean {
    const now = this.#now();
    if ((this.#sentAt[this.#next] as number) + this.#windowMs > now) return false;
    this.#sentAt[this.#next] = now;
    this.#next = (this.#next + 1) % this.#sentAt.length;
    return true;
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiters.size === 0) return;
    const waitMs = (this.#sentAt[this.#next] as number) + this.#windowMs - this.#now();
    this.#timer = setTimeout(() => this.#releaseDue(), Math.max(0, Math.ceil(waitMs)));
  }

  #releaseDue(): void {
    for (const { proceed } of this.#waiters) {
      if (!this.#tryAcquire()) break;
      proceed();
    }
    this.#schedule();
  }
}
