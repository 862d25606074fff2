import { emptyResult, isoTime, type Envelope } from '../model/envelope';
import type { GatewayError } from '../model/error';
import { MASK } from '../model/redaction';
import type { Request } from '../model/request';
import { shownQuery } from '../model/secrets';
import type { Say } from '../model/summary';
import { SUMMARIES } from '../model/summary-words';
import type { OperationCall } from './call';
import type { Masking } from './many';
import { leavesUnchanged } from './repeat';

/** What an envelope says beyond the record of its call. */
export interface RunOf {
  /** Full name of the operation: `sessions.kill`. */
  readonly operation: string;
  readonly appliance: string;
  readonly writes: boolean;
  /** `performance.now()` at its begin. */
  readonly started: number;
}

/** The envelope of what was done so far. It shares nothing with another one of the same call. */
export function envelopeOf({ operation, appliance, writes, started }: RunOf, { record, sender, plan, dryRun }: OperationCall): Envelope {
  const planned = plan !== undefined && writes;
  const envelope: Envelope = {
    ok: (record.many?.failed ?? 0) === 0,
    operation,
    appliance,
    request: record.request ? requestOf(record.request) : null,
    status: planned ? null : record.status,
    result: record.changed === null ? emptyResult() : record.result,
    changed: planned ? null : record.changed,
    dryRun,
    requests: sender.requests,
    retries: sender.retries,
    logins: sender.logins,
    ms: Math.round((performance.now() - started) * 10) / 10,
    at: isoTime(),
  };
  // Not by spreading: the object would become one that is slow to look into, for every message.
  Object.assign(envelope, record.notes);
  if (planned) envelope.plan = plan.requests;
  return envelope;
}

/** What a write that succeeded tells of itself beyond our own words. */
export function maskWritten(envelope: Envelope, { record }: OperationCall, masking: Masking): void {
  Object.assign(envelope, masking.value(record.notes));
  envelope.request = shownRequest(envelope.request, masking);
  envelope.result = masking.value(envelope.result);
}

function shownRequest(request: Envelope['request'], masking: Masking): Envelope['request'] {
  return request && { ...masking.value(request), method: request.method };
}

/** The envelope of a failure. Masked is what comes from outside, not the words that are ours. */
export function failedEnvelope(run: RunOf, error: GatewayError, call: OperationCall, masking: Masking): Envelope {
  const { status, result, reason, resumeId, extra } = error.details;
  const { record } = call;
  const envelope = envelopeOf(run, call);
  // A write that failed is known not to have changed anything, unless it may have done so all the same.
  const refused = run.writes && !call.dryRun && !(record.writes && !leavesUnchanged(error));
  return {
    ...envelope,
    ...masking.value(record.notes),
    ok: false,
    request: shownRequest(envelope.request, masking),
    changed: record.changed ?? (refused && !record.many ? false : null),
    status: status ?? record.status,
    result: masking.value(result ?? envelope.result),
    code: error.code,
    message: masking.message(error),
    ...(reason && { reason }),
    ...(resumeId !== undefined && { resumeId }),
    ...(record.emitted !== undefined && { sent: record.emitted }),
    ...(record.many && { results: record.many.results }),
    ...masking.value(extra),
  };
}

/** The envelope of a failure that happened before any appliance was involved; `title` is what its sentence calls the operation. */
export function failureEnvelope(operation: string, appliance: string, error: GatewayError, title: string, say: Say): Envelope {
  return {
    ok: false,
    operation,
    appliance,
    request: null,
    status: null,
    result: emptyResult(),
    changed: null,
    dryRun: false,
    requests: 0,
    retries: 0,
    logins: 0,
    ms: 0,
    at: isoTime(),
    summary: say('summary.failed', SUMMARIES.failed, { title, code: error.code }),
    code: error.code,
    message: error.message,
  };
}

function requestOf({ method, path, query, rawQuery }: Request): NonNullable<Envelope['request']> {
  if (rawQuery) return { method, path, rawQuery: shownQuery(rawQuery, MASK) };
  return query ? { method, path, query: shownQuery(query, MASK) } : { method, path };
}
