import { GatewayError } from '../../src/model/error';
import type { ErrorCode } from '../../src/model/error-codes';

/** Returns the error that a function throws, or undefined. */
export function getThrownError(attempt: () => unknown): GatewayError | undefined {
  try {
    attempt();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  return undefined;
}

/** Returns the code of that error, or `none`. */
export function getThrownCode(attempt: () => unknown): ErrorCode | 'none' {
  return getThrownError(attempt)?.code ?? 'none';
}
