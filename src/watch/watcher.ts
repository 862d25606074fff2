import type { Envelope } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { systemWatchClock, type Clock } from './clock';
import type { SharedPoller, CheckResult, PollSubscriber } from './shared-poller';
import { getSharedPoller } from './shared-pollers';
import { getWatchKind, type WatchKindOptions, type WatchedGateway, type WatchKind } from './watch-kinds';
import { WatchStateFile, type WatchStateEntry } from './watch-state-file';
import type { TrackedEvent, CheckSummary, Tracker } from './tracker';
import type { ReachabilityEvent, WatchEvent } from './events';

/** The state of a watch. Times are milliseconds since 1970. */
export type WatchState =
  | { readonly state: 'waiting' | 'paused' }
  | { readonly state: 'checked'; readonly at: number; readonly summary: CheckSummary }
  | { readonly state: 'unreachable'; readonly since: number }
  | { readonly state: 'failed'; readonly code: ErrorCode };

export interface WatchOptions extends WatchKindOptions {
  readonly watch: WatchKind;
  /** Seconds between two checks, 1 to 86400. Each interval varies by a tenth, so that many watches do not check at once. */
  readonly every: number;
  /** Path of the file that saves the state. Changes while the watch is stopped are then reported at its next start. */
  readonly stateFile?: string | undefined;
  readonly clock?: Clock | undefined;
  /** Called for each event, in order. */
  readonly onEvent: (event: WatchEvent) => void;
  /** Called once for each new error. An unreachable appliance is an event instead. */
  readonly onError: (error: GatewayError) => void;
  readonly onState?: ((state: WatchState) => void) | undefined;
}

const MAX_INTERVAL_SECONDS = 86_400;
/**
 * Pauses after failed checks grow from the shorter to the longer of this and twice the interval. So an hourly watch notices an appliance
 * that is back for only a few minutes.
 */
const RETRY_DELAY_MS = 60_000;
/** The longest wait before the first check. */
const MAX_FIRST_DELAY_MS = 2000;

/** Errors that count as an unreachable appliance. All others are reported as errors. */
const UNREACHABLE_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['CONNECTION', 'TIMEOUT', 'TLS', 'APPLIANCE_ERROR', 'BAD_RESPONSE']);
/** Errors that are not reported: a login pause whose reason was reported, or an ended check. */
const SILENT_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['LOGIN_PAUSED', 'ABORTED']);

/**
 * Watches one appliance for one kind of event and reports each change once. The first check sets the baseline, unless a state was saved.
 * With `stateFile`, an event is written before it is sent and marked directly after. So a killed process loses no event. It repeats one,
 * with the same id, only if it was killed between sending and marking.
 */
export class Watcher implements PollSubscriber {
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
  /** The code of the last reported error. A successful check clears it. */
  #reportedCode: ErrorCode | undefined;
  #stateFileError: string | undefined;
  #isPaused = false;
  #isClosed = false;
  #currentWork: Promise<unknown> = Promise.resolve();
  #starting: Promise<void> | undefined;

  /** Creates a watch, which sends nothing before `start`. Errors: `BAD_CONFIG`, or `BAD_INPUT` for a filter. */
  constructor(gateway: WatchedGateway, options: WatchOptions) {
    const kind = getWatchKind(options.watch);
    const { every, stateFile } = options;
    if (!(every >= 1 && every <= MAX_INTERVAL_SECONDS))
      throw new GatewayError('BAD_CONFIG', `every must be from 1 to ${MAX_INTERVAL_SECONDS} seconds.`, { sent: false });
    this.intervalMs = every * 1000;
    this.#options = options;
    this.#clock = options.clock ?? systemWatchClock;
    this.#tracker = kind.createTracker(options, this.#clock, gateway.name, () => gateway.clockOffsetSeconds);
    const identity = JSON.stringify([options.watch, gateway.name, kind.identity?.(options) ?? null]);
    this.#stateFile = stateFile === undefined ? undefined : new WatchStateFile(stateFile, identity, gateway.signer);
    this.#epoch = this.#stateFile?.epoch ?? Math.floor(this.#clock.now()).toString(36);
    this.#poller = getSharedPoller(gateway, options.watch, kind, kind.input?.(options) ?? {}, this.#clock);
  }

  /** Reads the saved state and starts the checks. Never rejects. */
  start(): Promise<void> {
    return (this.#starting ??= this.#startPolling());
  }

  /** Checks now, or after the running check. Resolves when the check has ended, also after an error. */
  async check(): Promise<void> {
    await this.start();
    if (this.#isClosed) return;
    // A paused watch takes part in this check only.
    if (this.#isPaused) this.#poller.subscribe(this, this.intervalMs);
    await this.#poller.checkNow(this);
    if (this.#isPaused) this.#unsubscribe();
  }

  /** Stops the checks until `resume`. A running check that no other watch shares is ended. */
  pause(): void {
    if (this.#isPaused || this.#isClosed) return;
    this.#isPaused = true;
    this.#unsubscribe();
    this.#reportState({ state: 'paused' });
  }

  /** Resumes with a check, which reports what happened meanwhile. */
  async resume(): Promise<void> {
    await this.start();
    if (!this.#isPaused || this.#isClosed) return;
    this.#isPaused = false;
    this.#poller.subscribe(this, this.intervalMs);
    await this.#poller.checkNow(this);
  }

  /** Ends the watch. An event that is being sent is marked first. Further events stay in the state file, if there is one. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unsubscribe();
    await this.#starting;
    await this.#currentWork;
    this.#stateFile?.close();
  }

  /** Called by the poller. */
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

  /** Restores the saved state and sends the unsent events of a killed process first. */
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
    const reachableEvents: ReachabilityEvent[] = this.#isUnreachable ? [{ event: 'reachable' }] : [];
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

  /** Saves the events and sends them. */
  async #recordAndSend(trackedEvents: readonly (TrackedEvent | ReachabilityEvent)[], change: unknown, envelope: Envelope): Promise<void> {
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

  /** Sends the events one by one and marks each after its delivery. */
  async #sendEvents({ events, envelope }: WatchStateEntry): Promise<void> {
    const { watch, onEvent } = this.#options;
    for (const payload of events as readonly WatchEvent['payload'][]) {
      // The next watch with this state file sends the rest.
      if (this.#isClosed && this.#stateFile) return;
      onEvent({ topic: `${watch}/${payload.event}`, payload, envelope } as WatchEvent);
      if (!this.#stateFile) continue;
      // Node-RED delivers in an earlier turn of the event loop than this one.
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

  /** Uses the state file, except after a file error. The next check then rewrites the file. */
  #useStateFile(work: (stateFile: WatchStateFile) => void): void {
    if (!this.#stateFile || this.#stateFileError !== undefined) return;
    try {
      work(this.#stateFile);
    } catch (thrown) {
      this.#reportStateFileError(thrown);
    }
  }

  /** Reports a file error once. The watch continues without the file. */
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
