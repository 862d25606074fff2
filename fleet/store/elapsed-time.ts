/**
 * A moment by both clocks: the one that nobody sets may stand still while a machine sleeps, the other one is set. What is longer ago by
 * either of them counts, since whoever takes a process for dead has a third one, that of the database.
 */
export class ElapsedTime {
  readonly #monotonicStart = performance.now();
  readonly #wallClockStart = Date.now();

  /** Milliseconds since then. */
  get ms(): number {
    return Math.max(performance.now() - this.#monotonicStart, Date.now() - this.#wallClockStart);
  }
}
