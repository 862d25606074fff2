import type { ErrorCode } from './error-codes';
import type { Query } from './request';

export interface ResultMessage {
  message: string;
}

/** The appliance's message lists, always all three (appliance-api.md, "Result envelope"). */
export interface ResultMessageLists {
  info: ResultMessage[];
  warnings: ResultMessage[];
  errors: ResultMessage[];
}

/** The data of every write. */
export interface WriteResult {
  result: ResultMessageLists;
}

/** The data of an operation on many items: one result per item, in the order of the input. */
export interface BulkResult {
  total: number;
  ok: number;
  failed: number;
  results: BulkItemResult[];
}

export type BulkItemResult =
  | { item: unknown; ok: true; status: number | null }
  | { item: unknown; planned: true }
  | { item: unknown; ok: false; error: { code: ErrorCode; message: string } };

/** A write that a dry run did not send. Secrets are masked. */
export interface PlannedRequest {
  method: string;
  path: string;
  query?: Query;
  rawQuery?: string;
  body?: unknown;
  /** What the request is about, such as the session that ends, with the name of its user and its address. */
  item?: unknown;
}

/** `msg.envelope` and `err.cause` (contract, "Messages"). Operations add their own fields, such as `total`. */
export interface Envelope {
  ok: boolean;
  operation: string;
  appliance: string;
  request: { method: string; path: string; query?: Query; rawQuery?: string } | null;
  status: number | null;
  result: ResultMessageLists;
  changed: boolean | null;
  dryRun: boolean;
  /** The requests went to a copy of the appliance. */
  rehearsal?: true;
  /** Exchanges of this run. Retries count, logins do not. */
  requests: number;
  retries: number;
  logins: number;
  /** Duration of the run in milliseconds. */
  ms: number;
  at: string;
  /** One sentence for people with names and counts, without secrets. Parts of a stream have none. */
  summary?: string;
  plan?: PlannedRequest[];
  /** Sentences about a doubtful success, such as a response whose end could not be verified. */
  warnings?: string[];
  code?: ErrorCode;
  message?: string;
  reason?: ErrorCode;
  resumeId?: string;
  [more: string]: unknown;
}

export function createEmptyMessageLists(): ResultMessageLists {
  return { info: [], warnings: [], errors: [] };
}

let latest: { readonly ms: number; readonly text: string } | undefined;

/**
 * The current time for an envelope. The text is cached for one millisecond, because formatting it costs more than the rest of the envelope.
 */
export function getCurrentIsoTime(): string {
  const ms = Date.now();
  if (latest?.ms !== ms) latest = { ms, text: new Date(ms).toISOString() };
  return latest.text;
}
