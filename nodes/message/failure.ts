import type { Envelope } from '../../src/model/envelope';
import type { GatewayError } from '../../src/model/error';
import { isObject } from '../../src/model/json';

/** An error as flows see it in `msg.error`, at Catch nodes, in the log and in the debug pane. */
export interface NodeFailure {
  readonly message: string;
  readonly code: string;
  readonly cause: Envelope | undefined;
}

/** Returns a plain object, because the debug pane shows the cause of an `Error` as `[object Object]`. */
export function toPlainFailure({ message, code, cause }: GatewayError): NodeFailure {
  return Object.defineProperties(
    { message, code, cause },
    {
      // Catch nodes call this for `msg.error.message`.
      toString: { value: () => message },
      // The log of an error without a Catch node uses string concatenation.
      [Symbol.toPrimitive]: { value: () => [cause?.appliance, cause?.operation, code].filter(Boolean).join(', ') + `: ${message}` },
    },
  );
}

/** Whether a node of this package set `msg.error`, directly or through a Catch node. Clones of the error count. */
export function isGatewayFailure(error: unknown): boolean {
  if (!isObject(error) || typeof error.code !== 'string' || !isObject(error.cause)) return false;
  const { ok, operation, appliance, at, code } = error.cause;
  return ok === false && code === error.code && typeof operation === 'string' && typeof appliance === 'string' && typeof at === 'string';
}
