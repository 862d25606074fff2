import { LISTEN_ONCE_OPTION, type AbortSignalLike } from './abort';
import type { Coordination, ExclusiveOptions, CoordinationValue } from './coordination';
import { GatewayError } from './error';
import { trusted } from './safe-message';

interface StoredEntry {
  readonly json: string;
  readonly expires: number;
}

/** Maximum number of stored values, more than any flow needs. Above it, the oldest quarter is removed. */
const MAX_ENTRIES = 10_000;

/** Coordination within one process, in memory. It survives a redeploy but not a restart. */
export class ProcessCoordination implements Coordination {
  /** The held keys, each with its waiters in order. */
  readonly #held = new Map<string, Set<() => void>>();
  readonly #entries = new Map<string, StoredEntry>();
  readonly #now: () => number;
  #removeExpiredAt = 64;

  /** `now` returns milliseconds; the default is a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  async runExclusive<T>(key: string, work: () => Promise<T>, options: ExclusiveOptions = {}): Promise<T> {
    await this.#acquire(key, options);
    try {
      return await work();
    } finally {
      this.#release(key);
    }
  }

  get(key: string): Promise<CoordinationValue | undefined> {
    return Promise.resolve(this.#read(key));
  }

  set(key: string, value: CoordinationValue, ttlMs: number): Promise<void> {
    this.#write(key, value, ttlMs);
    return Promise.resolve();
  }

  /** Synchronous, so nothing can run between reading and writing. An error of `change` becomes a rejection. */
  update(
    key: string,
    change: (present: CoordinationValue | undefined) => CoordinationValue | undefined,
    ttlMs: number,
  ): Promise<CoordinationValue | undefined> {
    return new Promise((resolve) => {
      const changed = change(this.#read(key));
      if (changed === undefined) this.#entries.delete(key);
      else this.#write(key, changed, ttlMs);
      resolve(this.#read(key));
    });
  }

  /** Forgets all values, as after a restart. Held keys stay held. */
  clear(): void {
    this.#entries.clear();
  }

  /** Number of held keys and of stored values, including expired ones that are not removed yet. */
  get size(): { held: number; entries: number } {
    return { held: this.#held.size, entries: this.#entries.size };
  }

  async #acquire(key: string, { signal, onWait, abortMessage }: ExclusiveOptions): Promise<void> {
    if (signal?.aborted) throw createAbortError(abortMessage);
    const waiting = this.#held.get(key);
    if (!waiting) {
      this.#held.set(key, new Set());
      return;
    }
    onWait?.();
    await waitForTurn(waiting, signal, abortMessage);
  }

  #release(key: string): void {
    const waiting = this.#held.get(key);
    const next = waiting?.values().next().value;
    if (next) {
      waiting?.delete(next);
      next();
    } else this.#held.delete(key);
  }

  #read(key: string): CoordinationValue | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (this.#now() < entry.expires) return JSON.parse(entry.json) as CoordinationValue;
    this.#entries.delete(key);
    return undefined;
  }

  #write(key: string, value: CoordinationValue, ttlMs: number): void {
    // Deleting first moves the key to the end: the map is in the order of writing.
    this.#entries.delete(key);
    if (this.#entries.size >= this.#removeExpiredAt) this.#removeExpired();
    this.#entries.set(key, { json: JSON.stringify(value), expires: this.#now() + ttlMs });
  }

  /** Runs only after the number of entries has doubled, so that it costs each write next to nothing. */
  #removeExpired(): void {
    const now = this.#now();
    for (const [key, { expires }] of this.#entries) if (expires <= now) this.#entries.delete(key);
    const maxEntries = this.#entries.size < MAX_ENTRIES ? MAX_ENTRIES : MAX_ENTRIES * 0.75;
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries) break;
      this.#entries.delete(key);
    }
    this.#removeExpiredAt = Math.min(MAX_ENTRIES, Math.max(64, 2 * this.#entries.size));
  }
}

function waitForTurn(waiting: Set<() => void>, signal: AbortSignalLike | undefined, abortMessage: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = (): void => {
      signal?.removeEventListener('abort', leave);
      resolve();
    };
    const leave = (): void => {
      waiting.delete(begin);
      reject(createAbortError(abortMessage));
    };
    waiting.add(begin);
    signal?.addEventListener('abort', leave, LISTEN_ONCE_OPTION);
  });
}

function createAbortError(message = 'Canceled while waiting for its turn.'): GatewayError {
  return new GatewayError('ABORTED', trusted(message), { sent: false });
}

/** The default, shared by all gateways of this process. */
export const processCoordination = new ProcessCoordination();
