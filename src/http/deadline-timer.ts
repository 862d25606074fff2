import { UnorderedList } from '../model/unordered-list';

/** Work in progress that must end by its `deadline`, a value of `performance.now()` in milliseconds. */
export interface DeadlineItem {
  index: number;
  deadline: number;
  expire(): void;
}

/** Watches the deadlines of all items with one timer, because one timer per request is costly. */
export class DeadlineTimer<T extends DeadlineItem> extends UnorderedList<T> {
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
    // Open sockets keep the process alive while work is in progress; the timer alone must not.
    this.#timer = setTimeout(() => this.#expireDue(), time - performance.now()).unref();
  }

  #expireDue(): void {
    // Timers fire on whole milliseconds.
    const now = performance.now() + 1;
    this.#nextCheck = Infinity;
    for (const item of this.items.filter(({ deadline }) => deadline <= now)) item.expire();
    const nextDeadline = this.items.reduce((earliest, { deadline }) => Math.min(earliest, deadline), this.#nextCheck);
    if (nextDeadline < this.#nextCheck) this.#scheduleCheck(nextDeadline);
  }
}
