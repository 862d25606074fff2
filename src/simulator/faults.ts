import type { ServerResponse } from 'node:http';
import { type Reply, resultReply } from './reply';
import type { Variants } from './variants';

/** Faults that a test or a demonstration requests from the appliance. */
export interface FaultRule {
  /** The affected requests, with `path` as it is sent. Every request if absent. */
  match?: (request: { method: string; path: string }) => boolean;
  /** Number of affected requests, 1 by default. */
  times?: number;
  /** Number of matching requests that pass before, 0 by default. */
  skip?: number;
  status?: number;
  /** Replaces the answer, or is computed from it. Text that starts with `<` is sent as text/html unless `headers` set another type. */
  body?: string | Buffer | ((answer: string) => string | Buffer);
  /** Added to the answer, e.g. `location`. */
  headers?: Record<string, string>;
  /** Wait before answering (after the effect, if there is one). */
  delayMs?: number;
  /** Waits for this promise before the answer. */
  until?: Promise<unknown>;
  /** Cuts the connection: before any byte, after the headers, in the middle of the body, or after this many of its bytes. */
  cut?: 'before-headers' | 'headers' | 'half' | number;
  /** Sends half of the body or this many bytes, with a matching content-length. */
  truncate?: 'half' | number;
  /** Changes the byte of the body at this position. */
  corrupt?: number;
  /** Removes fields of a JSON answer. A path with dots names nested fields (`active-users.active-user-records`). */
  stripField?: string | readonly string[];
  /** Runs after the effect of this request and before the next one, like a second writer. */
  sideEffect?: () => void;
  /** Never answers. The connection stays open. */
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

  /** Returns the first rule that matches this request, and counts its use. */
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

/** Whether the request still takes effect. An export is a read although it is a POST. */
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

/** Returns the answer that the fault leads to. `answer` is undefined if the request did not run. */
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

/** Sends the beginning of an answer, flushes it so that the client sees it, and cuts the connection. */
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
