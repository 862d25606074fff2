import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';

/** A line that a value may cross: upwards, or with `below` downwards. */
export interface WatchLimit {
  /** The name of the value, `*` for every one of licences. */
  readonly name: string;
  readonly above?: number;
  readonly below?: number;
  /** Only beyond this is it back; the line itself, if it is not given. */
  readonly release?: number;
  /** So many checks in a row have to say so, on the way there and back. */
  readonly checks?: number;
}

/** Where a value stands towards its line: whether it is beyond, and in how many checks it has said otherwise since. */
export interface LimitState {
  readonly beyond: boolean;
  readonly row: number;
}

export interface LimitCrossing {
  readonly event: 'above' | 'below';
  readonly limit: number;
}

/** The next standing after a check that saw this value. The first one is where it begins: it crosses nothing. */
export function evaluateLimit(
  limit: WatchLimit,
  value: number,
  previous: LimitState | undefined,
): { limitState: LimitState; crossing?: LimitCrossing } {
  const { above, below, checks = 1 } = limit;
  const threshold = above ?? below ?? 0;
  const release = limit.release ?? threshold;
  const isBeyond = above !== undefined ? value > threshold : value < threshold;
  const isBack = above !== undefined ? value <= release : value >= release;
  if (!previous) return { limitState: { beyond: isBeyond, row: 0 } };
  const isCrossing = previous.beyond ? isBack : isBeyond;
  if (!isCrossing) return { limitState: { beyond: previous.beyond, row: 0 } };
  if (previous.row + 1 < checks) return { limitState: { beyond: previous.beyond, row: previous.row + 1 } };
  const beyond = !previous.beyond;
  const event = (above !== undefined) === beyond ? 'above' : 'below';
  return { limitState: { beyond, row: 0 }, crossing: { event, limit: beyond ? threshold : release } };
}

/** What tells one limit from another in what is remembered: a changed one begins anew. */
export function limitKey({ name, above, below, release, checks }: WatchLimit): string {
  return JSON.stringify([name, above ?? null, below ?? null, release ?? null, checks ?? 1]);
}

const LIMIT_KEYS = new Set(['name', 'above', 'below', 'release', 'checks']);
const MAX_LIMITS = 200;
const MAX_CHECKS = 10_000;

/** Checks limits as they come from a flow file. Errors: `BAD_CONFIG` naming which one is wrong and how. */
export function readLimits(raw: unknown): WatchLimit[] {
  if (!Array.isArray(raw)) throw badConfig('limits has to be an array such as [{ "name": "CPU-UTILIZATION", "above": 90 }].');
  if (raw.length === 0) throw badConfig('limits is empty: there is nothing to watch for. Name at least one value.');
  if (raw.length > MAX_LIMITS) throw badConfig(safeMessage`limits has ${raw.length} entries; at most ${MAX_LIMITS} can be watched.`);
  return raw.map((entry: unknown, index) => {
    const badLimit = (reason: string): GatewayError => badConfig(safeMessage`limits[${index}] ${trusted(reason)}`);
    if (!isObject(entry)) throw badLimit('has to be an object with name and above or below.');
    const unknownKey = Object.keys(entry).find((key) => !LIMIT_KEYS.has(key));
    if (unknownKey !== undefined)
      throw badConfig(
        safeMessage`limits[${index}] has ${unknownKey}, which a limit has not. There are: ${trusted([...LIMIT_KEYS].join(', '))}.`,
      );
    const { name } = entry;
    if (typeof name !== 'string' || name.trim() === '') throw badLimit('needs a name: that of the value.');
    const numbers: Partial<Record<'above' | 'below' | 'release' | 'checks', number>> = {};
    for (const key of ['above', 'below', 'release', 'checks'] as const) {
      const value = entry[key];
      if (value === undefined) continue;
      if (typeof value !== 'number' || !Number.isFinite(value)) throw badLimit(`${key} has to be a number.`);
      numbers[key] = value;
    }
    const { above, below, release, checks } = numbers;
    if ((above === undefined) === (below === undefined)) throw badLimit('needs above or below, and not both.');
    if (checks !== undefined && !(Number.isInteger(checks) && checks >= 1 && checks <= MAX_CHECKS))
      throw badLimit('checks has to be a whole number from 1 on.');
    if (release !== undefined && above !== undefined && release > above)
      throw badLimit('has a release that is higher than above: it has to be lower, or the same.');
    if (release !== undefined && below !== undefined && release < below)
      throw badLimit('has a release that is lower than below: it has to be higher, or the same.');
    return { name: name.trim(), ...numbers };
  });
}

function badConfig(message: string | SafeMessage): GatewayError {
  return new GatewayError('BAD_CONFIG', message, { sent: false });
}
