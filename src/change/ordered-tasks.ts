/** Work on many items at once, of which parts are to be done in order: each item can wait until those before it are done. */
export class OrderedTasks<T> {
  readonly #resolvers = new Map<T, () => void>();
  readonly #previous = new Map<T, Promise<void>>();

  constructor(items: readonly T[]) {
    let last = Promise.resolve();
    for (const item of items) {
      const before = last;
      this.#previous.set(item, before);
      const task = new Promise<void>((resolve) => this.#resolvers.set(item, resolve));
      last = before.then(() => task);
    }
  }

  waitForPrevious(item: T): Promise<void> {
    return this.#previous.get(item) ?? Promise.resolve();
  }

  markDone(item: T): void {
    this.#resolvers.get(item)?.();
  }

  /** All of the work in turn. */
  async run<R>(item: T, work: () => Promise<R>): Promise<R> {
    try {
      await this.waitForPrevious(item);
      return await work();
    } finally {
      this.markDone(item);
    }
  }
}
