import type { Envelope } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import type { JsonObject } from '../model/json';
import { machineClock, type Clock } from './clock';
import type { Feed, CheckResult, Participant } from './feed';
import { feedOf } from './feeds';
import { kindNamed, type KindOptions, type Watched, type WatchKind } from './kinds';
import { Memory, type Entry } from './memory';
import type { Found, Seen, Tracker } from './tracker';

/** Something that happened at the appliance, or to it. */
export interface WatchEvent {
  /** `<watch>/<event>` */
  readonly topic: string;
  /** With `id`, which is the same should the event be told again, and `at`, when it was seen. */
  readonly payload: JsonObject & { readonly event: string; readonly id: string; readonly at: string };
  readonly envelope: Envelope;
}

/** How a watch stands, whenever that changes. */
export type WatchState =
  | { readonly state: 'waiting' | 'paused' }
  | { readonly state: 'seen'; readonly at: number; readonly seen: Seen }
  | { readonly state: 'away'; readonly since: number }
  | { readonly state: 'failed'; readonly code: ErrorCode };

export interface WatchOptions extends KindOptions {
  readonly watch: WatchKind;
  /** Seconds between two checks, from 1 on; a tenth more or less, so that many watches do not come at once. */
  readonly every: number;
  /** File that is remembered in: what happened while nobody watched is told later. */
  readonly remember?: string | undefined;
  readonly clock?: Clock | undefined;
  /** Told each event, one after the other. */
  readonly onEvent: (event: WatchEvent) => void;
  /** Told what keeps the watch from working, once: not that the appliance is away, which is an event. */
  readonly onError: (error: GatewayError) => void;
  readonly onState?: ((state: WatchState) => void) | undefined;
}

const LONGEST_SECONDS = 86_400;
/**
 * The first pause after a check that failed, or twice the usual time if that is shorter; and the longest, or twice the usual time if that
 * is longer. So one that comes back for minutes only is seen, also by who looks once an hour.
 */
const PAUSE_MS = 60_000;
/** Nobody waits for the first check longer than this. */
const FIRST_MS = 2000;

/** Errors that say that the appliance is away, or not itself; everything else is told as what it is. */
const AWAY: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['CONNECTION', 'TIMEOUT', 'TLS', 'APPLIANCE_ERROR', 'BAD_RESPONSE']);
/** Errors that say nothing of the appliance: logins pause for a reason that was told, or a check was ended. */
const SILENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['LOGIN_PAUSED', 'ABORTED']);

/**
 * Watches one appliance for one kind of event. Events are told once each: what two checks see alike is told by neither. The first check
 * tells nothing, unless something is remembered. With `remember`, an event is written down before it is told and marked right after: a
 * process that is killed loses none, and tells one again, with the same id, only if it was killed in the instant between the two.
 */
export class Watcher implements Participant {
  readonly everyMs: number;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #tracker: Tracker;
  readonly #memory: Memory | undefined;
  readonly #feed: Feed;
  readonly #epoch: string;
  #number = 0;
  #away = false;
  #awaySince = 0;
  #failures = 0;
  /** The code of the error that was told last; a check that succeeds forgets it. */
  #told: ErrorCode | undefined;
  #memoryFault: string | undefined;
  #paused = false;
  #closed = false;
  #working: Promise<unknown> = Promise.resolve();
  #starting: Promise<void> | undefined;

  /** Errors: `BAD_CONFIG`, or `BAD_INPUT` for a filter; nothing is done before `start`. */
  constructor(watched: Watched, options: WatchOptions) {
    const kind = kindNamed(options.watch);
    const { every, remember } = options;
    if (!(every >= 1 && every <= LONGEST_SECONDS))
      throw new GatewayError('BAD_CONFIG', `every has to be seconds, from 1 to ${LONGEST_SECONDS}.`, { sent: false });
    this.everyMs = every * 1000;
    this.#options = options;
    this.#clock = options.clock ?? machineClock;
    this.#tracker = kind.tracker(options, this.#clock, watched.name);
    const identity = JSON.stringify([options.watch, watched.name, kind.identity?.(options) ?? null]);
    this.#memory = remember === undefined ? undefined : new Memory(remember, identity);
    this.#epoch = this.#memory?.epoch ?? Math.floor(this.#clock.now()).toString(36);
    this.#feed = feedOf(watched, options.watch, kind, kind.input?.(options) ?? {}, this.#clock);
  }

