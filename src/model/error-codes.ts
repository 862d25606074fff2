/** Every error code that a flow may switch on. The contract's table of errors says when each occurs. */
export const ERROR_CODES = [
  'BAD_INPUT',
  'BAD_CONFIG',
  'LOGIN_REJECTED',
  'LOGIN_PAUSED',
  'SECOND_FACTOR_REQUIRED',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'INVALID_REQUEST',
  'NOT_FOUND',
  'REJECTED',
  'APPLIANCE_ERROR',
  'BAD_RESPONSE',
  'TIMEOUT',
  'CONNECTION',
  'TLS',
  'OUTCOME_UNKNOWN',
  'ABORTED',
  'LIMIT',
  'CONFLICT',
  'DECLINED',
  'EXPIRED',
  'LOCKED_OUT',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** After these errors, another request to the same appliance would fail too: it is unreachable or no login is possible. */
export const UNREACHABLE_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CONNECTION',
  'TIMEOUT',
  'TLS',
  'LOGIN_REJECTED',
  'LOGIN_PAUSED',
  'SECOND_FACTOR_REQUIRED',
  'UNAUTHORIZED',
]);
