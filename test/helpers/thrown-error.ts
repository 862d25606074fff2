import { GatewayError } from '../../src/model/error';
import type { ErrorCode } from '../../src/model/error-codes';

/** The error that a function throws at once, undefined when it does not. */
export function getThrownError(attempt: () => unknown): GatewayError | undefined {
  try {
    attempt();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  return undefined;
}

/** Its code, `none` when there is none. */
export function getThrownCode(attempt: () => unknown): ErrorCode | 'none' {
  return getThrownError(attempt)?.code ?? 'none';
}
