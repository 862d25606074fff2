// @ts-check

/** Ends everything that a demo has started, in reverse order, and only once. */
export class Cleanups {
  /** @type {(() => unknown)[]} */
  #left = [];
  /** @type {Promise<void> | undefined} */
  #ending;

  /** @param {() => unknown} cleanup */
  push(cleanup) {
    this.#left.push(cleanup);
  }

  get ended() {
    return this.#ending !== undefined;
  }

  /** @returns {Promise<void>} */
  end() {
    return (this.#ending ??= this.#endAll());
  }

  async #endAll() {
    for (const cleanup of this.#left.reverse()) await cleanup();
  }
}
