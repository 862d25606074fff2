import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';

/** A threshold that a value can cross: upward with `above`, downward with `below`. */
export interface WatchLimit {
  /** The name of the value. `*` stands for every license. */
  readonly name: string;
  readonly above?: number;
  readonly below?: number;
  /** The value at which the limit counts as no longer crossed. Default: the threshold itself. */
  readonly release?: number;
  /** The number of consecutive checks that must agree before a crossing counts, in both directions. Default: 1. */
  readonly checks?: number;
}

/** Whether a value has crossed its limit, and how many consecutive checks have said the opposite since. */
export interface WatchLimitState {
  readonly crossed: boolean;
  readonly opposingChecks: number;
}

export interface WatchLimitCrossing {
  readonly event: 'above' | 'below';
  readonly limit: number;
}

/** Evaluates a limit against the value of a check. The first check sets the baseline and reports no crossing. */
export function evaluateWatchLimit(
  limit: WatchLimit,
  value: number,
  previous: WatchLimitState | undefined,
): { limitState: WatchLimitState; crossing?: WatchLimitCrossing } {
  const { above, below, checks = 1 } = limit;
  const threshold = above ?? below ?? 0;
  const release = limit.release ?? threshold;
  const isPastThreshold = above !== undefined ? value > threshold : value < threshold;
  const isReleased = above !== undefined ? value <= release : value >= release;
  if (!previous) return { limitState: { crossed: isPastThreshold, opposingChecks: 0 } };
  const isOpposing = previous.crossed ? isReleased : isPastThreshold;
  if (!isOpposing) return { limitState: { crossed: previous.crossed, opposingChecks: 0 } };
  if (previous.opposingChecks + 1 < checks) return { limitState: { ...previous, opposingChecks: previous.opposingChecks + 1 } };
  const crossed = !previous.crossed;
  const event = (above !== undefined) === crossed ? 'above' : 'below';
  return { limitState: { crossed, opposingChecks: 0 }, crossing: { event, limit: crossed ? threshold : release } };
}

/** Identifies a limit in saved states. A limit whose numbers change starts over. */
export function createWatchLimitKey({ name, above, below, release, checks }: WatchLimit): string {
  return JSON.stringify([name, above ?? null, below ?? null, release ?? null, checks ?? 1]);
}

const LIMIT_KEYS = new Set(['name', 'above', 'below', 'release', 'checks']);
const MAX_LIMITS = 200;
const MAX_CHECKS = 10_000;

/** Checks limits from a flow file. Errors: `BAD_CONFIG` with the number of the entry and the reason. */
export function parseWatchLimits(raw: unknown): WatchLimit[] {
  if (!Array.isArray(raw)) throw badConfig('limits must be an array such as [{ "name": "CPU-UTILIZATION", "above": 90 }].');
  if (raw.length === 0) throw badConfig('limits is empty. Enter at least one limit.');
  if (raw.length > MAX_LIMITS) throw badConfig(safeMessage`limits has ${raw.length} entries; the maximum is ${MAX_LIMITS}.`);
  return raw.map((entry: unknown, index) => {
    const badLimit = (reason: string): GatewayError => badConfig(safeMessage`limits[${index}] ${trusted(reason)}`);
    if (!isObject(entry)) throw badLimit('must be an object with name and above or below.');
    const unknownKey = Object.keys(entry).find((key) => !LIMIT_KEYS.has(key));
    if (unknownKey !== undefined)
      throw badConfig(safeMessage`limits[${index}] has the unknown property ${unknownKey}. Use ${trusted([...LIMIT_KEYS].join(', '))}.`);
    const { name } = entry;
    if (typeof name !== 'string' || name.trim() === '') throw badLimit('needs a name: the name of the value.');
    const numbers: Partial<Record<'above' | 'below' | 'release' | 'checks', number>> = {};
    for (const key of ['above', 'below', 'release', 'checks'] as const) {
      const value = entry[key];
      if (value === undefined) continue;
      if (typeof value !== 'number' || !Number.isFinite(value)) throw badLimit(`${key} must be a number.`);
      numbers[key] = value;
    }
    const { above, below, release, checks } = numbers;
    if ((above === undefined) === (below === undefined)) throw badLimit('needs either above or below.');
    if (checks !== undefined && !(Number.isInteger(checks) && checks >= 1 && checks <= MAX_CHECKS))
      throw badLimit(`checks must be a whole number from 1 to ${MAX_CHECKS}.`);
    if (release !== undefined && above !== undefined && release > above) throw badLimit('release must not be higher than above.');
    if (release !== undefined && below !== undefined && release < below) throw badLimit('release must not be lower than below.');
    return { name: name.trim(), ...numbers };
  });
}

function badConfig(message: string | SafeMessage): GatewayError {
  return new GatewayError('BAD_CONFIG', message, { sent: false });
}
