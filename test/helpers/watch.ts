import { onTestFinished } from 'vitest';
import { Watcher, type Clock, type WatchedGateway, type WatchEvent, type WatchOptions, type WatchState } from '../../src/watch';
import type { GatewayError } from '../../src/model/error';

/** A clock that a test moves from one due task to the next. */
export class TestClock implements Clock {
  #now: number;
  /** How far the clock of the machine was set away from the monotonic one. */
  #offset = 0;
  readonly #timers = new Set<{ at: number; work: () => void }>();

  constructor(start = Date.UTC(2026, 0, 15, 8)) {
    this.#now = start;
  }

  now(): number {
    return this.#now + this.#offset;
  }

  monotonic(): number {
    return this.#now;
  }

  /** Sets the clock of the machine forward, or back with a negative number. */
  jump(ms: number): void {
    this.#offset += ms;
  }

  schedule(ms: number, work: () => void): () => void {
    const timer = { at: this.#now + ms, work };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  random(): number {
    return 0.5;
  }

  /** When the planned tasks are due. */
  get plannedTimes(): number[] {
    return [...this.#timers].map(({ at }) => at);
  }

  /** Advances the time and runs the tasks that become due. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at);
      if (!next) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.work();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#now = end;
  }

  /** When something is due; once everything that is under way has planned what comes next, so many things are. */
  async whenDue(timers = 1): Promise<number> {
    while (this.#timers.size < timers) await new Promise((resolve) => setImmediate(resolve));
    return Math.min(...[...this.#timers].map(({ at }) => at));
  }

  /** Does what is due first, `before` it is told when that is. Ends when it has led to the next. */
  async runNextTimer(timers = 1, before: (at: number) => void = () => undefined): Promise<void> {
    const at = await this.whenDue(timers);
    const [first] = [...this.#timers].filter((timer) => timer.at === at);
    this.#now = at;
    before(at);
    if (first) {
      this.#timers.delete(first);
      first.work();
    }
    await this.whenDue(timers);
  }
}

export interface WatchFixture {
  readonly watcher: Watcher;
  readonly clock: TestClock;
  readonly events: WatchEvent[];
  readonly errors: GatewayError[];
  readonly states: WatchState[];
  /** Returns and clears the topics of all events so far. */
  takeTopics: () => string[];
  /** The events so far, without ids and times. */
  takePayloads: () => Record<string, unknown>[];
}

/** A watch after its first check; it closes with the test. */
export async function startWatch(
  gateway: WatchedGateway,
  options: Partial<WatchOptions> & Pick<WatchOptions, 'watch'>,
  clock = new TestClock(),
): Promise<WatchFixture> {
  const made = createWatch(gateway, options, clock);
  await made.watcher.start();
  await made.watcher.check();
  return made;
}

export function createWatch(
  gateway: WatchedGateway,
  options: Partial<WatchOptions> & Pick<WatchOptions, 'watch'>,
  clock = new TestClock(),
): WatchFixture {
  const events: WatchEvent[] = [];
  const errors: GatewayError[] = [];
  const states: WatchState[] = [];
  const watcher = new Watcher(gateway, {
    every: 10,
    clock,
    onEvent: (event) => events.push(event),
    onError: (error) => errors.push(error),
    onState: (state) => states.push(state),
    ...options,
  });
  onTestFinished(() => watcher.close());
  const take = (): WatchEvent[] => events.splice(0);
  return {
    watcher,
    clock,
    events,
    errors,
    states,
    takeTopics: () => take().map(({ topic }) => topic),
    takePayloads: () =>
      take().map(({ payload }) => Object.fromEntries(Object.entries(payload).filter(([name]) => name !== 'id' && name !== 'at'))),
  };
}
