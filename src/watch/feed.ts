import type { Outcome } from '../gateway';
import { Canceller } from '../model/cancelling';
import type { Clock } from './clock';

/** What a check came to. */
export type CheckResult = { readonly outcome: Outcome } | { readonly error: unknown };

/** Who takes part in the checks of a feed. */
export interface Participant {
  /** The usual time between two checks, in milliseconds. */
  readonly everyMs: number;
  /** Takes a result; the next check for it comes after that, so much later. Never rejects. */
  take(result: CheckResult): Promise<number>;
}

interface Seat {
  readonly participant: Participant;
  /** When its next check is due; Infinity while it works on one. */
  due: number;
  /** Who waits for the check that is to come, and for the one after a check that is under way. */
  waiting: (() => void)[];
  again: (() => void)[];
}

/**
 * The checks of one kind at one appliance, shared by all who watch for it. One runs at a time, and who is due soon takes part: watches
 * with the same interval meet after one check, however far apart they began.
 */
export class Feed {
  readonly #ask: (signal: Canceller) => Promise<Outcome>;
  readonly #clock: Clock;
  readonly #seats = new Map<Participant, Seat>();
  #stop = new Canceller();
  #running = false;
  #cancel: (() => void) | undefined;

  constructor(ask: (signal: Canceller) => Promise<Outcome>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  get empty(): boolean {
    return this.#seats.size === 0;
  }

  /** The first check in so many milliseconds; who takes part already stays as it is. */
  join(participant: Participant, inMs: number): void {
    if (this.#seats.has(participant)) return;
    this.#seats.set(participant, { participant, due: this.#clock.now() + inMs, waiting: [], again: [] });
    this.#plan();
  }

  leave(participant: Participant): void {
    const seat = this.#seats.get(participant);
    if (!seat) return;
    this.#seats.delete(participant);
    for (const done of [...seat.waiting, ...seat.again]) done();
    if (this.empty) this.#stop.abort();
    this.#plan();
  }

  /** A check that begins now, or right after the one that is under way; ends when its result is taken. */
  check(participant: Participant): Promise<void> {
    const seat = this.#seats.get(participant);
    if (!seat) return Promise.resolve();
    return new Promise((resolve) => {
      if (seat.due === Infinity) {
        seat.again.push(resolve);
        return;
      }
      seat.waiting.push(resolve);
      seat.due = this.#clock.now();
      this.#plan();
    });
  }

  #plan(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#running) return;
    const due = Math.min(...[...this.#seats.values()].map((seat) => seat.due));
    if (due === Infinity) return;
    const wait = due - this.#clock.now();
    if (wait <= 0) this.#run();
    // Longer ones than a timer can have end early, and are planned anew.
    else this.#cancel = this.#clock.after(Math.min(wait, 2 ** 30), () => this.#plan());
  }

  #run(): void {
    const all = [...this.#seats.values()];
    const soon = this.#clock.now() + Math.min(...all.map(({ participant }) => participant.everyMs)) / 2;
    const seats = all.filter(({ due }) => due <= soon);
    for (const seat of seats) seat.due = Infinity;
    this.#running = true;
    if (this.#stop.aborted) this.#stop = new Canceller();
    this.#ask(this.#stop)
      .then(
        (outcome): CheckResult => ({ outcome }),
        (error: unknown): CheckResult => ({ error }),
      )
      .then((result) => {
        this.#running = false;
        for (const seat of seats) void this.#give(seat, result);
        this.#plan();
      })
      .catch(() => undefined);
  }

  async #give(seat: Seat, result: CheckResult): Promise<void> {
    if (this.#seats.get(seat.participant) !== seat) return;
    const later = await seat.participant.take(result);
    const { waiting, again } = seat;
    seat.waiting = again;
    seat.again = [];
    seat.due = this.#clock.now() + (again.length > 0 ? 0 : later);
    for (const done of waiting) done();
    if (this.#seats.get(seat.participant) === seat) this.#plan();
  }
}
