import type { StillHeld } from '../model/coordination';

/** What a run holds together with other processes; the work on one of its items holds that too. */
export class Holds {
  readonly #own = new Set<StillHeld>();
  readonly #outer: Holds | undefined;

  constructor(outer?: Holds) {
    this.#outer = outer;
  }

  get any(): boolean {
    return this.#own.size > 0 || this.#outer?.any === true;
  }

  /** `held` is undefined where nobody beyond this process can have it: then there is nothing to ask. */
  async during<T>(held: StillHeld | undefined, work: () => Promise<T>): Promise<T> {
    if (!held) return work();
    this.#own.add(held);
    try {
      return await work();
    } finally {
      this.#own.delete(held);
    }
  }

  /** Errors: those of `StillHeld`. */
  async check(): Promise<void> {
    for (const held of this.#own) await held();
    await this.#outer?.check();
  }
}
