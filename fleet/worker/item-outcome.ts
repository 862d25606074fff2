import {
  asGatewayError,
  findPartialFailure,
  redactSecrets,
  type EnvelopeCosts,
  type Envelope,
  type ErrorCode,
  type GatewayError,
  type RunOutcome,
} from '@gateway-admin/node-red';
import type { ItemOutcome } from '../store/rows';

/** Longer words are of no use in a table of a thousand rows. */
const MAX_MESSAGE_LENGTH = 500;

/** Takes what must not be kept out of a text. */
export type TextRedactor = (text: string) => string;

/** Addresses stay out of the tables: an appliance is told of by its name. */
export function createAddressRedactor(name: string, url: string | undefined): TextRedactor {
  const parsed = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  const addresses = [url, parsed?.origin, parsed?.host, parsed?.hostname].filter((one): one is string => one !== undefined && one !== '');
  return (text) => addresses.reduce((redacted, address) => redacted.replaceAll(address, () => name), text);
}

/** What of an outcome is kept. */
type OperationOutcome = Pick<RunOutcome, 'data' | 'many'> & { readonly envelope: EnvelopeCosts & Pick<Envelope, 'changed'> };

export function toSuccessOutcome({ data, many, envelope }: OperationOutcome, shouldKeepData: boolean, redact: TextRedactor): ItemOutcome {
  const { changed, plan } = envelope;
  const error = findPartialFailure(many);
  return {
    state: error ? 'failed' : 'ok',
    changed,
    ...(error && { code: error.code, message: truncateMessage(redact(error.message)) }),
    ...(shouldKeepData && { data: toStorableData(data) }),
    ...(plan && { plan: redactSecrets(plan) }),
    ...toCosts(envelope),
  };
}

export function toFailureOutcome(thrown: unknown, redact: TextRedactor): ItemOutcome {
  const { code, message, cause } = asGatewayError(thrown);
  return {
    state: code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed',
    changed: cause?.changed ?? null,
    code,
    message: truncateMessage(redact(message)),
    ...toCosts(cause),
  };
}

export function hasErrorCode(thrown: unknown, code: ErrorCode): thrown is GatewayError {
  return asGatewayError(thrown).code === code;
}

const toCosts = (envelope: EnvelopeCosts | undefined): Pick<ItemOutcome, 'requests' | 'retries' | 'logins'> =>
  envelope ? { requests: envelope.requests, retries: envelope.retries, logins: envelope.logins } : {};

export const truncateMessage = (text: string): string =>
  text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}…` : text;

/** Of what is no JSON, and of an export as a text, only how long it is; nothing at all where it holds itself. */
export function toStorableData(data: unknown): unknown {
  if (typeof data === 'string' && /^\s*</.test(data)) return { bytes: Buffer.byteLength(data) };
  try {
    const text = JSON.stringify(data, replaceBuffer);
    return text === undefined ? undefined : redactSecrets(JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

function replaceBuffer(this: unknown, name: string, value: unknown): unknown {
  // A Buffer comes as the list of its bytes already.
  const original = (this as Readonly<Record<string, unknown>>)[name];
  return Buffer.isBuffer(original) ? { bytes: original.length } : value;
}
