import type { Node, NodeAPI, NodeStatus } from 'node-red';
import type { Advance } from '../src/model/operation';
import type { ManyProgress } from '../src/inventory';
import { ENGLISH, short, sizeOf, type Key, type Last } from './shown';
import { countedText, type Values } from './texts';

/** The editor redraws for every change: a busy node shows at most so many. */
const INTERVAL_MS = 250;
/** A message that comes later than this after the last one has ended has nothing to do with it. */
const PAUSE_MS = 1000;
/** How often the rest of a pause is told. */
const SECOND_MS = 1000;
const TENTH_MS = 10_000;

/** A run on many appliances tells how many are done; `ends`: items are sessions that end. */
export type Progress = (Advance | ({ readonly state: 'appliances' } & ManyProgress)) & { readonly ends?: boolean };

/** Messages that overlap in time, or follow each other at once. */
interface Batch {
  total: number;
  failed: number;
  /** What they failed by. */
  readonly kinds: Set<Key>;
}

/** The line below the node: how many run, else what the last one came to. Built from counts and fixed words only, never from data. */
export class Status {
  readonly #red: NodeAPI;
  readonly #node: Node;
  #running = 0;
  /** How far those of the messages under way are that have told: transfers. */
  readonly #advances = new Map<object, Progress>();
  /** Those that wait for somebody to approve them. */
  readonly #held = new Set<object>();
  #last: Last | undefined;
  #away: Last | undefined;
  #batch: Batch = { total: 0, failed: 0, kinds: new Set() };
  #idleSince = -Infinity;
  #shown = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  /** Of what counts down by itself. */
  #tick: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(red: NodeAPI, node: Node) {
    this.#red = red;
    this.#node = node;
  }

  /** What is reported now is not to be seen. */
  get isBusy(): boolean {
    return this.#running > 0;
  }

  begin(): void {
    if (this.#running === 0 && performance.now() - this.#idleSince > PAUSE_MS) this.#batch = { total: 0, failed: 0, kinds: new Set() };
    this.#running++;
    this.#batch.total++;
    this.#show();
  }

  /** How far a message is, before it has settled. */
  advance(run: object, advance: Progress): void {
    this.#advances.set(run, advance);
    this.#show();
  }

  hold(run: object): void {
    this.#held.add(run);
    this.#show();
  }

  /** It goes on, or is about to settle. */
  release(run: object): void {
    if (this.#held.delete(run)) this.#show();
  }

  /** One message less; once for every `begin`. */
  settle(run: object, last: Last): void {
    this.#running--;
    this.#held.delete(run);
    if (this.#advances.size > 0) this.#advances.delete(run);
    if (last.key === 'partly' || last.key === 'ended-of' || last.shape === 'ring') {
      this.#batch.failed++;
      this.#batch.kinds.add(last.key);
    }
    if (this.#running === 0) this.#idleSince = performance.now();
    this.report(this.#ofAll(last));
  }

  /** Of several messages that some of failed says so; else what the last one came to, or what all of them failed by. */
  #ofAll(last: Last): Last {
    const { total, failed, kinds } = this.#batch;
    if (total === 1 || failed === 0 || (failed === total && kinds.size === 1)) return last;
    const look = failed === total ? ({ fill: 'red', shape: 'ring' } as const) : ({ fill: 'yellow', shape: 'dot' } as const);
    return { ...look, key: 'partly', values: { failed: short(failed), n: short(total) } };
  }

  report(last: Last): void {
    this.#last = last;
    this.#show();
  }

  /** How the appliance is, for as long as nothing of the node's own is shown that is worse; undefined: well. */
  away(last: Last | undefined): void {
    if (this.#away === last) return;
    this.#away = last;
    this.#show();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#tick);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #show(): void {
    if (this.#timer !== undefined || this.#closed) return;
    const wait = this.#shown + INTERVAL_MS - performance.now();
    if (wait <= 0) this.#draw();
    else this.#timer = setTimeout(() => this.#draw(), wait).unref();
  }

  #draw(): void {
    clearTimeout(this.#tick);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#closed) return;
    this.#shown = performance.now();
    this.#node.status(this.#running > 0 ? this.#busy() : this.#ended());
  }

  #busy(): NodeStatus {
    const held = this.#held.size;
    if (held === this.#running) return { fill: 'yellow', shape: 'ring', text: this.#text('to-approve', { n: short(held) }) };
    return { fill: 'blue', shape: 'dot', text: this.#progress() };
  }

  #progress(): string {
    const advances = [...this.#advances.values()];
    const [first] = advances;
    const waiting = advances.filter((advance) => advance.state === 'waiting').length;
    if (this.#running > 1) {
      return waiting > 0 ? this.#text('some-waiting', { w: waiting, n: this.#running }) : this.#text('running', { n: this.#running });
    }
    if (!first || (first.state === 'moving' && first.bytes === 0)) return this.#text('working');
    if (first.state === 'waiting') return this.#text('waiting');
    if (first.state === 'appliances') {
      const { done, total, failed } = first;
      const values = { done: short(done), n: short(total), failed: short(failed) };
      return this.#text(failed > 0 ? 'appliances-failed' : 'appliances-done', values);
    }
    if (first.state === 'items') return this.#text(first.ends ? 'ended-of' : 'done-of', { done: short(first.done), n: short(first.total) });
    const size = sizeOf(first.bytes);
    if (!first.total) return this.#text('moved', { size });
    return this.#text('moved-of', { size, percent: Math.min(100, Math.floor((first.bytes / first.total) * 100)) });
  }

  #ended(): NodeStatus {
    // What it failed by itself says more.
    const last = this.#last?.shape === 'ring' ? this.#last : (this.#away ?? this.#last);
    if (last === undefined) return {};
    const { key, values, until, ...look } = last;
    if (until === undefined) return { ...look, text: this.#text(key, values) };
    const left = Math.ceil((until - performance.now()) / 1000);
    if (left <= 0) return { ...look, text: this.#text('pause-over') };
    this.#tick = setTimeout(() => this.#draw(), left > 60 ? TENTH_MS : SECOND_MS).unref();
    return { ...look, text: this.#text(key, { s: left }) };
  }

  #text(key: Key, values: Values = {}): string {
    return countedText(this.#red, 'status', ENGLISH, key, values);
  }
}
