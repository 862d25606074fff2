/** Lets items that run in parallel do a part of their work in the given order. */
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

  /** Runs `work` after the work of all earlier items. */
  async run<R>(item: T, work: () => Promise<R>): Promise<R> {
    try {
      await this.waitForPrevious(item);
      return await work();
    } finally {
      this.markDone(item);
    }
  }
}
