/**
 * Time since its creation, by the monotonic clock and the wall clock. The monotonic clock may stop while a machine sleeps, and the wall
 * clock can be set. The longer time counts, because other processes judge this one by the clock of the database.
 */
export class ElapsedTime {
  readonly #monotonicStart = performance.now();
  readonly #wallClockStart = Date.now();

  /** Measures elapsed time in milliseconds. */
  get ms(): number {
    return Math.max(performance.now() - this.#monotonicStart, Date.now() - this.#wallClockStart);
  }
}
