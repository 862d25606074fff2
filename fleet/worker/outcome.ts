import {
  asGatewayError,
  partlyFailed,
  withoutSecrets,
  type Costs,
  type Envelope,
  type ErrorCode,
  type GatewayError,
  type Outcome,
} from '@gateway-admin/node-red';
import type { ItemOutcome } from '../ledger/rows';

/** Longer words are of no use in a table of a thousand rows. */
const LONGEST_MESSAGE = 500;

/** Takes what must not be kept out of a text. */
export type Clean = (text: string) => string;

/** Addresses stay out of the tables: an appliance is told of by its name. */
export function withoutAddress(name: string, url: string | undefined): Clean {
  const parsed = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  const addresses = [url, parsed?.origin, parsed?.host, parsed?.hostname].filter((one): one is string => one !== undefined && one !== '');
  return (text) => addresses.reduce((clean, address) => clean.replaceAll(address, () => name), text);
}

/** What of an outcome is kept. */
type Came = Pick<Outcome, 'data' | 'many'> & { readonly envelope: Costs & Pick<Envelope, 'changed'> };

export function succeeded({ data, many, envelope }: Came, keepsData: boolean, clean: Clean): ItemOutcome {
  const { changed, plan } = envelope;
  const error = partlyFailed(many);
  return {
    state: error ? 'failed' : 'ok',
    changed,
    ...(error && { code: error.code, message: short(clean(error.message)) }),
    ...(keepsData && { data: kept(data) }),
    ...(plan && { plan: withoutSecrets(plan) }),
    ...costs(envelope),
  };
}

export function failed(thrown: unknown, clean: Clean): ItemOutcome {
  const { code, message, cause } = asGatewayError(thrown);
  return {
    state: code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed',
    changed: cause?.changed ?? null,
    code,
    message: short(clean(message)),
    ...costs(cause),
  };
}

export function isFailureOf(thrown: unknown, code: ErrorCode): thrown is GatewayError {
  return asGatewayError(thrown).code === code;
}

const costs = (envelope: Costs | undefined): Pick<ItemOutcome, 'requests' | 'retries' | 'logins'> =>
  envelope ? { requests: envelope.requests, retries: envelope.retries, logins: envelope.logins } : {};

export const short = (text: string): string => (text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text);

/** Of what is no JSON, and of an export as a text, only how long it is; nothing at all where it holds itself. */
export function kept(data: unknown): unknown {
  if (typeof data === 'string' && /^\s*</.test(data)) return { bytes: Buffer.byteLength(data) };
  try {
    const text = JSON.stringify(data, jsonOf);
    return text === undefined ? undefined : withoutSecrets(JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

function jsonOf(this: unknown, name: string, value: unknown): unknown {
  // A Buffer comes as the list of its bytes already.
  const given = (this as Readonly<Record<string, unknown>>)[name];
  return Buffer.isBuffer(given) ? { bytes: given.length } : value;
}
