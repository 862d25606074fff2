import type { NodeStatus } from 'node-red';
import type { RunOutcome } from '../../src/gateway/gateway';
import type { RunOnManyOutcome } from '../../src/inventory';
import type { GatewayError } from '../../src/model/error';
import type { ErrorCode } from '../../src/model/error-codes';
import { isObject } from '../../src/model/json';
import type { TextPlaceholderValues } from '../common/i18n';
import type { RUNTIME_TEXTS } from '../common/runtime-texts';

export type NodeStatusKey = keyof typeof RUNTIME_TEXTS.status;

const KEY_BY_ERROR_CODE: Readonly<Record<ErrorCode, NodeStatusKey>> = {
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

/** The status of the last message. It holds counts, never data, because a result can be large. */
export interface StatusText extends Pick<NodeStatus, 'fill' | 'shape'> {
  readonly key: NodeStatusKey;
  readonly values?: TextPlaceholderValues;
  /** End of the pause by the clock of `performance.now()`. The status shows the remaining seconds. */
  readonly endsAt?: number;
}

/** Spread last: in Node.js 20, a property behind a spread gives each object its own hidden class. */
const green = { fill: 'green', shape: 'dot' } as const;
const OK: StatusText = { key: 'ok', ...green };

/** Returns the status of a successful message. `sentCount` is the number of parts sent. */
export function statusForOutcome({ data, many, envelope }: RunOutcome, sentCount: number): StatusText {
  if (envelope.plan) return { fill: 'grey', shape: 'dot', key: 'planned', values: { n: envelope.plan.length } };
  if (sentCount > 0) return { key: 'sent', values: { n: sentCount }, ...green };
  // A single document: looking for properties that it lacks is slow.
  if (envelope.changed === null && envelope.request?.method === 'GET' && !Array.isArray(data)) return OK;
  if (isObject(data) && data.state === 'pending') return { fill: 'yellow', shape: 'ring', key: 'needs-code' };
  if (Array.isArray(data))
    return { key: envelope.operation === 'sessions.list' ? 'sessions' : 'items', values: { n: data.length }, ...green };
  if (!many) return statusForSingleResult(data, envelope);
  const isEnding = isEndingSessions(envelope.operation);
  if (many.failed === 0) return { key: isEnding ? 'ended' : 'items', values: { n: many.total }, ...green };
  const partlyDone = { fill: 'yellow', shape: 'dot' } as const;
  if (isEnding && many.ok > 0) return { ...partlyDone, key: 'ended-of', values: { done: many.ok, n: many.total } };
  return { ...partlyDone, key: 'partly', values: { failed: many.failed, n: many.total } };
}

/** Whether the items of the operation are sessions that end. */
export function isEndingSessions(operation: string): boolean {
  return operation.startsWith('sessions.');
}

/** Returns the status of a file operation with the size, or of an ensured resource with whether it changed. */
function statusForSingleResult(data: unknown, { changed, diff, operation }: RunOutcome['envelope']): StatusText {
  if (/^(backup|transfer|snapshot)\./.test(operation)) {
    const result = isObject(data) ? data : {};
    const bytes = Buffer.isBuffer(data) || typeof data === 'string' ? data.length : result.bytes;
    const key =
      result.changed === true || Number(result.changed) > 0 ? 'size-changed' : result.changed === undefined ? 'size' : 'size-unchanged';
    return typeof bytes === 'number' ? { key, values: { size: formatSize(bytes) }, ...green } : OK;
  }
  if (changed === false) return { key: 'unchanged', ...green };
  return changed === true && diff !== undefined ? { key: 'changed', ...green } : OK;
}

/** Returns the status of a run on many appliances. */
export function statusForManyOutcome({ data, envelope }: RunOnManyOutcome): StatusText {
  const { total, failed, skipped } = data;
  if (total === 0) return { fill: 'yellow', shape: 'dot', key: 'nowhere' };
  if (skipped > 0) return { fill: 'red', shape: 'ring', key: 'stopped', values: { failed: formatCount(failed) } };
  if (failed > 0) return { fill: 'yellow', shape: 'dot', key: 'partly', values: { failed: formatCount(failed), n: formatCount(total) } };
  if (envelope.plan) return { fill: 'grey', shape: 'dot', key: 'planned', values: { n: envelope.plan.length } };
  return { key: 'appliances', values: { n: total }, ...green };
}

/** Returns the status with the number of contained users. */
export function statusForContainedUsers(n: number): StatusText {
  return { fill: n > 0 ? 'yellow' : 'green', shape: 'dot', key: 'contained', values: { n } };
}

/** Returns the status of an error: the missing field, its short cause, the countdown of a pause, or the text of its code. */
export function statusForError({ code, details }: GatewayError, getLabel: (field: string, label: string) => string): StatusText {
  const status = statusForErrorCode(code);
  const { missing, retryAfterMs, statusReason } = details;
  if (missing) return { ...status, key: 'needs', values: { field: truncateLabel(getLabel(missing.name, missing.label)) } };
  if (statusReason) return { ...status, key: statusReason };
  return code === 'LOGIN_PAUSED' && retryAfterMs ? { ...status, key: 'paused', endsAt: performance.now() + retryAfterMs } : status;
}

export function statusForErrorCode(code: ErrorCode): StatusText {
  return { fill: code === 'ABORTED' ? 'grey' : 'red', shape: 'ring', key: KEY_BY_ERROR_CODE[code] };
}

/** Returns a size such as `340 kB`, `12 MB` or `1.2 GB`, in powers of 1000. */
export function formatSize(bytes: number): string {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${Math.floor(bytes / 1e6)} MB` : `${(Math.floor(bytes / 1e8) / 10).toFixed(1)} GB`;
}

/** Returns a count, in thousands from five digits, so that two counts fit. */
export function formatCount(count: number): string {
  return count < 10_000 ? String(count) : `${Math.floor(count / 1000)}k`;
}

/** Shortens a label to 13 characters. */
function truncateLabel(label: string): string {
  return label.length > 13 ? `${label.slice(0, 12)}…` : label;
}
