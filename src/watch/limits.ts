import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { ours, sentence, type Sentence } from '../model/sentence';

/** A line that a value may cross: upwards, or with `below` downwards. */
export interface Limit {
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
export interface Standing {
  readonly beyond: boolean;
  readonly row: number;
}

export interface Crossing {
  readonly event: 'above' | 'below';
  readonly limit: number;
}

/** The next standing after a check that saw this value. The first one is where it begins: it crosses nothing. */
export function cross(limit: Limit, value: number, before: Standing | undefined): { standing: Standing; crossing?: Crossing } {
  const { above, below, checks = 1 } = limit;
  const line = above ?? below ?? 0;
  const release = limit.release ?? line;
  const isBeyond = above !== undefined ? value > line : value < line;
  const isBack = above !== undefined ? value <= release : value >= release;
  if (!before) return { standing: { beyond: isBeyond, row: 0 } };
  const turns = before.beyond ? isBack : isBeyond;
  if (!turns) return { standing: { beyond: before.beyond, row: 0 } };
  if (before.row + 1 < checks) return { standing: { beyond: before.beyond, row: before.row + 1 } };
  const beyond = !before.beyond;
  const event = (above !== undefined) === beyond ? 'above' : 'below';
  return { standing: { beyond, row: 0 }, crossing: { event, limit: beyond ? line : release } };
}

/** What tells one limit from another in what is remembered: a changed one begins anew. */
export function limitKey({ name, above, below, release, checks }: Limit): string {
  return JSON.stringify([name, above ?? null, below ?? null, release ?? null, checks ?? 1]);
}

const KEYS = new Set(['name', 'above', 'below', 'release', 'checks']);
const MOST = 200;
const MOST_CHECKS = 10_000;

/** Checks limits as they come from a flow file. Errors: `BAD_CONFIG` naming which one is wrong and how. */
export function readLimits(given: unknown): Limit[] {
  if (!Array.isArray(given)) throw bad('limits has to be an array such as [{ "name": "CPU-UTILIZATION", "above": 90 }].');
  if (given.length === 0) throw bad('limits is empty: there is nothing to watch for. Name at least one value.');
  if (given.length > MOST) throw bad(sentence`limits has ${given.length} entries; at most ${MOST} can be watched.`);
  return given.map((entry: unknown, index) => {
    const wrong = (why: string): GatewayError => bad(sentence`limits[${index}] ${ours(why)}`);
    if (!isObject(entry)) throw wrong('has to be an object with name and above or below.');
    const odd = Object.keys(entry).find((key) => !KEYS.has(key));
    if (odd !== undefined)
      throw bad(sentence`limits[${index}] has ${odd}, which a limit has not. There are: ${ours([...KEYS].join(', '))}.`);
    const { name } = entry;
    if (typeof name !== 'string' || name.trim() === '') throw wrong('needs a name: that of the value.');
    const numbers: Partial<Record<'above' | 'below' | 'release' | 'checks', number>> = {};
    for (const key of ['above', 'below', 'release', 'checks'] as const) {
      const value = entry[key];
      if (value === undefined) continue;
      if (typeof value !== 'number' || !Number.isFinite(value)) throw wrong(`${key} has to be a number.`);
      numbers[key] = value;
    }
    const { above, below, release, checks } = numbers;
    if ((above === undefined) === (below === undefined)) throw wrong('needs above or below, and not both.');
    if (checks !== undefined && !(Number.isInteger(checks) && checks >= 1 && checks <= MOST_CHECKS))
      throw wrong('checks has to be a whole number from 1 on.');
    if (release !== undefined && above !== undefined && release > above)
      throw wrong('has a release that is higher than above: it has to be lower, or the same.');
    if (release !== undefined && below !== undefined && release < below)
      throw wrong('has a release that is lower than below: it has to be higher, or the same.');
    return { name: name.trim(), ...numbers };
  });
}

function bad(message: string | Sentence): GatewayError {
  return new GatewayError('BAD_CONFIG', message, { sent: false });
}
