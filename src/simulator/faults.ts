import type { ServerResponse } from 'node:http';
import { type Reply, resultReply } from './reply';
import type { Variants } from './variants';

/** Faults on demand: what a test or a demonstration makes the appliance do wrong. */
export interface FaultRule {
  /** Which requests, `path` raw as sent; absent = every one. */
  match?: (request: { method: string; path: string }) => boolean;
  /** How many requests meet the fault, default 1. */
  times?: number;
  /** How many matching requests pass before, default 0. */
  skip?: number;
  status?: number;
  /** Sent instead of the answer, or made from it. Text that starts with `<` goes out as text/html unless `headers` say otherwise. */
  body?: string | Buffer | ((answer: string) => string | Buffer);
  /** Added to the answer, e.g. `location`. */
  headers?: Record<string, string>;
  /** Wait before answering (after the effect, if there is one). */
  delayMs?: number;
  /** Wait for this before answering, like `delayMs`, but for as long as it takes. */
  until?: Promise<unknown>;
  /** The connection is cut: before any byte, after the headers, in the middle of the body, or after so many bytes of it. The content-length is that of the whole body. */
  cut?: 'before-headers' | 'headers' | 'half' | number;
  /** The body ends early, with a content-length that fits: half of it, or so many bytes. */
  truncate?: 'half' | number;
  /** The byte of the body at this position is another one. */
  corrupt?: number;
  /** Fields taken out of a JSON answer; a dotted path reaches inwards (`active-users.active-user-records`). */
  stripField?: string | readonly string[];
  /** What a second writer does between this request, once it is carried out, and the next one. */
  sideEffect?: () => void;
  /** Never answer; the connection stays open. */
  hang?: boolean;
  /**
   * Whether the request is carried out before it fails. Default: reads are, and so is everything when the fault only
   * shapes the answer (delay, until, headers, truncate, stripField, body as a function); other writes are not.
   */
  afterEffect?: boolean;
}

interface QueuedFault {
  rule: FaultRule;
  skip: number;
  remaining: number;
}

export class FaultQueue {
  private queue: QueuedFault[] = [];

  add(rule: FaultRule): void {
    this.queue.push({ rule, skip: rule.skip ?? 0, remaining: rule.times ?? 1 });
  }

  clear(): void {
    this.queue = [];
  }

  /** The first rule that meets this request; using it counts. */
  takeMatching(method: string, path: string): FaultRule | undefined {
    if (this.queue.length === 0) return undefined;
    for (const queued of this.queue) {
      if (queued.rule.match && !queued.rule.match({ method, path })) continue;
      if (queued.skip > 0) {
        queued.skip--;
        continue;
      }
      if (--queued.remaining <= 0) this.queue = this.queue.filter((other) => other !== queued);
      return queued.rule;
    }
    return undefined;
  }
}

/** Whether the request is carried out all the same; an export is a read, though it is asked for by POST. */
export function isCarriedOut(rule: FaultRule, method: string, path: string): boolean {
  if (rule.afterEffect !== undefined) return rule.afterEffect;
  const replaces = rule.status !== undefined || rule.hang === true || (rule.body !== undefined && typeof rule.body !== 'function');
  return (
    !replaces &&
    (method === 'GET' || rule.cut === undefined || (method === 'POST' && /\/(?:export-xml|binary-configuration)(?:\?|$)/.test(path)))
  );
}

function removeFields(body: string, paths: string | readonly string[]): string {
  const value: unknown = JSON.parse(body);
  for (const path of typeof paths === 'string' ? [paths] : paths) {
    const names = path.split('.');
    let holder: unknown = value;
    for (const name of names.slice(0, -1))
      holder = typeof holder === 'object' && holder !== null ? (holder as Record<string, unknown>)[name] : undefined;
    if (typeof holder === 'object' && holder !== null) delete (holder as Record<string, unknown>)[names.at(-1) ?? ''];
  }
  return JSON.stringify(value);
}

/** The answer as the fault shapes it. `answer` is undefined when the request was not carried out. */
export function applyFault(rule: FaultRule, answer: Reply | undefined, variants: Variants): Reply {
  const status = rule.status ?? answer?.status ?? 200;
  const list = status >= 400 ? 'errors' : 'info';
  const base = answer ?? resultReply({ [list]: ['Fault of the simulator'] }, variants, status);
  let body: string | Buffer = base.body ?? '';
  let type = base.type;
  if (rule.status !== undefined && answer && rule.body === undefined) {
    body = resultReply({ [list]: ['Fault of the simulator'] }, variants, status).body ?? '';
    type = 'application/json';
  }
  if (rule.stripField !== undefined) body = removeFields(String(body), rule.stripField);
  if (typeof rule.body === 'function') body = rule.body(String(body));
  else if (rule.body !== undefined) {
    body = rule.body;
    type = String(body.slice(0, 1)) === '<' ? 'text/html' : 'application/json';
  }
  if (rule.truncate !== undefined) {
    const bytes = Buffer.from(body);
    body = bytes.subarray(0, rule.truncate === 'half' ? bytes.length >> 1 : rule.truncate);
  }
  if (rule.corrupt !== undefined) {
    body = Buffer.from(body);
    if (rule.corrupt < body.length) body[rule.corrupt] = 0x01;
  }
  const stream = rule.body === undefined && rule.status === undefined ? answer?.stream : undefined;
  return {
    status,
    body,
    ...(type === undefined ? {} : { type }),
    ...(answer?.headers && { headers: answer.headers }),
    ...(stream && { stream }),
  };
}

/** Sends the beginning of an answer and cuts the connection, all of it flushed first so that the client surely sees that part. */
export function sendAndCut(
  cut: NonNullable<FaultRule['cut']>,
  reply: Reply,
  response: ServerResponse,
  headers: Record<string, string | number>,
): void {
  const { socket } = response;
  if (!socket || cut === 'before-headers') {
    socket?.destroy();
    return;
  }
  const body = Buffer.from(reply.body ?? '');
  const bytes = cut === 'headers' ? 0 : cut === 'half' ? body.length >> 1 : cut;
  response.writeHead(reply.status, headers);
  response.flushHeaders();
  if (bytes === 0) setImmediate(() => socket.end(() => socket.destroy()));
  else response.write(body.subarray(0, bytes), () => socket.end(() => socket.destroy()));
}
