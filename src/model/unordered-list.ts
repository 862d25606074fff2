/**
 * An unordered list with cheap removal. A `Set` reallocates its table every few additions, and each old table keeps its items alive until
 * the next full collection.
 */
export class UnorderedList<T extends { index: number }> {
  readonly items: T[] = [];

  add(item: T): void {
    item.index = this.items.push(item) - 1;
  }

  /** Removes an item that is in the list. Its `index` becomes negative. */
  delete(item: T): void {
    const last = this.items.pop();
    if (last && last !== item) {
      this.items[item.index] = last;
      last.index = item.index;
    }
    item.index = -1;
  }
}
