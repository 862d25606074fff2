/** Work on many items at once, of which parts are to be done in order: each item can wait until those before it are done. */
export class Turns<T> {
  readonly #done = new Map<T, () => void>();
  readonly #before = new Map<T, Promise<void>>();

  constructor(items: readonly T[]) {
    let last = Promise.resolve();
    for (const item of items) {
      const before = last;
      this.#before.set(item, before);
      const own = new Promise<void>((resolve) => this.#done.set(item, resolve));
      last = before.then(() => own);
    }
  }

  before(item: T): Promise<void> {
    return this.#before.get(item) ?? Promise.resolve();
  }

  done(item: T): void {
    this.#done.get(item)?.();
  }

  /** All of the work in turn. */
  async take<R>(item: T, work: () => Promise<R>): Promise<R> {
    try {
      await this.before(item);
      return await work();
    } finally {
      this.done(item);
    }
  }
}
