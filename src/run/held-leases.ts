import type { AssertHeld } from '../model/coordination';
import { DEFAULT_TIMEOUT_SECONDS, type CheckedSettings } from '../model/settings';

/** Seconds that an appliance can be busy with a small request whose sender is gone: far less than a time limit, which allows for everything. */
const MAX_BUSY_SECONDS = 10;

/**
 * For how many seconds after its last sign of life what a process holds is nobody else's. Its holder prolongs it while it lives, however long
 * the work takes, so that this is about one that has died, and about what it sent: the appliance may go on with that. `brief` work is of small
 * exchanges. A time limit that is longer than usual speaks of an appliance that needs it.
 */
export function getLeaseSeconds(
  { timeout, transferTimeout }: Pick<CheckedSettings, 'timeout' | 'transferTimeout'>,
  isBrief: boolean,
): number {
  if (!isBrief) return Math.max(timeout, transferTimeout) + 60;
  return 15 + (timeout > DEFAULT_TIMEOUT_SECONDS ? timeout : Math.min(timeout, MAX_BUSY_SECONDS));
}

/** What a run holds together with other processes; the work on one of its items holds that too. */
export class HeldLeases {
  readonly #own = new Set<AssertHeld>();
  readonly #outer: HeldLeases | undefined;

  constructor(outer?: HeldLeases) {
    this.#outer = outer;
  }

  get hasAny(): boolean {
    return this.#own.size > 0 || this.#outer?.hasAny === true;
  }

  /** `held` is undefined where nobody beyond this process can have it: then there is nothing to ask. */
  async run<T>(assertHeld: AssertHeld | undefined, work: () => Promise<T>): Promise<T> {
    if (!assertHeld) return work();
    this.#own.add(assertHeld);
    try {
      return await work();
    } finally {
      this.#own.delete(assertHeld);
    }
  }

  /** Errors: those of `StillHeld`. */
  async assertHeld(): Promise<void> {
    for (const assertLeaseHeld of this.#own) await assertLeaseHeld();
    await this.#outer?.assertHeld();
  }
}
