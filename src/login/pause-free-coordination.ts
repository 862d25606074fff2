import type { AssertHeld, Coordination, CoordinationValue, ExclusiveOptions } from '../model/coordination';

/** Keys of pauses, see `BackOff`. */
const PAUSE_KEYS = /^(?:login|key)-pause:/;

/**
 * Lets no pause stop a login, because a person has just asked for it. A refusal still starts a pause for all others, and a success ends it.
 */
export class PauseFreeCoordination implements Coordination {
  readonly #shared: Coordination;

  constructor(shared: Coordination) {
    this.#shared = shared;
  }

  runExclusive<T>(key: string, work: (assertHeld?: AssertHeld) => Promise<T>, options?: ExclusiveOptions): Promise<T> {
    return this.#shared.runExclusive(key, work, options);
  }

  get(key: string): Promise<CoordinationValue | undefined> {
    return PAUSE_KEYS.test(key) ? Promise.resolve(undefined) : this.#shared.get(key);
  }

  set(key: string, value: CoordinationValue, ttlMs: number): Promise<void> {
    return this.#shared.set(key, value, ttlMs);
  }

  update(...parameters: Parameters<Coordination['update']>): ReturnType<Coordination['update']> {
    return this.#shared.update(...parameters);
  }
}
