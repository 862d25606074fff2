import {
  asGatewayError,
  isSecretName,
  partlyFailed,
  type Envelope,
  type ErrorCode,
  type GatewayError,
  type Outcome,
} from '@gateway-admin/node-red';
import type { ItemOutcome, Json } from '../ledger/rows';

/** Longer words are of no use in a table of a thousand rows. */
const LONGEST_MESSAGE = 500;
const MASK = '***';

/** Takes what must not be kept out of a text. */
export type Clean = (text: string) => string;

/** Addresses stay out of the tables: an appliance is told of by its name. */
export function withoutAddress(name: string, url: string | undefined): Clean {
  const parsed = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  const addresses = [url, parsed?.origin, parsed?.host, parsed?.hostname].filter((one): one is string => one !== undefined && one !== '');
  return (text) => addresses.reduce((clean, address) => clean.replaceAll(address, name), text);
}

export function succeeded({ data, many, envelope }: Outcome, keepsData: boolean, clean: Clean): ItemOutcome {
  const { changed, plan } = envelope;
  const error = partlyFailed(many);
  return {
    state: error ? 'failed' : 'ok',
    changed,
    ...(error && { code: error.code, message: short(clean(error.message)) }),
    ...(keepsData && { data: withoutSecrets(data) }),
    ...(plan && { plan: withoutSecrets(plan) as readonly Json[] }),
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

const costs = (envelope: Envelope | undefined): Pick<ItemOutcome, 'requests' | 'retries' | 'logins'> =>
  envelope ? { requests: envelope.requests, retries: envelope.retries, logins: envelope.logins } : {};

const short = (text: string): string => (text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text);

/** What stands under a secret's name is not kept, and of what is no JSON only how long it is. */
function withoutSecrets(data: unknown): unknown {
  if (data === undefined) return undefined;
  if (Buffer.isBuffer(data)) return { bytes: data.length };
  return JSON.parse(JSON.stringify(data, (name, value: unknown) => (isSecretName(name) && isLeaf(value) ? MASK : value))) as unknown;
}

const isLeaf = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number';
