/**
 * A moment by both clocks: the one that nobody sets may stand still while a machine sleeps, the other one is set. What is longer ago by
 * either of them counts, since whoever takes a process for dead has a third one, that of the database.
 */
export class Moment {
  readonly #steady = performance.now();
  readonly #wall = Date.now();

  /** Milliseconds since then. */
  get ago(): number {
    return Math.max(performance.now() - this.#steady, Date.now() - this.#wall);
  }
}
