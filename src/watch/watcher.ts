import type { Envelope } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import type { JsonObject } from '../model/json';
import { systemClock, type Clock } from './clock';
import type { SharedPoller, CheckResult, Subscriber } from './shared-poller';
import { getSharedPoller } from './shared-pollers';
import { getWatchKind, type WatchKindOptions, type WatchedGateway, type WatchKind } from './watch-kinds';
import { WatchStateFile, type WatchStateEntry } from './watch-state-file';
import type { TrackedEvent, CheckSummary, Tracker } from './tracker';

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
  | { readonly state: 'checked'; readonly at: number; readonly summary: CheckSummary }
  | { readonly state: 'unreachable'; readonly since: number }
  | { readonly state: 'failed'; readonly code: ErrorCode };

export interface WatchOptions extends WatchKindOptions {
  readonly watch: WatchKind;
  /** Seconds between two checks, from 1 on; a tenth more or less, so that many watches do not come at once. */
  readonly every: number;
  /** File that is remembered in: what happened while nobody watched is told later. */
  readonly stateFile?: string | undefined;
  readonly clock?: Clock | undefined;
  /** Told each event, one after the other. */
  readonly onEvent: (event: WatchEvent) => void;
  /** Told what keeps the watch from working, once: not that the appliance is away, which is an event. */
  readonly onError: (error: GatewayError) => void;
  readonly onState?: ((state: WatchState) => void) | undefined;
}

const MAX_INTERVAL_SECONDS = 86_400;
/**
 * The first pause after a check that failed, or twice the usual time if that is shorter; and the longest, or twice the usual time if that
 * is longer. So one that comes back for minutes only is seen, also by who looks once an hour.
 */
const RETRY_DELAY_MS = 60_000;
/** Nobody waits for the first check longer than this. */
const MAX_FIRST_DELAY_MS = 2000;

/** Errors that say that the appliance is away, or not itself; everything else is told as what it is. */
const UNREACHABLE_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['CONNECTION', 'TIMEOUT', 'TLS', 'APPLIANCE_ERROR', 'BAD_RESPONSE']);
/** Errors that say nothing of the appliance: logins pause for a reason that was told, or a check was ended. */
const SILENT_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['LOGIN_PAUSED', 'ABORTED']);

/**
 * Watches one appliance for one kind of event. Events are told once each: what two checks see alike is told by neither. The first check
 * tells nothing, unless something is remembered. With `remember`, an event is written down before it is told and marked right after: a
 * process that is killed loses none, and tells one again, with the same id, only if it was killed in the instant between the two.
 */
export class Watcher implements Subscriber {
  readonly intervalMs: number;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #tracker: Tracker;
  readonly #stateFile: WatchStateFile | undefined;
  readonly #poller: SharedPoller;
  readonly #epoch: string;
  #checkNumber = 0;
  #isUnreachable = false;
  #unreachableSince = 0;
  #failures = 0;
  /** The code of the error that was told last; a check that succeeds forgets it. */
  #reportedCode: ErrorCode | undefined;
  #stateFileError: string | undefined;
  #isPaused = false;
  #isClosed = false;
  #currentWork: Promise<unknown> = Promise.resolve();
  #starting: Promise<void> | undefined;

  /** Errors: `BAD_CONFIG`, or `BAD_INPUT` for a filter; nothing is done before `start`. */
  constructor(gateway: WatchedGateway, options: WatchOptions) {
    const kind = getWatchKind(options.watch);
    const { every, stateFile } = options;
    if (!(every >= 1 && every <= MAX_INTERVAL_SECONDS))
      throw new GatewayError('BAD_CONFIG', `every has to be seconds, from 1 to ${MAX_INTERVAL_SECONDS}.`, { sent: false });
    this.intervalMs = every * 1000;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#tracker = kind.createTracker(options, this.#clock, gateway.name);
    const identity = JSON.stringify([options.watch, gateway.name, kind.identity?.(options) ?? null]);
    this.#stateFile = stateFile === undefined ? undefined : new WatchStateFile(stateFile, identity);
    this.#epoch = this.#stateFile?.epoch ?? Math.floor(this.#clock.now()).toString(36);
    this.#poller = getSharedPoller(gateway, options.watch, kind, kind.input?.(options) ?? {}, this.#clock);
  }

