import { UnorderedList } from '../model/unordered-list';

/** Something under way that has to be over by its `deadline`, a value of `performance.now()`. */
export interface Expirable {
  index: number;
  deadline: number;
  expire(): void;
}

/** What is under way, and one timer for all of it: hardly anything expires, and a timer of its own for each is not for nothing. */
export class DeadlineTimer<T extends Expirable> extends UnorderedList<T> {
  #timer: NodeJS.Timeout | undefined;
  #nextCheck = Infinity;

  override add(item: T): void {
    super.add(item);
    if (item.deadline < this.#nextCheck) this.#scheduleCheck(item.deadline);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #scheduleCheck(time: number): void {
    clearTimeout(this.#timer);
    this.#nextCheck = time;
    // What is under way has a socket that keeps the process alive; when nothing is, the timer must not.
    this.#timer = setTimeout(() => this.#expireDue(), time - performance.now()).unref();
  }

  #expireDue(): void {
    // Timers count in whole milliseconds.
    const now = performance.now() + 1;
    this.#nextCheck = Infinity;
    for (const item of this.items.filter(({ deadline }) => deadline <= now)) item.expire();
    const nextDeadline = this.items.reduce((earliest, { deadline }) => Math.min(earliest, deadline), this.#nextCheck);
    if (nextDeadline < this.#nextCheck) this.#scheduleCheck(nextDeadline);
  }
}
