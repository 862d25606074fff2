import type { RunOutcome } from '../gateway';
import { LightAbortController } from '../model/abort';
import type { Clock } from './clock';

/** What a check came to. */
export type CheckResult = { readonly outcome: RunOutcome } | { readonly error: unknown };

/** Who takes part in the checks of a feed. */
export interface Subscriber {
  /** The usual time between two checks, in milliseconds. */
  readonly intervalMs: number;
  /** Takes a result; the next check for it comes after that, so much later. Never rejects. */
  onResult(result: CheckResult): Promise<number>;
}

interface Subscription {
  readonly subscriber: Subscriber;
  /** When its next check is due; Infinity while it works on one. */
  dueAt: number;
  /** Who waits for the check that is to come, and for the one after a check that is under way. */
  waiters: (() => void)[];
  nextCheckWaiters: (() => void)[];
}

/**
 * The checks of one kind at one appliance, shared by all who watch for it. One runs at a time, and who is due soon takes part: watches
 * with the same interval meet after one check, however far apart they began.
 */
export class SharedPoller {
  readonly #poll: (signal: LightAbortController) => Promise<RunOutcome>;
  readonly #clock: Clock;
  readonly #subscriptions = new Map<Subscriber, Subscription>();
  #canceller = new LightAbortController();
  #running = false;
  #cancelTimer: (() => void) | undefined;

  constructor(poll: (signal: LightAbortController) => Promise<RunOutcome>, clock: Clock) {
    this.#poll = poll;
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#subscriptions.size === 0;
  }

  /** The first check in so many milliseconds; who takes part already stays as it is. */
  subscribe(subscriber: Subscriber, delayMs: number): void {
    if (this.#subscriptions.has(subscriber)) return;
    this.#subscriptions.set(subscriber, { subscriber, dueAt: this.#clock.now() + delayMs, waiters: [], nextCheckWaiters: [] });
    this.#schedule();
  }

  unsubscribe(subscriber: Subscriber): void {
    const subscription = this.#subscriptions.get(subscriber);
    if (!subscription) return;
    this.#subscriptions.delete(subscriber);
    for (const done of [...subscription.waiters, ...subscription.nextCheckWaiters]) done();
    if (this.isEmpty) this.#canceller.abort();
    this.#schedule();
  }

  /** A check that begins now, or right after the one that is under way; ends when its result is taken. */
  checkNow(subscriber: Subscriber): Promise<void> {
    const subscription = this.#subscriptions.get(subscriber);
    if (!subscription) return Promise.resolve();
    return new Promise((resolve) => {
      if (subscription.dueAt === Infinity) {
        subscription.nextCheckWaiters.push(resolve);
        return;
      }
      subscription.waiters.push(resolve);
      subscription.dueAt = this.#clock.now();
      this.#schedule();
    });
  }

  #schedule(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#running) return;
    const nextDueAt = Math.min(...[...this.#subscriptions.values()].map((subscription) => subscription.dueAt));
    if (nextDueAt === Infinity) return;
    const waitMs = nextDueAt - this.#clock.now();
    if (waitMs <= 0) this.#run();
    // Longer ones than a timer can have end early, and are planned anew.
    else this.#cancelTimer = this.#clock.schedule(Math.min(waitMs, 2 ** 30), () => this.#schedule());
  }

  #run(): void {
    const subscriptions = [...this.#subscriptions.values()];
    const dueBefore = this.#clock.now() + Math.min(...subscriptions.map(({ subscriber }) => subscriber.intervalMs)) / 2;
    const dueSubscriptions = subscriptions.filter(({ dueAt }) => dueAt <= dueBefore);
    for (const subscription of dueSubscriptions) subscription.dueAt = Infinity;
    this.#running = true;
    if (this.#canceller.aborted) this.#canceller = new LightAbortController();
    this.#poll(this.#canceller)
      .then(
        (outcome): CheckResult => ({ outcome }),
        (error: unknown): CheckResult => ({ error }),
      )
      .then((result) => {
        this.#running = false;
        for (const subscription of dueSubscriptions) void this.#deliver(subscription, result);
        this.#schedule();
      })
      .catch(() => undefined);
  }

  async #deliver(subscription: Subscription, result: CheckResult): Promise<void> {
    if (this.#subscriptions.get(subscription.subscriber) !== subscription) return;
    const delayMs = await subscription.subscriber.onResult(result);
    const { waiters, nextCheckWaiters } = subscription;
    subscription.waiters = nextCheckWaiters;
    subscription.nextCheckWaiters = [];
    subscription.dueAt = this.#clock.now() + (nextCheckWaiters.length > 0 ? 0 : delayMs);
    for (const done of waiters) done();
    if (this.#subscriptions.get(subscription.subscriber) === subscription) this.#schedule();
  }
}
