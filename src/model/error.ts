import type { Envelope, Message } from './envelope';
import type { ErrorCode } from './error-codes';
import { trusted, safeMessage, type SafeMessage } from './safe-message';

/** What the place that failed knows; `Gateway.run` folds it into the envelope that becomes `cause`. */
export interface GatewayErrorDetails {
  /** HTTP status of the answer, where there was one. */
  status?: number;
  /** The appliance's own lists of messages. */
  result?: { info: Message[]; warnings: Message[]; errors: Message[] };
  /** Why the outcome of a write is unknown: the code that a read would have had. */
  reason?: ErrorCode;
  /** It was a login that was answered so, on the way to the request. */
  login?: true;
  /** The login step that is waiting for an answer. */
  resumeId?: string;
  /** False when not a byte of the request left: it certainly did not happen. */
  sent?: boolean;
  /** What the operating system or TLS called it, e.g. `ECONNREFUSED`. */
  system?: string;
  /** How long the appliance asks to be left alone, or is left alone. */
  retryAfterMs?: number;
  /** The field that nothing was given for. */
  missing?: { readonly name: string; readonly label: string };
  /** Anything else that helps, such as both lists of a catalogue that somebody else changed meanwhile. */
  extra?: Record<string, unknown>;
}

/**
 * The only error that leaves the library. `code` is an own property, `message` a sentence that says what to do,
 * `cause` the envelope with `ok: false` once `Gateway.run` has seen it.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  override cause: Envelope | undefined = undefined;
  // Not enumerable: what the cause does not repeat stays inside the library.
  declare readonly details: GatewayErrorDetails;
  /** The message, in which what came from outside is still told apart. */
  declare readonly safeMessage: SafeMessage;

  /** A message that has anything from outside in it is a `sentence`, which knows what; a plain text is ours (a test looks after that). */
  constructor(code: ErrorCode, message: string | SafeMessage, details: GatewayErrorDetails = {}) {
    super(String(message));
    this.code = code;
    Object.defineProperty(this, 'name', { value: 'GatewayError' });
    Object.defineProperty(this, 'details', { value: details });
    Object.defineProperty(this, 'safeMessage', { value: typeof message === 'string' ? trusted(message) : message });
  }

  /**
   * The code, if the request itself was answered so: a login that is answered 404 or 403 says nothing of what is there, or of what the
   * account may do there.
   */
  get requestCode(): ErrorCode | undefined {
    return this.details.login ? undefined : this.code;
  }

  // A Catch node shows String(error): the sentence alone reads better than one with a class name before it.
  override toString(): string {
    return this.message;
  }
}

/** Shorthand for the commonest refusal: which field, what was wrong, what to do. */
export function badInput(message: string | SafeMessage, details: GatewayErrorDetails = {}): GatewayError {
  return new GatewayError('BAD_INPUT', message, details);
}

/** Anything thrown, as a GatewayError; a fault of our own becomes a sentence too, never an unhandled rejection. */
export function asGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError(
    'BAD_RESPONSE',
    safeMessage`Unexpected fault: ${readThrownText(thrown)}. Please report it with the operation and its input.`,
  );
}

/** Anything can be thrown, also what has no text or fails to tell it. */
function readThrownText(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : String(thrown);
  } catch {
    return 'something that cannot be read';
  }
}
