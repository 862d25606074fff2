import { createEmptyMessageLists, getCurrentIsoTime, type BulkResult, type Envelope } from '../model/envelope';
import type { GatewayError } from '../model/error';
import { MASK } from '../model/redaction';
import type { Request } from '../model/request';
import { redactQuery } from '../model/secrets';
import type { Translate } from '../model/summary';
import { SUMMARY_TEXTS } from '../model/summary-texts';
import type { RunState } from './run-state';
import type { SecretMasker } from './bulk';
import { isWithoutEffect } from './retry-policy';

/** Facts about a run for its envelope, besides its record. */
export interface RunInfo {
  /** Full name of the operation, such as `sessions.kill`. */
  readonly name: string;
  readonly appliance: string;
  /** Whether the requests go to a copy. */
  readonly isRehearsal: boolean;
  readonly isWrite: boolean;
  /** `performance.now()` at the start of the run. */
  readonly startedAt: number;
}

const UNVERIFIED_END =
  'The appliance sent the response over TLS without a length. A cut of such a response cannot be detected; only its content shows whether it is complete.';

/** Creates the envelope of everything done so far. Each envelope has its own lists. */
export function createEnvelope(
  { name, appliance, isRehearsal, isWrite, startedAt }: RunInfo,
  { record, sender, plan, options: { dryRun } }: RunState,
): Envelope {
  const isPlanned = plan !== undefined && isWrite;
  const envelope: Envelope = {
    ok: (record.many?.failed ?? 0) === 0,
    operation: name,
    appliance,
    request: record.request ? toEnvelopeRequest(record.request) : null,
    status: isPlanned ? null : record.status,
    result: record.hasWritten || record.changed !== null ? record.result : createEmptyMessageLists(),
    changed: isPlanned ? null : record.changed,
    dryRun,
    requests: sender.requests,
    retries: sender.retries,
    logins: sender.logins,
    ms: Math.round((performance.now() - startedAt) * 10) / 10,
    at: getCurrentIsoTime(),
  };
  if (isRehearsal) envelope.rehearsal = true;
  // Object.assign, because an object spread creates a slow dictionary object for every message.
  if (record.hasFields) Object.assign(envelope, record.envelopeFields);
  if (sender.hasUnverifiedEnd) envelope.warnings = [...(envelope.warnings ?? []), UNVERIFIED_END];
  if (isPlanned) envelope.plan = plan.requests;
  if (record.many?.results.some(isUnknownItem)) envelope['unknown'] = true;
  return envelope;
}

/** Masks what the appliance and the operation say about a successful write. */
export function redactWriteEnvelope(envelope: Envelope, { record }: RunState, masker: SecretMasker): void {
  const fields = record.hasFields ? masker.value(record.envelopeFields) : record.envelopeFields;
  if (fields !== record.envelopeFields) Object.assign(envelope, fields);
  envelope.request = redactRequest(envelope.request, masker);
  envelope.result = masker.value(envelope.result);
}

function redactRequest(request: Envelope['request'], masker: SecretMasker): Envelope['request'] {
  const redacted = masker.value(request);
  return redacted && request && redacted !== request ? { ...redacted, method: request.method } : request;
}

/** Creates the envelope of a failure, with text from outside masked. */
export function createRunFailureEnvelope(runInfo: RunInfo, error: GatewayError, run: RunState, masker: SecretMasker): Envelope {
  const { status, result, reason, resumeId, extra } = error.details;
  const { record } = run;
  const envelope = createEnvelope(runInfo, run);
  // A failed write changed nothing, unless the error leaves that open.
  const isSentWrite = runInfo.isWrite && !run.options.dryRun;
  const mayHaveHappened = isSentWrite && record.hasWrite && !isWithoutEffect(error);
  const isRefusedWrite = isSentWrite && !mayHaveHappened;
  return {
    ...envelope,
    ...masker.value(record.envelopeFields),
    ok: false,
    request: redactRequest(envelope.request, masker),
    changed: record.changed ?? (isRefusedWrite && !record.many && !record.hasWritten ? false : null),
    status: status ?? record.status,
    result: masker.value(result ?? envelope.result),
    code: error.code,
    message: masker.message(error),
    ...(mayHaveHappened && isPendingWrite(error, record) && extra?.['changed'] === undefined && { unknown: true }),
    ...(reason && { reason }),
    ...(resumeId !== undefined && { resumeId }),
    ...(record.emittedParts !== undefined && { sent: record.emittedParts }),
    ...(record.many && { results: record.many.results }),
    ...masker.value(extra),
  };
}

/** Returns whether a write had no clear outcome. An error after a successful write, such as of a read, leaves nothing open. */
function isPendingWrite({ code }: GatewayError, { changed, hasWritten, many }: RunState['record']): boolean {
  return !many && changed === null && (!hasWritten || code === 'OUTCOME_UNKNOWN');
}

/** Returns whether the write of an item may or may not have happened. */
function isUnknownItem(result: BulkResult['results'][number]): boolean {
  return 'error' in result && result.error.code === 'OUTCOME_UNKNOWN';
}

/** Creates the envelope of a failure before any appliance was involved. `title` names the operation in the summary. */
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
    result: createEmptyMessageLists(),
    changed: null,
    dryRun: false,
    requests: 0,
    retries: 0,
    logins: 0,
    ms: 0,
    at: getCurrentIsoTime(),
    summary: translate('summary.failed', SUMMARY_TEXTS.failed, { title, code: error.code }),
    code: error.code,
    message: error.message,
  };
}

function toEnvelopeRequest({ method, path, query, rawQuery }: Request): NonNullable<Envelope['request']> {
  if (rawQuery) return { method, path, rawQuery: redactQuery(rawQuery, MASK) };
  return query ? { method, path, query: redactQuery(query, MASK) } : { method, path };
}
