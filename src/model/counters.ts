import type { ErrorCode } from './error-codes';

/** Upper bounds of a histogram of requests, in seconds: from what a kept connection takes to what a time limit allows. */
export const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;

/** A count that is added to where it stands: what a request costs must not show. */
interface Count {
  n: number;
}

type ByCode = Map<string | number, Count>;

/** How long something took, how often. */
export class Histogram {
  /** By the first bound that they were not above; those above all of them stand last. */
  readonly buckets = new Array<number>(BOUNDS.length + 1).fill(0);
  seconds = 0;

  add(seconds: number): void {
    let bucket = 0;
    while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket++;
    this.buckets[bucket] = (this.buckets[bucket] as number) + 1;
    this.seconds += seconds;
  }
}

interface OfMethod {
  readonly codes: ByCode;
  readonly took: Histogram;
}

/** What one gateway has sent since it was made. Counts only; of what comes from outside there is nothing in it but statuses. */
export class Counters {
  readonly since = Date.now();
  /** Requests by method: by status, or by the code of what ended them without one, and how long they took. */
  readonly requests = new Map<string, OfMethod>();
  /** Runs that failed, by code. */
  readonly failures: ByCode = new Map();
  runs = 0;
  retries = 0;
  logins = 0;

  /** One exchange has ended. */
  requested(method: string, code: number | ErrorCode, seconds: number): void {
    let of = this.requests.get(method);
    if (!of) this.requests.set(method, (of = { codes: new Map<string | number, Count>(), took: new Histogram() }));
    add(of.codes, code);
    of.took.add(seconds);
  }

  /** One run has ended so. */
  failed(code: ErrorCode): void {
    add(this.failures, code);
  }

  /** How long all of them took, whatever the method. */
  get took(): Histogram {
    const all = new Histogram();
    for (const { took } of this.requests.values()) {
      took.buckets.forEach((n, index) => (all.buckets[index] = (all.buckets[index] as number) + n));
      all.seconds += took.seconds;
    }
    return all;
  }
}

/** What was counted, as plain data. */
export interface CounterValues {
  /** ISO time from which on it was counted. */
  readonly since: string;
  /** Operations that have ended. */
  readonly runs: number;
  /** Those that failed, by code. */
  readonly failures: Readonly<Record<string, number>>;
  /** By method, then by status, or by the code of what ended it without one. Logins among them. */
  readonly requests: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly retries: number;
  readonly logins: number;
  /** How long requests took, once they had a connection, by method: `buckets` has one number more than `bounds`, for what was longer. */
  readonly seconds: Readonly<Record<string, { readonly buckets: readonly number[]; readonly count: number; readonly sum: number }>>;
  /** Upper bounds of the buckets, in seconds. */
  readonly bounds: readonly number[];
  /** Connections, and requests that wait for one, of all who share them; how many were opened so far. */
  readonly connections: { readonly open: number; readonly waiting: number; readonly opened: number };
}

export function counterValues(counters: Counters, connections: CounterValues['connections']): CounterValues {
  const { since, runs, failures, requests, retries, logins } = counters;
  const plain = (counts: ByCode): Record<string, number> => Object.fromEntries([...counts].map(([code, { n }]) => [code, n]));
  const of = <T>(value: (of: OfMethod) => T): Record<string, T> =>
    Object.fromEntries([...requests].map(([method, found]) => [method, value(found)]));
  return {
    since: new Date(since).toISOString(),
    runs,
    failures: plain(failures),
    requests: of(({ codes }) => plain(codes)),
    retries,
    logins,
    seconds: of(({ took: { buckets, seconds } }) => ({
      buckets: [...buckets],
      count: buckets.reduce((sum, n) => sum + n, 0),
      sum: seconds,
    })),
    bounds: BOUNDS,
    connections,
  };
}

function add(counts: ByCode, code: string | number): void {
  const count = counts.get(code);
  if (count) count.n++;
  else counts.set(code, { n: 1 });
}
