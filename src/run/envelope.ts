import { emptyResultLists, currentIsoTime, type Envelope } from '../model/envelope';
import type { GatewayError } from '../model/error';
import { MASK } from '../model/redaction';
import type { Request } from '../model/request';
import { redactQuery } from '../model/secrets';
import type { Translate } from '../model/summary';
import { SUMMARY_TEXTS } from '../model/summary-texts';
import type { RunContext } from './run-context';
import type { Masker } from './bulk';
import { isNoOp } from './retry-policy';

/** What an envelope says beyond the record of its call. */
export interface RunInfo {
  /** Full name of the operation: `sessions.kill`. */
  readonly operation: string;
  readonly appliance: string;
  readonly isWrite: boolean;
  /** `performance.now()` at its begin. */
  readonly startedAt: number;
}

/** The envelope of what was done so far. It shares nothing with another one of the same call. */
export function createEnvelope(
  { operation, appliance, isWrite, startedAt }: RunInfo,
  { record, sender, plan, dryRun }: RunContext,
): Envelope {
  const isPlanned = plan !== undefined && isWrite;
  const envelope: Envelope = {
    ok: (record.many?.failed ?? 0) === 0,
    operation,
    appliance,
    request: record.request ? toEnvelopeRequest(record.request) : null,
    status: isPlanned ? null : record.status,
    result: record.changed === null ? emptyResultLists() : record.result,
    changed: isPlanned ? null : record.changed,
    dryRun,
    requests: sender.requests,
    retries: sender.retries,
    logins: sender.logins,
    ms: Math.round((performance.now() - startedAt) * 10) / 10,
    at: currentIsoTime(),
  };
  // Not by spreading: the object would become one that is slow to look into, for every message.
  Object.assign(envelope, record.envelopeFields);
  if (isPlanned) envelope.plan = plan.requests;
  return envelope;
}

/** What a write that succeeded tells of itself beyond our own words. */
export function redactWriteEnvelope(envelope: Envelope, { record }: RunContext, masker: Masker): void {
  Object.assign(envelope, masker.value(record.envelopeFields));
  envelope.request = redactRequest(envelope.request, masker);
  envelope.result = masker.value(envelope.result);
}

function redactRequest(request: Envelope['request'], masker: Masker): Envelope['request'] {
  return request && { ...masker.value(request), method: request.method };
}

/** The envelope of a failure. Masked is what comes from outside, not the words that are ours. */
export function createRunFailureEnvelope(runInfo: RunInfo, error: GatewayError, call: RunContext, masker: Masker): Envelope {
  const { status, result, reason, resumeId, extra } = error.details;
  const { record } = call;
  const envelope = createEnvelope(runInfo, call);
  // A write that failed is known not to have changed anything, unless it may have done so all the same.
  const isRefusedWrite = runInfo.isWrite && !call.dryRun && !(record.hasWrite && !isNoOp(error));
  return {
    ...envelope,
    ...masker.value(record.envelopeFields),
    ok: false,
    request: redactRequest(envelope.request, masker),
    changed: record.changed ?? (isRefusedWrite && !record.many ? false : null),
    status: status ?? record.status,
    result: masker.value(result ?? envelope.result),
    code: error.code,
    message: masker.message(error),
    ...(reason && { reason }),
    ...(resumeId !== undefined && { resumeId }),
    ...(record.emittedParts !== undefined && { sent: record.emittedParts }),
    ...(record.many && { results: record.many.results }),
    ...masker.value(extra),
  };
}

/** The envelope of a failure that happened before any appliance was involved; `title` is what its sentence calls the operation. */
export function createEarlyFailureEnvelope(
  operation: string,
  appliance: string,
  error: GatewayError,
  title: string,
  translate: Translate,
): Envelope {
  return {
    ok: false,
    operation,
    appliance,
    request: null,
    status: null,
    result: emptyResultLists(),
    changed: null,
    dryRun: false,
    requests: 0,
    retries: 0,
    logins: 0,
    ms: 0,
    at: currentIsoTime(),
    summary: translate('summary.failed', SUMMARY_TEXTS.failed, { title, code: error.code }),
    code: error.code,
    message: error.message,
  };
}

function toEnvelopeRequest({ method, path, query, rawQuery }: Request): NonNullable<Envelope['request']> {
  if (rawQuery) return { method, path, rawQuery: redactQuery(rawQuery, MASK) };
  return query ? { method, path, query: redactQuery(query, MASK) } : { method, path };
}
