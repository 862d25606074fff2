import type { Envelope, ResultMessage } from './envelope';
import type { ErrorCode } from './error-codes';
import type { ErrorReason } from './error-reasons';
import { trusted, safeMessage, type SafeMessage } from './safe-message';

/** Details from the place of the failure; `Gateway.run` copies them into the envelope that becomes `cause`. */
export interface GatewayErrorDetails {
  /** HTTP status of the response, if there was one. */
  status?: number;
  /** The appliance's own message lists. */
  result?: { info: ResultMessage[]; warnings: ResultMessage[]; errors: ResultMessage[] };
  /** Why the outcome of a write is unknown: the error code that a read would have had. */
  reason?: ErrorCode;
  /** Whether the login before the request got this response. */
  login?: true;
  /** Id of the login step that waits for an answer. */
  resumeId?: string;
  /** Whether a byte of the request was sent. If not, the request certainly had no effect. */
  sent?: boolean;
  /** The error code of the operating system or TLS, for example `ECONNREFUSED`. */
  system?: string;
  /** Milliseconds until the next attempt, as the appliance asks or as the login pause requires. */
  retryAfterMs?: number;
  /** The required field that has no value. */
  missing?: { readonly name: string; readonly label: string };
  /** The cause in a few words, for the status of a node. */
  statusReason?: ErrorReason;
  /** Further fields of the envelope, such as both versions of a catalog after a conflict. */
  extra?: Record<string, unknown>;
}

/**
 * The only error that the library throws. `code` is an own property, `message` says what to do, and `cause` is the envelope with `ok:
 * false` after `Gateway.run`.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  override cause: Envelope | undefined = undefined;
  // Not enumerable: details that the cause does not repeat stay inside the library.
  declare readonly details: GatewayErrorDetails;
  /** The message with its untrusted parts still marked. */
  declare readonly safeMessage: SafeMessage;

  /** Use `safeMessage` if the message contains text from outside; a plain string counts as trusted. A test checks this. */
  constructor(code: ErrorCode, message: string | SafeMessage, details: GatewayErrorDetails = {}) {
    super(String(message));
    this.code = code;
    Object.defineProperty(this, 'name', { value: 'GatewayError' });
    Object.defineProperty(this, 'details', { value: details });
    Object.defineProperty(this, 'safeMessage', { value: typeof message === 'string' ? trusted(message) : message });
  }

  /**
   * The code that describes the resource. Undefined after a login error, because a 404 or 403 to a login says nothing about the resource.
   */
  get requestCode(): ErrorCode | undefined {
    return this.details.login ? undefined : this.code;
  }

  // A Catch node shows String(error), and the message reads better without a class name.
  override toString(): string {
    return this.message;
  }
}

/** Shorthand for the most frequent error. The message names the field, the fault and what to do. */
export function badInput(message: string | SafeMessage, details: GatewayErrorDetails = {}): GatewayError {
  return new GatewayError('BAD_INPUT', message, details);
}

/** Converts anything thrown into a `GatewayError`. A fault in this package becomes a message too, not an unhandled rejection. */
export function asGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError(
    'BAD_RESPONSE',
    safeMessage`Unexpected fault: ${readThrownText(thrown)}. Please report it with the operation and its input.`,
  );
}

/** A thrown value may have no text, or a `toString` that throws. */
function readThrownText(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : String(thrown);
  } catch {
    return 'something that cannot be read';
  }
}
