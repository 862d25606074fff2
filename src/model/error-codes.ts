/** Every code a flow may switch on; the contract's table of errors says when each occurs. */
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
