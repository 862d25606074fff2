import type { AssertHeld } from '../model/coordination';

/** Leases that a run holds against other processes. Work on one of its items relies on them too. */
export class HeldLeases {
  /** Created with the first lease, because most runs hold none. */
  #own: Set<AssertHeld> | undefined;
  readonly #outer: HeldLeases | undefined;

  constructor(outer?: HeldLeases) {
    this.#outer = outer;
  }

  get hasAny(): boolean {
    return (this.#own?.size ?? 0) > 0 || this.#outer?.hasAny === true;
  }

  /** `assertHeld` is undefined when no other process can take the lease. */
  async run<T>(assertHeld: AssertHeld | undefined, work: () => Promise<T>): Promise<T> {
    if (!assertHeld) return work();
    const own = (this.#own ??= new Set());
    own.add(assertHeld);
    try {
      return await work();
    } finally {
      own.delete(assertHeld);
    }
  }

  /** Checks that all leases are still held. Errors: those of `AssertHeld`. */
  async assertHeld(): Promise<void> {
    for (const assertLeaseHeld of this.#own ?? []) await assertLeaseHeld();
    await this.#outer?.assertHeld();
  }
}
