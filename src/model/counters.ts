import type { ErrorCode } from './error-codes';

/** Upper bounds of a histogram of requests, in seconds: from what a kept connection takes to what a time limit allows. */
export const HISTOGRAM_BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;

/** A count that is added to where it stands: what a request costs must not show. */
interface Count {
  n: number;
}

type CountsByCode = Map<string | number, Count>;

/** How long something took, how often. */
export class Histogram {
  /** By the first bound that they were not above; those above all of them stand last. */
  readonly buckets = new Array<number>(HISTOGRAM_BOUNDS_SECONDS.length + 1).fill(0);
  seconds = 0;

  add(seconds: number): void {
    let bucket = 0;
    while (bucket < HISTOGRAM_BOUNDS_SECONDS.length && seconds > (HISTOGRAM_BOUNDS_SECONDS[bucket] as number)) bucket++;
    this.buckets[bucket] = (this.buckets[bucket] as number) + 1;
    this.seconds += seconds;
  }
}

interface MethodCounters {
  readonly codes: CountsByCode;
  readonly durations: Histogram;
}

/** What one gateway has sent since it was made. Counts only; of what comes from outside there is nothing in it but statuses. */
export class Counters {
  readonly since = Date.now();
  /** Requests by method: by status, or by the code of what ended them without one, and how long they took. */
  readonly requests = new Map<string, MethodCounters>();
  /** Runs that failed, by code. */
  readonly failures: CountsByCode = new Map();
  runs = 0;
  retries = 0;
  logins = 0;

  /** One exchange has ended. */
  countRequest(method: string, code: number | ErrorCode, seconds: number): void {
    let counters = this.requests.get(method);
    if (!counters) this.requests.set(method, (counters = { codes: new Map<string | number, Count>(), durations: new Histogram() }));
    add(counters.codes, code);
    counters.durations.add(seconds);
  }

  /** One run has ended so. */
  countFailure(code: ErrorCode): void {
    add(this.failures, code);
  }

  /** How long all of them took, whatever the method. */
  get durations(): Histogram {
    const all = new Histogram();
    for (const { durations } of this.requests.values()) {
      durations.buckets.forEach((n, index) => (all.buckets[index] = (all.buckets[index] as number) + n));
      all.seconds += durations.seconds;
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
  const plain = (counts: CountsByCode): Record<string, number> => Object.fromEntries([...counts].map(([code, { n }]) => [code, n]));
  const byMethod = <T>(value: (entry: MethodCounters) => T): Record<string, T> =>
    Object.fromEntries([...requests].map(([method, methodCounters]) => [method, value(methodCounters)]));
  return {
    since: new Date(since).toISOString(),
    runs,
    failures: plain(failures),
    requests: byMethod(({ codes }) => plain(codes)),
    retries,
    logins,
    seconds: byMethod(({ durations: { buckets, seconds } }) => ({
      buckets: [...buckets],
      count: buckets.reduce((sum, n) => sum + n, 0),
      sum: seconds,
    })),
    bounds: HISTOGRAM_BOUNDS_SECONDS,
    connections,
  };
}

function add(counts: CountsByCode, code: string | number): void {
  const count = counts.get(code);
  if (count) count.n++;
  else counts.set(code, { n: 1 });
}
