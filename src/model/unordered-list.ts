/**
 * Things under way that come and go by the thousand. A `Set` would do, but for the collector: it moves to a new table every few
 * additions, and each table that it leaves behind keeps alive what was in it until the next full collection.
 */
export class UnorderedList<T extends { index: number }> {
  readonly items: T[] = [];

  add(item: T): void {
    item.index = this.items.push(item) - 1;
  }

  /** Each thing once, and only one that is in it; its `index` is below 0 then. */
  delete(item: T): void {
    const last = this.items.pop();
    if (last && last !== item) {
      this.items[item.index] = last;
      last.index = item.index;
    }
    item.index = -1;
  }
}