  /** Begins, once what is remembered has been read. Never rejects. */
  start(): Promise<void> {
    return (this.#starting ??= this.#begin());
  }

  /** A check right now, or right after the one that is under way. Ends with it, whatever it came to. */
  async check(): Promise<void> {
    await this.start();
    if (this.#closed) return;
    // While it pauses it takes part in this check only.
    if (this.#paused) this.#feed.join(this, this.everyMs);
    await this.#feed.check(this);
    if (this.#paused) this.#leave();
  }

  /** No more checks until `resume`; what is under way for this watch alone is ended. */
  pause(): void {
    if (this.#paused || this.#closed) return;
    this.#paused = true;
    this.#leave();
    this.#show({ state: 'paused' });
  }

  /** Goes on with a check at once: what happened meanwhile is told. */
  async resume(): Promise<void> {
    await this.start();
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    this.#feed.join(this, this.everyMs);
    await this.#feed.check(this);
  }

  /** Ends everything. An event that is under way is told and marked; what is still to be told stays in the memory, if there is one. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#leave();
    await this.#starting;
    await this.#working;
    this.#memory?.close();
  }

  /** For the feed. */
  take(result: CheckResult): Promise<number> {
    const work = this.#take(result).catch((fault: unknown) => {
      this.#options.onError(asGatewayError(fault));
      return this.everyMs;
    });
    this.#working = work;
    return work;
  }

  async #begin(): Promise<void> {
    this.#show({ state: 'waiting' });
    this.#working = this.#recall();
    await this.#working;
    if (!this.#closed && !this.#paused) this.#feed.join(this, Math.min(this.everyMs / 10, FIRST_MS) * this.#clock.random());
  }

  /** Events of a process that was killed come first. */
  async #recall(): Promise<void> {
    const memory = this.#memory;
    if (!memory) return;
    try {
      const recalled = await memory.recall();
      if (!recalled) return;
      if (recalled.state !== undefined && recalled.state !== null) this.#tracker.restore(recalled.state);
      for (const change of recalled.changes) this.#tracker.apply(change);
      this.#away = recalled.away;
      this.#awaySince = this.#clock.now();
      this.#number = recalled.number;
      const { untold } = recalled;
      await memory.save(this.#tracker, this.#away, this.#number, untold);
      if (untold) await this.#tell(untold);
    } catch (thrown) {
      this.#forgets(thrown);
    }
  }

  async #take(result: CheckResult): Promise<number> {
    if (this.#closed) return this.everyMs;
    if ('outcome' in result) {
      try {
        await this.#looked(result.outcome.data, result.outcome.envelope);
        this.#failures = 0;
        this.#told = undefined;
        return this.#jitter(this.everyMs);
      } catch (thrown) {
        return this.#failed(thrown);
      }
    }
    return this.#failed(result.error);
  }

  async #looked(data: unknown, envelope: Envelope): Promise<void> {
    const { events, change, seen, envelope: more } = this.#tracker.look(data);
    const back: Found[] = this.#away ? [{ event: 'reachable' }] : [];
    const wasAway = this.#away;
    this.#away = false;
    this.#show({ state: 'seen', at: this.#clock.now(), seen });
    if (change !== undefined || wasAway) await this.#note([...back, ...events], change, { ...envelope, ...more });
  }

  async #failed(thrown: unknown): Promise<number> {
    const error = asGatewayError(thrown);
    const { code, message, cause } = error;
    if (code === 'ABORTED') return this.#jitter(this.everyMs);
    this.#failures++;
    if (AWAY.has(code) && cause) {
      if (!this.#away) {
        this.#away = true;
        this.#awaySince = this.#clock.now();
        await this.#note([{ event: 'unreachable', code, message }], undefined, cause);
      }
      this.#show({ state: 'away', since: this.#awaySince });
    } else {
      if (!this.#away || !SILENT.has(code)) this.#show({ state: 'failed', code });
      if (!SILENT.has(code) && this.#told !== code) {
        this.#told = code;
        this.#options.onError(error);
      }
    }
    const first = Math.min(PAUSE_MS, 2 * this.everyMs);
    const longest = Math.max(PAUSE_MS, 2 * this.everyMs);
    return this.#jitter(Math.min(first * 2 ** Math.min(this.#failures - 1, 16), longest));
  }

  /** Writes down what was found, and tells it. */
  async #note(found: readonly Found[], change: unknown, envelope: Envelope): Promise<void> {
    const number = ++this.#number;
    const at = new Date(this.#clock.now()).toISOString();
    const epoch = this.#memory?.epoch ?? this.#epoch;
    const events = found.map((event, index) => ({ ...event, id: `${epoch}-${number}-${index}`, at }));
    const entry: Entry = { number, change, away: this.#away, events, envelope: events.length > 0 ? envelope : undefined };
    await this.#remember(entry);
    await this.#tell(entry);
  }

  /** An event at a time: it is marked as soon as whoever gets it has had its turn. */
  async #tell({ events, envelope }: Entry): Promise<void> {
    const { watch, onEvent } = this.#options;
    for (const payload of events as readonly WatchEvent['payload'][]) {
      // The next one, who has the same memory, tells the rest.
      if (this.#closed && this.#memory) return;
      onEvent({ topic: `${watch}/${payload.event}`, payload, envelope: envelope as Envelope });
      if (!this.#memory) continue;
      // Node-RED delivers in a turn of its own, which comes before this one.
      await new Promise((resolve) => setImmediate(resolve));
      this.#keep((memory) => memory.told());
    }
  }

  async #remember(entry: Entry): Promise<void> {
    const memory = this.#memory;
    if (!memory) return;
    try {
      if (memory.isDue) await memory.save(this.#tracker, this.#away, entry.number, entry);
      else memory.add(entry);
      this.#memoryFault = undefined;
    } catch (thrown) {
      this.#forgets(thrown);
    }
  }

  /** A file that was given up after a fault is written anew at the next check. */
  #keep(work: (memory: Memory) => void): void {
    if (!this.#memory || this.#memoryFault !== undefined) return;
    try {
      work(this.#memory);
    } catch (thrown) {
      this.#forgets(thrown);
    }
  }

  /** It goes on without, and says so once. */
  #forgets(thrown: unknown): void {
    const error = asGatewayError(thrown);
    if (this.#memoryFault === error.message) return;
    this.#memoryFault = error.message;
    this.#options.onError(error);
  }

  #leave(): void {
    this.#feed.leave(this);
  }

  #jitter(ms: number): number {
    return ms * (0.9 + 0.2 * this.#clock.random());
  }

  #show(state: WatchState): void {
    if (!this.#closed && !(this.#paused && state.state !== 'paused')) this.#options.onState?.(state);
  }
}
