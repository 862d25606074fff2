import type { Node, NodeAPI, NodeStatus } from 'node-red';
import type { Outcome } from '../src/gateway';
import type { Advance } from '../src/model/operation';
import type { ErrorCode } from '../src/model/error-codes';
import { isObject } from '../src/model/json';
import type { ManyOutcome, ManyProgress } from '../src/inventory';
import { textOf, type Values } from './texts';

/** The editor redraws for every change: a busy node shows at most so many. */
const INTERVAL_MS = 250;
/** A message that comes later than this after the last one has ended has nothing to do with it. */
const PAUSE_MS = 1000;

/** As the English catalogue has them, for a language that has none; every text stays below 20 characters. */
export const ENGLISH = {
  working: 'working',
  running: '__n__ running',
  waiting: 'waiting',
  'some-waiting': '__w__ of __n__ waiting',
  moved: '__size__',
  'moved-of': '__size__, __percent__ %',
  ok: 'ok',
  items: '__n__ items',
  sessions: '__n__ sessions',
  ended: 'ended __n__',
  sent: 'sent __n__',
  planned: 'planned __n__',
  partly: '__failed__ of __n__ failed',
  'not-configured': 'not configured',
  'bad-input': 'bad input',
  'wrong-login': 'wrong login',
  'login-paused': 'login paused',
  'needs-code': 'code needed',
  forbidden: 'forbidden',
  'invalid-request': 'invalid request',
  'not-found': 'not found',
  rejected: 'rejected',
  'appliance-error': 'appliance error',
  'bad-answer': 'bad answer',
  timeout: 'no answer in time',
  'no-connection': 'no connection',
  certificate: 'TLS problem',
  unknown: 'outcome unknown',
  cancelled: 'cancelled',
  limit: 'limit reached',
  conflict: 'conflict',
  'to-approve': '__n__ to approve',
  declined: 'declined',
  expired: 'expired',
  'locked-out': 'locked out',
  contained: '__n__ contained',
  appliances: '__n__ appliances',
  'appliances-done': '__done__ of __n__',
  'appliances-failed': '__done__ of __n__, __failed__ failed',
  stopped: 'stopped, __failed__ failed',
  nowhere: 'none selected',
} as const;

type Key = keyof typeof ENGLISH;

const WORDS: Readonly<Record<ErrorCode, Key>> = {
  BAD_INPUT: 'bad-input',
  BAD_CONFIG: 'not-configured',
  LOGIN_REJECTED: 'wrong-login',
  LOGIN_PAUSED: 'login-paused',
  SECOND_FACTOR_REQUIRED: 'needs-code',
  UNAUTHORIZED: 'wrong-login',
  FORBIDDEN: 'forbidden',
  INVALID_REQUEST: 'invalid-request',
  NOT_FOUND: 'not-found',
  REJECTED: 'rejected',
  APPLIANCE_ERROR: 'appliance-error',
  BAD_RESPONSE: 'bad-answer',
  TIMEOUT: 'timeout',
  CONNECTION: 'no-connection',
  TLS: 'certificate',
  OUTCOME_UNKNOWN: 'unknown',
  ABORTED: 'cancelled',
  LIMIT: 'limit',
  CONFLICT: 'conflict',
  DECLINED: 'declined',
  EXPIRED: 'expired',
  LOCKED_OUT: 'locked-out',
};

/** What the last message came to, as it will be shown. It holds counts, never the data: a list of sessions may be large. */
export interface Last extends Pick<NodeStatus, 'fill' | 'shape'> {
  readonly key: Key;
  readonly values?: Values;
}

const green = { fill: 'green', shape: 'dot' } as const;
const OK: Last = { ...green, key: 'ok' };

/** How a message that succeeded is shown; `sent` is the number of parts that went out for it. */
export function shownOutcome({ data, many, envelope }: Outcome, sent: number): Last {
  if (envelope.plan) return { fill: 'grey', shape: 'dot', key: 'planned', values: { n: envelope.plan.length } };
  if (sent > 0) return { ...green, key: 'sent', values: { n: sent } };
  // A document that was read: looking for what it does not have is slow.
  if (envelope.changed === null && envelope.request?.method === 'GET' && !Array.isArray(data)) return OK;
  if (isObject(data) && data.state === 'pending') return { fill: 'yellow', shape: 'ring', key: 'needs-code' };
  if (Array.isArray(data))
    return { ...green, key: envelope.operation === 'sessions.list' ? 'sessions' : 'items', values: { n: data.length } };
  if (!many) return OK;
  if (many.failed === 0)
    return { ...green, key: envelope.operation.startsWith('sessions.') ? 'ended' : 'items', values: { n: many.total } };
  return { fill: 'yellow', shape: 'dot', key: 'partly', values: { failed: many.failed, n: many.total } };
}

/** What became of a run on many appliances. */
export function shownMany({ data, envelope }: ManyOutcome): Last {
  const { total, failed, skipped } = data;
  if (total === 0) return { fill: 'yellow', shape: 'dot', key: 'nowhere' };
  if (skipped > 0) return { fill: 'red', shape: 'ring', key: 'stopped', values: { failed: short(failed) } };
  if (failed > 0) return { fill: 'yellow', shape: 'dot', key: 'partly', values: { failed: short(failed), n: short(total) } };
  if (envelope.plan) return { fill: 'grey', shape: 'dot', key: 'planned', values: { n: envelope.plan.length } };
  return { ...green, key: 'appliances', values: { n: total } };
}

/** How many a node keeps out. */
export function shownContained(n: number): Last {
  return { fill: n > 0 ? 'yellow' : 'green', shape: 'dot', key: 'contained', values: { n } };
}

export function shownFailure(code: ErrorCode): Last {
  return { fill: code === 'ABORTED' ? 'grey' : 'red', shape: 'ring', key: WORDS[code] };
}

/** A run on many appliances tells how many are done. */
export type Progress = Advance | ({ readonly state: 'appliances' } & ManyProgress);

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
  #batch: Batch = { total: 0, failed: 0, kinds: new Set() };
  #idleSince = -Infinity;
  #shown = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(red: NodeAPI, node: Node) {
    this.#red = red;
    this.#node = node;
  }

  begin(): void {
    if (this.#running === 0 && performance.now() - this.#idleSince > PAUSE_MS) this.#batch = { total: 0, failed: 0, kinds: new Set() };
    this.#running++;
    this.#batch.total++;
    this.#show();
  }

  /** How far a transfer, or a run on many appliances is, before it has settled. */
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
    if (last.key === 'partly' || last.shape === 'ring') {
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

  close(): void {
    this.#closed = true;
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
    this.#timer = undefined;
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
    const size = sizeOf(first.bytes);
    if (!first.total) return this.#text('moved', { size });
    return this.#text('moved-of', { size, percent: Math.min(100, Math.floor((first.bytes / first.total) * 100)) });
  }

  #ended(): NodeStatus {
    if (this.#last === undefined) return {};
    const { key, values, ...look } = this.#last;
    return { ...look, text: this.#text(key, values) };
  }

  #text(key: Key, values: Values = {}): string {
    return textOf(this.#red, `status.${key}`, ENGLISH[key], values);
  }
}

/** `340 kB`, `12 MB`, `1.2 GB`, in thousands as networks count. */
function sizeOf(bytes: number): string {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${Math.floor(bytes / 1e6)} MB` : `${(Math.floor(bytes / 1e8) / 10).toFixed(1)} GB`;
}

/** A count of five digits and more in thousands: two of them have to fit. */
function short(count: number): string {
  return count < 10_000 ? String(count) : `${Math.floor(count / 1000)}k`;
}
