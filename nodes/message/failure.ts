import type { Envelope } from '../../src/model/envelope';
import type { GatewayError } from '../../src/model/error';
import { isObject } from '../../src/model/json';

/** An error as it travels in a flow: `msg.error`, and what a Catch node, the log and the debug pane get. */
export interface Failure {
  readonly message: string;
  readonly code: string;
  readonly cause: Envelope | undefined;
}

/** Not an `Error`: of one Node-RED's debug pane shows the cause as `[object Object]`, of this all that is in it. */
export function toPlainFailure({ message, code, cause }: GatewayError): Failure {
  // Catch nodes and the log take the text of it.
  return Object.defineProperty({ message, code, cause }, 'toString', { value: () => message });
}

/** Whether one of these nodes set that `msg.error`, directly or by way of a Catch node; it may have been cloned since. */
export function isGatewayFailure(error: unknown): boolean {
  if (!isObject(error) || typeof error.code !== 'string' || !isObject(error.cause)) return false;
  const { ok, operation, appliance, at, code } = error.cause;
  return ok === false && code === error.code && typeof operation === 'string' && typeof appliance === 'string' && typeof at === 'string';
}
