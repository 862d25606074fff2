import type { GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';

/** Growing pause before a read is repeated, in milliseconds; its length is the number of repeats. */
export const RETRY_DELAYS_MS = [250, 1000];

/** Connection faults and 5xx; not a name that does not resolve, and not an answer that was whole but unreadable. */
export function isRetryable({ code, details }: GatewayError): boolean {
  if (code === 'CONNECTION') return !['ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT'].includes(details.system ?? '');
  if (code === 'BAD_RESPONSE') return details.system !== undefined && !details.system.startsWith('HPE_');
  return code === 'APPLIANCE_ERROR' && (details.status ?? 0) >= 500;
}

const UNKNOWN_OUTCOME_CODES = new Set<ErrorCode>(['TIMEOUT', 'CONNECTION', 'TLS', 'BAD_RESPONSE', 'ABORTED', 'LIMIT']);

/** Whether a write that ended like this, after it was sent, may have happened all the same. */
export function isOutcomeUnknown({ code, details }: GatewayError): boolean {
  return details.sent !== false && UNKNOWN_OUTCOME_CODES.has(code);
}

/** Whether an error tells that a write changed nothing: it was refused, or never sent. A 5xx or `result.errors` may have done a part. */
export function isNoOp({ code, details }: GatewayError): boolean {
  if (details.sent === false) return true;
  const status = details.status ?? 0;
  return code !== 'OUTCOME_UNKNOWN' && !(code === 'APPLIANCE_ERROR' && (status >= 500 || (status >= 200 && status < 300)));
}
