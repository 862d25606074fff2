import { GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { safeMessage } from '../model/safe-message';

/** Milliseconds before each retry of a read. The number of entries is the number of retries. */
export const RETRY_DELAYS_MS = [250, 1000];

/** Connection faults and 5xx can be retried. An unknown host name and a complete but unreadable response cannot. */
export function isRetryable({ code, details }: GatewayError): boolean {
  if (code === 'CONNECTION') return !['ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT'].includes(details.system ?? '');
  if (code === 'BAD_RESPONSE') return details.system !== undefined && !details.system.startsWith('HPE_');
  return code === 'APPLIANCE_ERROR' && (details.status ?? 0) >= 500;
}

const UNKNOWN_OUTCOME_CODES = new Set<ErrorCode>(['TIMEOUT', 'CONNECTION', 'TLS', 'BAD_RESPONSE', 'ABORTED', 'LIMIT']);

/** Whether a write that was sent and ended with this error may have happened. */
export function isOutcomeUnknown({ code, details }: GatewayError): boolean {
  return details.sent !== false && UNKNOWN_OUTCOME_CODES.has(code);
}

/** The error of a write. `isSent` is false when at most a login was sent. */
export function toWriteError(error: GatewayError, isSent: boolean): GatewayError {
  if (!isSent || !isOutcomeUnknown(error)) return error;
  return new GatewayError('OUTCOME_UNKNOWN', safeMessage`The write may or may not have happened. Check before you repeat it. ${error}`, {
    ...error.details,
    reason: error.code,
  });
}

/**
 * Whether the error proves that a write changed nothing: it was refused or never sent. A 5xx or `result.errors` may leave a partial change.
 */
export function isWithoutEffect({ code, details }: GatewayError): boolean {
  if (details.sent === false) return true;
  const status = details.status ?? 0;
  return code !== 'OUTCOME_UNKNOWN' && !(code === 'APPLIANCE_ERROR' && (status >= 500 || (status >= 200 && status < 300)));
}
