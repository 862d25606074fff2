import type { AbortSignalLike } from '../model/abort';
import { abortedError } from './response-collector';

const WINDOW_MS = 1000;

interface Waiter {
  readonly owner: object;
  readonly proceed: () => void;
  readonly cancel: () => void;
}

/** Keeps requests to so many a second, in the order in which they come; never more in any second. */
export class RateLimiter {
  #rate = 0;
  #windowMs = WINDOW_MS;
  /** When the latest of them left, one place for each that a window may have. */
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
    // Of less than one a second, one in a longer window.
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

  /** Undefined when one may leave at once. Errors: `ABORTED` when the signal ends the wait, or its owner leaves. */
  acquire(owner: object, signal: AbortSignalLike | undefined): Promise<void> | undefined {
    if (signal?.aborted) return Promise.reject(abortedError(false));
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
          reject(abortedError(false));
        },
      };
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', waiter.cancel, { once: true });
      this.#schedule();
    });
  }

  /** Ends the wait of all that an owner has here. */
  cancelWaiters(owner: object): void {
    for (const waiter of [...this.#waiters]) if (waiter.owner === owner) waiter.cancel();
  }

  /** There is no ceiling any more. */
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
