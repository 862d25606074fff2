import { GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';

/** A count, or a percentage of all appliances such as `10%`. */
export type CountOrPercent = number | string;

/** How an operation proceeds over many appliances. */
export interface RolloutOptions {
  /** The number of appliances at the same time, 1 to 256; default 16. */
  readonly concurrency?: number | undefined;
  /** Run on this many appliances first; continue only if all succeed. */
  readonly canary?: number | undefined;
  /** The size of a batch. The next batch starts when all appliances of one are done. */
  readonly batch?: CountOrPercent | undefined;
  /** Stop after more failures than this, counted over all batches. */
  readonly maxFailures?: CountOrPercent | undefined;
}

export const DEFAULT_CONCURRENCY = 16;
const MAX_CONCURRENCY = 256;

/** The rollout options for a number of appliances. */
export interface RolloutPlan {
  readonly concurrency: number;
  readonly canary: number;
  /** The end index of each part: the canary, then the batches. A part starts when all appliances of the previous one are done. */
  readonly ends: readonly number[];
  readonly maxFailures: number;
}

/** Errors: `BAD_CONFIG` with the invalid option. */
export function planRollout(
  { concurrency = DEFAULT_CONCURRENCY, canary = 0, batch, maxFailures }: RolloutOptions,
  total: number,
): RolloutPlan {
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY)
    throw badConfig('concurrency (atOnce)', `a whole number from 1 to ${MAX_CONCURRENCY}`);
  if (!Number.isInteger(canary) || canary < 0) throw badConfig('canary', 'a whole number from 0');
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
    throw badConfig(name, 'a whole number or a percentage such as 10%');
  return percent ? (number / 100) * total : number;
}

function badConfig(name: string, requirement: string): GatewayError {
  return new GatewayError('BAD_CONFIG', safeMessage`${trusted(name)} must be ${trusted(requirement)}.`, { sent: false });
}
