import type { StillHeld } from '../model/coordination';
import { USUAL_TIMEOUT, type CheckedSettings } from '../model/settings';

/** Seconds that an appliance can be busy with a small request whose sender is gone: far less than a time limit, which allows for everything. */
const BUSY = 10;

/**
 * For how many seconds after its last sign of life what a process holds is nobody else's. Its holder prolongs it while it lives, however long
 * the work takes, so that this is about one that has died, and about what it sent: the appliance may go on with that. `brief` work is of small
 * exchanges. A time limit that is longer than usual speaks of an appliance that needs it.
 */
export function leaseOf({ timeout, transferTimeout }: Pick<CheckedSettings, 'timeout' | 'transferTimeout'>, brief: boolean): number {
  if (!brief) return Math.max(timeout, transferTimeout) + 60;
  return 15 + (timeout > USUAL_TIMEOUT ? timeout : Math.min(timeout, BUSY));
}

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
