import { UnorderedList } from '../model/unordered-list';

/** Something under way that has to be over by its `deadline`, a value of `performance.now()`. */
export interface Bounded {
  index: number;
  deadline: number;
  expire(): void;
}

/** What is under way, and one timer for all of it: hardly anything expires, and a timer of its own for each is not for nothing. */
export class Deadlines<T extends Bounded> extends UnorderedList<T> {
  #timer: NodeJS.Timeout | undefined;
  #looks = Infinity;

  override add(item: T): void {
    super.add(item);
    if (item.deadline < this.#looks) this.#lookAt(item.deadline);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #lookAt(time: number): void {
    clearTimeout(this.#timer);
    this.#looks = time;
    // What is under way has a socket that keeps the process alive; when nothing is, the timer must not.
    this.#timer = setTimeout(() => this.#look(), time - performance.now()).unref();
  }

  #look(): void {
    // Timers count in whole milliseconds.
    const now = performance.now() + 1;
    this.#looks = Infinity;
    for (const item of this.items.filter(({ deadline }) => deadline <= now)) item.expire();
    const next = this.items.reduce((least, { deadline }) => Math.min(least, deadline), this.#looks);
    if (next < this.#looks) this.#lookAt(next);
  }
}
