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

/** Maximum length of a stored error message, so that a table of a thousand rows stays readable. */
const MAX_MESSAGE_LENGTH = 500;

/** Removes addresses from text before it is stored. */
type TextRedactor = (text: string) => string;

/** Replaces the address of an appliance with its name, so that no table contains addresses. */
export function createAddressRedactor(name: string, url: string | undefined): TextRedactor {
  const parsed = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  const addresses = [url, parsed?.origin, parsed?.host, parsed?.hostname].filter((one): one is string => one !== undefined && one !== '');
  return (text) => addresses.reduce((redacted, address) => redacted.replaceAll(address, () => name), text);
}

/** The part of an outcome that is stored. */
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

/** Converts data for the store: without secrets, with only the size of binary data and XML, and undefined for circular data. */
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
  // `value` is already the byte list from `Buffer.toJSON`.
  const original = (this as Readonly<Record<string, unknown>>)[name];
  return Buffer.isBuffer(original) ? { bytes: original.length } : value;
}
