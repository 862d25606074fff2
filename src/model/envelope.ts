import type { ErrorCode } from './error-codes';
import type { Query } from './request';

export interface Message {
  message: string;
}

/** The appliance's lists of messages, always all three (appliance-api.md, "Result envelope"). */
export interface ResultLists {
  info: Message[];
  warnings: Message[];
  errors: Message[];
}

/** Data of every write. */
export interface WriteResult {
  result: ResultLists;
}

/** Data of an operation on many: what became of each item, in the order given. */
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

/** A write that a dry run did not send, secrets masked. */
export interface PlannedRequest {
  method: string;
  path: string;
  query?: Query;
  rawQuery?: string;
  body?: unknown;
}

/** `msg.envelope` and `err.cause` (contract, "Messages"). Operations add fields of their own, such as `total`. */
export interface Envelope {
  ok: boolean;
  operation: string;
  appliance: string;
  request: { method: string; path: string; query?: Query; rawQuery?: string } | null;
  status: number | null;
  result: ResultLists;
  changed: boolean | null;
  dryRun: boolean;
  /** Exchanges of this operation, repeats included, logins not. */
  requests: number;
  retries: number;
  logins: number;
  /** Milliseconds from the call to its end. */
  ms: number;
  at: string;
  /** One sentence for people: what was done, of names and counts, without secrets. Parts of a stream have none. */
  summary?: string;
  plan?: PlannedRequest[];
  code?: ErrorCode;
  message?: string;
  reason?: ErrorCode;
  resumeId?: string;
  [more: string]: unknown;
}

export function emptyResultLists(): ResultLists {
  return { info: [], warnings: [], errors: [] };
}

let latest: { readonly ms: number; readonly text: string } | undefined;

/** Now, as an envelope tells it; written once for all of the same millisecond, since it costs more than the rest of an envelope. */
export function currentIsoTime(): string {
  const ms = Date.now();
  if (latest?.ms !== ms) latest = { ms, text: new Date(ms).toISOString() };
  return latest.text;
}
