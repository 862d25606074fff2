import type { Node, NodeAPI, NodeStatus } from 'node-red';
import type { Progress } from '../../src/model/operation';
import type { RunOnManyProgress } from '../../src/inventory';
import { ENGLISH_STATUS_TEXTS, formatCount, formatSize, type NodeStatusKey, type StatusText } from './status-text';
import { translateCount, type TextValues } from '../common/i18n';

/** The editor redraws for every change: a busy node shows at most so many. */
const MIN_REDRAW_INTERVAL_MS = 250;
/** A message that comes later than this after the last one has ended has nothing to do with it. */
const BATCH_GAP_MS = 1000;
/** How often the rest of a pause is told. */
const COUNTDOWN_INTERVAL_MS = 1000;
const SLOW_COUNTDOWN_INTERVAL_MS = 10_000;

/** A run on many appliances tells how many are done; `ends`: items are sessions that end. */
export type StatusProgress = (Progress | ({ readonly state: 'appliances' } & RunOnManyProgress)) & { readonly isEndingSessions?: boolean };

/** Messages that overlap in time, or follow each other at once. */
interface MessageBatch {
  total: number;
  failed: number;
  /** What they failed by. */
  readonly failureKeys: Set<NodeStatusKey>;
}

/** The line below the node: how many run, else what the last one came to. Built from counts and fixed words only, never from data. */
export class StatusReporter {
  readonly #red: NodeAPI;
  readonly #node: Node;
  #running = 0;
  /** How far those of the messages under way are that have told: transfers. */
  readonly #progressByRun = new Map<object, StatusProgress>();
  /** Those that wait for somebody to approve them. */
  readonly #awaitingApproval = new Set<object>();
  #lastStatus: StatusText | undefined;
  #unreachable: StatusText | undefined;
  #batch: MessageBatch = { total: 0, failed: 0, failureKeys: new Set() };
  #idleSince = -Infinity;
  #drawnAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  /** Of what counts down by itself. */
  #countdown: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(red: NodeAPI, node: Node) {
    this.#red = red;
    this.#node = node;
  }

  /** What is reported now is not to be seen. */
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

  /** How far a message is, before it has settled. */
  updateProgress(run: object, progress: StatusProgress): void {
    this.#progressByRun.set(run, progress);
    this.#scheduleDraw();
  }

  markAwaitingApproval(run: object): void {
    this.#awaitingApproval.add(run);
    this.#scheduleDraw();
  }

  /** It goes on, or is about to settle. */
  clearAwaitingApproval(run: object): void {
    if (this.#awaitingApproval.delete(run)) this.#scheduleDraw();
  }

  /** One message less; once for every `begin`. */
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

  /** Of several messages that some of failed says so; else what the last one came to, or what all of them failed by. */
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

  /** How the appliance is, for as long as nothing of the node's own is shown that is worse; undefined: well. */
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
    this.#node.status(this.#running > 0 ? this.#busyStatus() : this.#idleStatus());
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
    // What it failed by itself says more.
    const status = this.#lastStatus?.shape === 'ring' ? this.#lastStatus : (this.#unreachable ?? this.#lastStatus);
    if (status === undefined) return {};
    const { key, values, endsAt, ...style } = status;
    if (endsAt === undefined) return { ...style, text: this.#text(key, values) };
    const secondsLeft = Math.ceil((endsAt - performance.now()) / 1000);
    if (secondsLeft <= 0) return { ...style, text: this.#text('pause-over') };
    this.#countdown = setTimeout(() => this.#draw(), secondsLeft > 60 ? SLOW_COUNTDOWN_INTERVAL_MS : COUNTDOWN_INTERVAL_MS).unref();
    return { ...style, text: this.#text(key, { s: secondsLeft }) };
  }

  #text(key: NodeStatusKey, values: TextValues = {}): string {
    return translateCount(this.#red, 'status', ENGLISH_STATUS_TEXTS, key, values);
  }
}
