import type { Node, NodeAPI, NodeStatus } from 'node-red';
import type { Progress } from '../../src/model/operation';
import type { RunOnManyProgress } from '../../src/inventory';
import { formatCount, formatSize, type NodeStatusKey, type StatusText } from './status-text';
import { translateCount, translateText, type TextPlaceholderValues } from '../common/i18n';
import { RUNTIME_TEXTS } from '../common/runtime-texts';

/** The shortest time between two status updates, because the editor redraws for each. */
const MIN_REDRAW_INTERVAL_MS = 250;
/** Pause after which a new message belongs to a new batch. */
const BATCH_GAP_MS = 1000;
/** Interval between updates of the remaining seconds of a pause. */
const COUNTDOWN_INTERVAL_MS = 1000;
const SLOW_COUNTDOWN_INTERVAL_MS = 10_000;

/** Progress of a run. `isEndingSessions`: its items are sessions that end. */
export type StatusProgress = (Progress | ({ readonly state: 'appliances' } & RunOnManyProgress)) & { readonly isEndingSessions?: boolean };

/** Messages that overlap in time or follow each other closely. */
interface MessageBatch {
  total: number;
  failed: number;
  /** The status keys of the failures. */
  readonly failureKeys: Set<NodeStatusKey>;
}

/** The status of a node: the number of running messages, else the last outcome. It contains counts and fixed texts, never data. */
export class StatusReporter {
  readonly #red: NodeAPI;
  readonly #node: Node;
  #running = 0;
  /** Progress of the runs that have reported one. */
  readonly #progressByRun = new Map<object, StatusProgress>();
  /** Runs that wait for an approval. */
  readonly #awaitingApproval = new Set<object>();
  #lastStatus: StatusText | undefined;
  #unreachable: StatusText | undefined;
  #isRehearsal = false;
  #batch: MessageBatch = { total: 0, failed: 0, failureKeys: new Set() };
  #idleSince = -Infinity;
  #drawnAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  /** Redraws a pause every second. */
  #countdown: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(red: NodeAPI, node: Node) {
    this.#red = red;
    this.#node = node;
  }

  /** Whether running messages hide the last reported status. */
  get isBusy(): boolean {
    return this.#running > 0;
  }

  startRun(): void {
    if (this.#running === 0 && performance.now() - this.#idleSince > BATCH_GAP_MS)
      this.#batch = { total: 0, failed: 0, failureKeys: new Set() };
    this.#running++;
    this.#batch.total++;
    this.#scheduleDraw();
  }

  /** Records the progress of a run unless it has ended. */
  updateProgress(run: object, progress: StatusProgress): void {
    this.#progressByRun.set(run, progress);
    this.#scheduleDraw();
  }

  markAwaitingApproval(run: object): void {
    this.#awaitingApproval.add(run);
    this.#scheduleDraw();
  }

  /** Called when a run continues after an approval or is about to end. */
  clearAwaitingApproval(run: object): void {
    if (this.#awaitingApproval.delete(run)) this.#scheduleDraw();
  }

  /** Ends a run. Call it once for each `startRun`. */
  finishRun(run: object, status: StatusText): void {
    this.#running--;
    this.#awaitingApproval.delete(run);
    if (this.#progressByRun.size > 0) this.#progressByRun.delete(run);
    if (status.key === 'partly' || status.key === 'ended-of' || status.shape === 'ring') {
      this.#batch.failed++;
      this.#batch.failureKeys.add(status.key);
    }
    if (this.#running === 0) this.#idleSince = performance.now();
    this.report(this.#batchStatus(status));
  }

  /** Returns the number of failures if some messages of the batch failed, else the status of the last message. */
  #batchStatus(status: StatusText): StatusText {
    const { total, failed, failureKeys } = this.#batch;
    if (total === 1 || failed === 0 || (failed === total && failureKeys.size === 1)) return status;
    const style = failed === total ? ({ fill: 'red', shape: 'ring' } as const) : ({ fill: 'yellow', shape: 'dot' } as const);
    return { ...style, key: 'partly', values: { failed: formatCount(failed), n: formatCount(total) } };
  }

  report(status: StatusText): void {
    this.#lastStatus = status;
    this.#scheduleDraw();
  }

  /** Shows whether messages go to a copy of the appliance. */
  setRehearsal(isRehearsal: boolean): void {
    if (this.#isRehearsal === isRehearsal) return;
    this.#isRehearsal = isRehearsal;
    this.#scheduleDraw();
  }

  /** Shows that the appliance is unreachable, unless the node has its own failure. Undefined clears it. */
  showUnreachable(status: StatusText | undefined): void {
    if (this.#unreachable === status) return;
    this.#unreachable = status;
    this.#scheduleDraw();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#countdown);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #scheduleDraw(): void {
    if (this.#timer !== undefined || this.#closed) return;
    const wait = this.#drawnAt + MIN_REDRAW_INTERVAL_MS - performance.now();
    if (wait <= 0) this.#draw();
    else this.#timer = setTimeout(() => this.#draw(), wait).unref();
  }

  #draw(): void {
    clearTimeout(this.#countdown);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#closed) return;
    this.#drawnAt = performance.now();
    const status = this.#running > 0 ? this.#busyStatus() : this.#idleStatus();
    this.#node.status(this.#isRehearsal ? toRehearsalStatus(this.#red, status) : status);
  }

  #busyStatus(): NodeStatus {
    const waitingCount = this.#awaitingApproval.size;
    if (waitingCount === this.#running)
      return { fill: 'yellow', shape: 'ring', text: this.#text('to-approve', { n: formatCount(waitingCount) }) };
    return { fill: 'blue', shape: 'dot', text: this.#progressText() };
  }

  #progressText(): string {
    const allProgress = [...this.#progressByRun.values()];
    const [first] = allProgress;
    const waiting = allProgress.filter((progress) => progress.state === 'waiting').length;
    if (this.#running > 1) {
      return waiting > 0 ? this.#text('some-waiting', { w: waiting, n: this.#running }) : this.#text('running', { n: this.#running });
    }
    if (!first || (first.state === 'transferring' && first.bytes === 0)) return this.#text('working');
    if (first.state === 'waiting') return this.#text('waiting');
    if (first.state === 'appliances') {
      const { done, total, failed } = first;
      const values = { done: formatCount(done), n: formatCount(total), failed: formatCount(failed) };
      return this.#text(failed > 0 ? 'appliances-failed' : 'appliances-done', values);
    }
    if (first.state === 'items')
      return this.#text(first.isEndingSessions ? 'ended-of' : 'done-of', { done: formatCount(first.done), n: formatCount(first.total) });
    const size = formatSize(first.bytes);
    if (!first.total) return this.#text('moved', { size });
    return this.#text('moved-of', { size, percent: Math.min(100, Math.floor((first.bytes / first.total) * 100)) });
  }

  #idleStatus(): NodeStatus {
    // The node's own failure is more specific.
    const status = this.#lastStatus?.shape === 'ring' ? this.#lastStatus : (this.#unreachable ?? this.#lastStatus);
    if (status === undefined) return {};
    const { key, values, endsAt, ...style } = status;
    if (endsAt === undefined) return { ...style, text: this.#text(key, values) };
    const secondsLeft = Math.ceil((endsAt - performance.now()) / 1000);
    if (secondsLeft <= 0) return { ...style, text: this.#text('pause-over') };
    this.#countdown = setTimeout(() => this.#draw(), secondsLeft > 60 ? SLOW_COUNTDOWN_INTERVAL_MS : COUNTDOWN_INTERVAL_MS).unref();
    return { ...style, text: this.#text(key, { s: secondsLeft }) };
  }

  #text(key: NodeStatusKey, values: TextPlaceholderValues = {}): string {
    return translateCount(this.#red, 'status', RUNTIME_TEXTS.status, key, values);
  }
}

/** Adds the mark of a rehearsal to a node status. */
export function toRehearsalStatus(red: NodeAPI, { text, ...style }: Exclude<NodeStatus, string>): NodeStatus {
  const rehearsal = translateText(red, 'status.rehearsal', RUNTIME_TEXTS.status.rehearsal);
  if (text === undefined || text === '') return { fill: 'blue', shape: 'ring', text: rehearsal };
  return { ...style, text: `${rehearsal}: ${text}` };
}
