import { ONCE, type Cancellable } from './cancelling';
import type { Coordination, ExclusiveOptions, Remembered } from './coordination';
import { GatewayError } from './error';
import { ours } from './sentence';

interface Entry {
  readonly json: string;
  readonly expires: number;
}

/** More than any flow needs; beyond it, the quarter that was written longest ago is forgotten. */
const MOST_ENTRIES = 10_000;

/** Coordination within one process, in memory: a redeploy keeps it, a restart does not. */
export class ProcessCoordination implements Coordination {
  /** The keys that are held, each with those who wait for it, in order. */
  readonly #held = new Map<string, Set<() => void>>();
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;
  #sweepAt = 64;

  /** `now` in milliseconds; by default a clock that nobody can set. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  async exclusive<T>(key: string, work: () => Promise<T>, options: ExclusiveOptions = {}): Promise<T> {
    await this.#enter(key, options);
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  remembered(key: string): Promise<Remembered | undefined> {
    return Promise.resolve(this.#read(key));
  }

  remember(key: string, value: Remembered, ttlMs: number): Promise<void> {
    this.#write(key, value, ttlMs);
    return Promise.resolve();
  }

  /** At once: nothing comes between reading and writing. What `change` throws is a rejection. */
  update(key: string, change: (present: Remembered | undefined) => Remembered | undefined, ttlMs: number): Promise<Remembered | undefined> {
    return new Promise((resolve) => {
      const changed = change(this.#read(key));
      if (changed === undefined) this.#entries.delete(key);
      else this.#write(key, changed, ttlMs);
      resolve(this.#read(key));
    });
  }

  /** As if the process had just started: forgets everything that is remembered. What is held stays held. */
  clear(): void {
    this.#entries.clear();
  }

  /** How much is kept: keys that are held, and entries, those included whose time is over but which nobody has swept up yet. */
  get size(): { held: number; entries: number } {
    return { held: this.#held.size, entries: this.#entries.size };
  }

  async #enter(key: string, { signal, onWait, cancelled }: ExclusiveOptions): Promise<void> {
    if (signal?.aborted) throw abortedBefore(cancelled);
    const waiting = this.#held.get(key);
    if (!waiting) {
      this.#held.set(key, new Set());
      return;
    }
    onWait?.();
    await turnIn(waiting, signal, cancelled);
  }

  #leave(key: string): void {
    const waiting = this.#held.get(key);
    const next = waiting?.values().next().value;
    if (next) {
      waiting?.delete(next);
      next();
    } else this.#held.delete(key);
  }

  #read(key: string): Remembered | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (this.#now() < entry.expires) return JSON.parse(entry.json) as Remembered;
    this.#entries.delete(key);
    return undefined;
  }

  #write(key: string, value: Remembered, ttlMs: number): void {
    // Anew at the end: the map is in the order of writing.
    this.#entries.delete(key);
    if (this.#entries.size >= this.#sweepAt) this.#sweep();
    this.#entries.set(key, { json: JSON.stringify(value), expires: this.#now() + ttlMs });
  }

  /** When as many have come as were there only, so that it costs each write next to nothing. */
  #sweep(): void {
    const now = this.#now();
    for (const [key, { expires }] of this.#entries) if (expires <= now) this.#entries.delete(key);
    const most = this.#entries.size < MOST_ENTRIES ? MOST_ENTRIES : MOST_ENTRIES * 0.75;
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= most) break;
      this.#entries.delete(key);
    }
    this.#sweepAt = Math.min(MOST_ENTRIES, Math.max(64, 2 * this.#entries.size));
  }
}

function turnIn(waiting: Set<() => void>, signal: Cancellable | undefined, cancelled: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = (): void => {
      signal?.removeEventListener('abort', leave);
      resolve();
    };
    const leave = (): void => {
      waiting.delete(begin);
      reject(abortedBefore(cancelled));
    };
    waiting.add(begin);
    signal?.addEventListener('abort', leave, ONCE);
  });
}

function abortedBefore(words = 'Cancelled while it waited for its turn.'): GatewayError {
  return new GatewayError('ABORTED', ours(words), { sent: false });
}

/** The one that all gateways of this process share, unless they are given another. */
export const processCoordination = new ProcessCoordination();
