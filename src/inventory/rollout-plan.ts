import { GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';

/** A count, or a share of all such as `10%`. */
export type CountOrPercent = number | string;

/** How a run goes over many appliances. */
export interface RolloutOptions {
  /** Appliances at the same time; default 16. */
  readonly concurrency?: number | undefined;
  /** So many first; the rest only if all of them are well. */
  readonly canary?: number | undefined;
  /** So many, then the next so many. */
  readonly batch?: CountOrPercent | undefined;
  /** When more than these have failed, nothing more is started; counted over all batches. */
  readonly maxFailures?: CountOrPercent | undefined;
}

export const DEFAULT_CONCURRENCY = 16;
const MAX_CONCURRENCY = 256;

/** The same, worked out for so many appliances. */
export interface RolloutPlan {
  readonly concurrency: number;
  readonly canary: number;
  /** Where each part ends, the canary's first; the next begins when all of one are done. */
  readonly ends: readonly number[];
  readonly maxFailures: number;
}

/** Errors: `BAD_CONFIG` naming what cannot be. */
export function planRollout(
  { concurrency = DEFAULT_CONCURRENCY, canary = 0, batch, maxFailures }: RolloutOptions,
  total: number,
): RolloutPlan {
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY)
    throw badConfig('atOnce', `a whole number from 1 to ${MAX_CONCURRENCY}`);
  if (!Number.isInteger(canary) || canary < 0) throw badConfig('canary', 'a whole number, 0 or more');
  const size = batch === undefined ? total : Math.ceil(parseCountOrPercent('batch', batch, total));
  if (batch !== undefined && !(parseCountOrPercent('batch', batch, 1) > 0)) throw badConfig('batch', 'more than 0');
  const ends = canary > 0 && canary < total ? [canary] : [];
  for (let end = ends[0] ?? 0; end < total;) ends.push((end = Math.min(total, end + Math.max(1, size))));
  return {
    concurrency,
    canary,
    ends,
    maxFailures: maxFailures === undefined ? Infinity : parseCountOrPercent('maxFailures', maxFailures, total),
  };
}

function parseCountOrPercent(name: string, value: CountOrPercent, total: number): number {
  const [, digits, percent] = /^\s*(\d{1,9}(?:\.\d{1,6})?)\s*(%?)\s*$/.exec(String(value)) ?? [];
  const number = Number(digits);
  if (digits === undefined || (percent ? number > 100 : !Number.isInteger(number)))
    throw badConfig(name, 'a whole number, or a share such as 10%');
  return percent ? (number / 100) * total : number;
}

function badConfig(name: string, requirement: string): GatewayError {
  return new GatewayError('BAD_CONFIG', safeMessage`${trusted(name)} has to be ${trusted(requirement)}.`, { sent: false });
}
