import type { RunOutcome } from '../gateway/gateway';
import { LightAbortController } from '../model/abort';
import type { Clock } from './clock';

/** The result of a check: an outcome or an error. */
export type CheckResult = { readonly outcome: RunOutcome } | { readonly error: unknown };

/** A watch that takes part in the checks of a poller. */
export interface PollSubscriber {
  /** The usual time between two checks, in milliseconds. */
  readonly intervalMs: number;
  /** Handles a result and returns the milliseconds until its next check. Never rejects. */
  onResult(result: CheckResult): Promise<number>;
}

interface Subscription {
  readonly subscriber: PollSubscriber;
  /** The time of the next check; Infinity while a check is running. */
  dueAt: number;
  /** Callers that wait for the next check, and for the one after a running check. */
  waiters: (() => void)[];
  nextCheckWaiters: (() => void)[];
}

/**
 * Shares the checks of one kind at one appliance between watches. One check runs at a time. A watch that is due soon takes part in it,
 * so watches with the same interval soon share all checks.
 */
export class SharedPoller {
  readonly #poll: (signal: LightAbortController) => Promise<RunOutcome>;
  readonly #clock: Clock;
  readonly #subscriptions = new Map<PollSubscriber, Subscription>();
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

  /** Plans the first check in `delayMs`. Does nothing for a subscriber that already takes part. */
  subscribe(subscriber: PollSubscriber, delayMs: number): void {
    if (this.#subscriptions.has(subscriber)) return;
    this.#subscriptions.set(subscriber, { subscriber, dueAt: this.#clock.monotonic() + delayMs, waiters: [], nextCheckWaiters: [] });
    this.#schedule();
  }

  unsubscribe(subscriber: PollSubscriber): void {
    const subscription = this.#subscriptions.get(subscriber);
    if (!subscription) return;
    this.#subscriptions.delete(subscriber);
    for (const done of [...subscription.waiters, ...subscription.nextCheckWaiters]) done();
    if (this.isEmpty) this.#canceller.abort();
    this.#schedule();
  }

  /** Starts a check now, or after the running one. Resolves when its result has been handled. */
  checkNow(subscriber: PollSubscriber): Promise<void> {
    const subscription = this.#subscriptions.get(subscriber);
    if (!subscription) return Promise.resolve();
    return new Promise((resolve) => {
      if (subscription.dueAt === Infinity) {
        subscription.nextCheckWaiters.push(resolve);
        return;
      }
      subscription.waiters.push(resolve);
      subscription.dueAt = this.#clock.monotonic();
      this.#schedule();
    });
  }

  #schedule(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#running) return;
    const nextDueAt = Math.min(...[...this.#subscriptions.values()].map((subscription) => subscription.dueAt));
    if (nextDueAt === Infinity) return;
    const waitMs = nextDueAt - this.#clock.monotonic();
    if (waitMs <= 0) this.#run();
    // A timer is limited to about 24 days; a longer wait is planned in parts.
    else this.#cancelTimer = this.#clock.schedule(Math.min(waitMs, 2 ** 30), () => this.#schedule());
  }

  #run(): void {
    const subscriptions = [...this.#subscriptions.values()];
    const dueBefore = this.#clock.monotonic() + Math.min(...subscriptions.map(({ subscriber }) => subscriber.intervalMs)) / 2;
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
    subscription.dueAt = this.#clock.monotonic() + (nextCheckWaiters.length > 0 ? 0 : delayMs);
    for (const done of waiters) done();
    if (this.#subscriptions.get(subscription.subscriber) === subscription) this.#schedule();
  }
}
