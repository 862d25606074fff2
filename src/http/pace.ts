import type { Cancellable } from '../model/cancelling';
import { aborted } from './answer';

const WINDOW_MS = 1000;

interface Waiting {
  readonly owner: object;
  readonly go: () => void;
  readonly leave: () => void;
}

/** Keeps requests to so many a second, in the order in which they come; never more in any second. */
export class Pace {
  #rate = 0;
  #windowMs = WINDOW_MS;
  /** When the latest of them left, one place for each that a window may have. */
  #left: number[] = [];
  #next = 0;
  readonly #waiting = new Set<Waiting>();
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
    const places = Math.max(1, Math.floor(rate));
    const before = [...this.#left.slice(this.#next), ...this.#left.slice(0, this.#next)].slice(-places);
    this.#windowMs = (places / rate) * WINDOW_MS;
    this.#left = [...new Array<number>(places - before.length).fill(-Infinity), ...before];
    this.#next = 0;
    this.#schedule();
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Undefined when one may leave at once. Errors: `ABORTED` when the signal ends the wait, or its owner leaves. */
  turn(owner: object, signal: Cancellable | undefined): Promise<void> | undefined {
    if (signal?.aborted) return Promise.reject(aborted(false));
    if (this.#waiting.size === 0 && this.#take()) return undefined;
    return new Promise((resolve, reject) => {
      const over = (): void => {
        this.#waiting.delete(waiting);
        signal?.removeEventListener('abort', waiting.leave);
      };
      const waiting: Waiting = {
        owner,
        go: () => {
          over();
          resolve();
        },
        leave: () => {
          over();
          reject(aborted(false));
        },
      };
      this.#waiting.add(waiting);
      signal?.addEventListener('abort', waiting.leave, { once: true });
      this.#schedule();
    });
  }

  /** Ends the wait of all that an owner has here. */
  leave(owner: object): void {
    for (const waiting of [...this.#waiting]) if (waiting.owner === owner) waiting.leave();
  }

  /** There is no ceiling any more. */
  open(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { go } of [...this.#waiting]) go();
  }

  #take(): boolean {
    const now = this.#now();
    if ((this.#left[this.#next] as number) + this.#windowMs > now) return false;
    this.#left[this.#next] = now;
    this.#next = (this.#next + 1) % this.#left.length;
    return true;
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.size === 0) return;
    const wait = (this.#left[this.#next] as number) + this.#windowMs - this.#now();
    this.#timer = setTimeout(() => this.#go(), Math.max(0, Math.ceil(wait)));
  }

  #go(): void {
    for (const { go } of this.#waiting) {
      if (!this.#take()) break;
      go();
    }
    this.#schedule();
  }
}