  /** Begins, once what is remembered has been read. Never rejects. */
  start(): Promise<void> {
    return (this.#starting ??= this.#startPolling());
  }

  /** A check right now, or right after the one that is under way. Ends with it, whatever it came to. */
  async check(): Promise<void> {
    await this.start();
    if (this.#isClosed) return;
    // While it pauses it takes part in this check only.
    if (this.#isPaused) this.#poller.subscribe(this, this.intervalMs);
    await this.#poller.checkNow(this);
    if (this.#isPaused) this.#unsubscribe();
  }

  /** No more checks until `resume`; what is under way for this watch alone is ended. */
  pause(): void {
    if (this.#isPaused || this.#isClosed) return;
    this.#isPaused = true;
    this.#unsubscribe();
    this.#reportState({ state: 'paused' });
  }

  /** Goes on with a check at once: what happened meanwhile is told. */
  async resume(): Promise<void> {
    await this.start();
    if (!this.#isPaused || this.#isClosed) return;
    this.#isPaused = false;
    this.#poller.subscribe(this, this.intervalMs);
    await this.#poller.checkNow(this);
  }

  /** Ends everything. An event that is under way is told and marked; what is still to be told stays in the memory, if there is one. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unsubscribe();
    await this.#starting;
    await this.#currentWork;
    this.#stateFile?.close();
  }

  /** For the feed. */
  onResult(result: CheckResult): Promise<number> {
    const work = this.#handleResult(result).catch((fault: unknown) => {
      this.#options.onError(asGatewayError(fault));
      return this.intervalMs;
    });
    this.#currentWork = work;
    return work;
  }

  async #startPolling(): Promise<void> {
    this.#reportState({ state: 'waiting' });
    this.#currentWork = this.#restoreState();
    await this.#currentWork;
    if (!this.#isClosed && !this.#isPaused)
      this.#poller.subscribe(this, Math.min(this.intervalMs / 10, MAX_FIRST_DELAY_MS) * this.#clock.random());
  }

  /** Events of a process that was killed come first. */
  async #restoreState(): Promise<void> {
    const stateFile = this.#stateFile;
    if (!stateFile) return;
    try {
      const restored = await stateFile.load();
      if (!restored) return;
      if (restored.state !== undefined && restored.state !== null) this.#tracker.restore(restored.state);
      for (const change of restored.changes) this.#tracker.apply(change);
      this.#isUnreachable = restored.isUnreachable;
      this.#unreachableSince = this.#clock.now();
      this.#checkNumber = restored.number;
      const { unsentEntry } = restored;
      await stateFile.save(this.#tracker, this.#isUnreachable, this.#checkNumber, unsentEntry);
      if (unsentEntry) await this.#sendEvents(unsentEntry);
    } catch (thrown) {
      this.#reportStateFileError(thrown);
    }
  }

  async #handleResult(result: CheckResult): Promise<number> {
    if (this.#isClosed) return this.intervalMs;
    if ('outcome' in result) {
      try {
        await this.#handleData(result.outcome.data, result.outcome.envelope);
        this.#failures = 0;
        this.#reportedCode = undefined;
        return this.#jitter(this.intervalMs);
      } catch (thrown) {
        return this.#handleFailure(thrown);
      }
    }
    return this.#handleFailure(result.error);
  }

  async #handleData(data: unknown, envelope: Envelope): Promise<void> {
    const { events, change, summary, envelope: extraEnvelope } = this.#tracker.update(data);
    const reachableEvents: TrackedEvent[] = this.#isUnreachable ? [{ event: 'reachable' }] : [];
    const wasUnreachable = this.#isUnreachable;
    this.#isUnreachable = false;
    this.#reportState({ state: 'checked', at: this.#clock.now(), summary });
    if (change !== undefined || wasUnreachable)
      await this.#recordAndSend([...reachableEvents, ...events], change, { ...envelope, ...extraEnvelope });
  }

  async #handleFailure(thrown: unknown): Promise<number> {
    const error = asGatewayError(thrown);
    const { code, message, cause } = error;
    if (code === 'ABORTED') return this.#jitter(this.intervalMs);
    this.#failures++;
    if (UNREACHABLE_CODES.has(code) && cause) {
      if (!this.#isUnreachable) {
        this.#isUnreachable = true;
        this.#unreachableSince = this.#clock.now();
        await this.#recordAndSend([{ event: 'unreachable', code, message }], undefined, cause);
      }
      this.#reportState({ state: 'unreachable', since: this.#unreachableSince });
    } else {
      if (!this.#isUnreachable || !SILENT_CODES.has(code)) this.#reportState({ state: 'failed', code });
      if (!SILENT_CODES.has(code) && this.#reportedCode !== code) {
        this.#reportedCode = code;
        this.#options.onError(error);
      }
    }
    const firstDelayMs = Math.min(RETRY_DELAY_MS, 2 * this.intervalMs);
    const maxDelayMs = Math.max(RETRY_DELAY_MS, 2 * this.intervalMs);
    return this.#jitter(Math.min(firstDelayMs * 2 ** Math.min(this.#failures - 1, 16), maxDelayMs));
  }

  /** Writes down what was found, and tells it. */
  async #recordAndSend(trackedEvents: readonly TrackedEvent[], change: unknown, envelope: Envelope): Promise<void> {
    const number = ++this.#checkNumber;
    const at = new Date(this.#clock.now()).toISOString();
    const epoch = this.#stateFile?.epoch ?? this.#epoch;
    const events = trackedEvents.map((event, index) => ({ ...event, id: `${epoch}-${number}-${index}`, at }));
    const entry: WatchStateEntry = {
      number,
      change,
      isUnreachable: this.#isUnreachable,
      events,
      envelope: events.length > 0 ? envelope : undefined,
    };
    await this.#persist(entry);
    await this.#sendEvents(entry);
  }

  /** An event at a time: it is marked as soon as whoever gets it has had its turn. */
  async #sendEvents({ events, envelope }: WatchStateEntry): Promise<void> {
    const { watch, onEvent } = this.#options;
    for (const payload of events as readonly WatchEvent['payload'][]) {
      // The next one, who has the same memory, tells the rest.
      if (this.#isClosed && this.#stateFile) return;
      onEvent({ topic: `${watch}/${payload.event}`, payload, envelope: envelope as Envelope });
      if (!this.#stateFile) continue;
      // Node-RED delivers in a turn of its own, which comes before this one.
      await new Promise((resolve) => setImmediate(resolve));
      this.#useStateFile((stateFile) => stateFile.markSent());
    }
  }

  async #persist(entry: WatchStateEntry): Promise<void> {
    const stateFile = this.#stateFile;
    if (!stateFile) return;
    try {
      if (stateFile.isSaveDue) await stateFile.save(this.#tracker, this.#isUnreachable, entry.number, entry);
      else stateFile.addEntry(entry);
      this.#stateFileError = undefined;
    } catch (thrown) {
      this.#reportStateFileError(thrown);
    }
  }

  /** A file that was given up after a fault is written anew at the next check. */
  #useStateFile(work: (stateFile: WatchStateFile) => void): void {
    if (!this.#stateFile || this.#stateFileError !== undefined) return;
    try {
      work(this.#stateFile);
    } catch (thrown) {
      this.#reportStateFileError(thrown);
    }
  }

  /** It goes on without, and says so once. */
  #reportStateFileError(thrown: unknown): void {
    const error = asGatewayError(thrown);
    if (this.#stateFileError === error.message) return;
    this.#stateFileError = error.message;
    this.#options.onError(error);
  }

  #unsubscribe(): void {
    this.#poller.unsubscribe(this);
  }

  #jitter(ms: number): number {
    return ms * (0.9 + 0.2 * this.#clock.random());
  }

  #reportState(state: WatchState): void {
    if (!this.#isClosed && !(this.#isPaused && state.state !== 'paused')) this.#options.onState?.(state);
  }
}
