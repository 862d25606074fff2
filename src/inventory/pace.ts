import { GatewayError } from '../model/error';
import { ours, sentence } from '../model/sentence';

/** A count, or a share of all such as `10%`. */
export type Share = number | string;

/** How a run goes over many appliances. */
export interface PaceOptions {
  /** Appliances at the same time; default 16. */
  readonly atOnce?: number | undefined;
  /** So many first; the rest only if all of them are well. */
  readonly canary?: number | undefined;
  /** So many, then the next so many. */
  readonly batch?: Share | undefined;
  /** When more than these have failed, nothing more is started; counted over all batches. */
  readonly maxFailures?: Share | undefined;
}

export const AT_ONCE = 16;
const MOST_AT_ONCE = 256;

/** The same, worked out for so many appliances. */
export interface Pace {
  readonly atOnce: number;
  readonly canary: number;
  /** Where each part ends, the canary's first; the next begins when all of one are done. */
  readonly ends: readonly number[];
  readonly maxFailures: number;
}

/** Errors: `BAD_CONFIG` naming what cannot be. */
export function paceOf({ atOnce = AT_ONCE, canary = 0, batch, maxFailures }: PaceOptions, total: number): Pace {
  if (!Number.isInteger(atOnce) || atOnce < 1 || atOnce > MOST_AT_ONCE) throw bad('atOnce', `a whole number from 1 to ${MOST_AT_ONCE}`);
  if (!Number.isInteger(canary) || canary < 0) throw bad('canary', 'a whole number, 0 or more');
  const size = batch === undefined ? total : Math.ceil(shareOf('batch', batch, total));
  if (batch !== undefined && !(shareOf('batch', batch, 1) > 0)) throw bad('batch', 'more than 0');
  const ends = canary > 0 && canary < total ? [canary] : [];
  for (let end = ends[0] ?? 0; end < total;) ends.push((end = Math.min(total, end + Math.max(1, size))));
  return { atOnce, canary, ends, maxFailures: maxFailures === undefined ? Infinity : shareOf('maxFailures', maxFailures, total) };
}

function shareOf(name: string, share: Share, total: number): number {
  const [, digits, percent] = /^\s*(\d{1,9}(?:\.\d{1,6})?)\s*(%?)\s*$/.exec(String(share)) ?? [];
  const number = Number(digits);
  if (digits === undefined || (percent ? number > 100 : !Number.isInteger(number)))
    throw bad(name, 'a whole number, or a share such as 10%');
  return percent ? (number / 100) * total : number;
}

function bad(name: string, what: string): GatewayError {
  return new GatewayError('BAD_CONFIG', sentence`${ours(name)} has to be ${ours(what)}.`, { sent: false });
}
