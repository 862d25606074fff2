import type { ErrorCode } from './error-codes';

/** Upper bounds of the request histogram in seconds, from the time on a kept connection to the time limits. */
export const HISTOGRAM_BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;

/** A count that can be incremented in place, so that counting a request allocates no memory. */
interface Count {
  n: number;
}

type CountsByCode = Map<string | number, Count>;

/** A histogram of durations. */
export class Histogram {
  /** One count per bound in `HISTOGRAM_BOUNDS_SECONDS`; the last one counts everything longer. */
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

/** What one gateway has sent since it was created. The counters hold no text from outside, only statuses. */
export class Counters {
  readonly since = Date.now();
  /** Requests by method: counts by status or error code, and their durations. */
  readonly requests = new Map<string, MethodCounters>();
  /** Failed runs by error code. */
  readonly failures: CountsByCode = new Map();
  runs = 0;
  retries = 0;
  logins = 0;

  /** Counts a finished exchange. */
  countRequest(method: string, code: number | ErrorCode, seconds: number): void {
    let counters = this.requests.get(method);
    if (!counters) this.requests.set(method, (counters = { codes: new Map<string | number, Count>(), durations: new Histogram() }));
    add(counters.codes, code);
    counters.durations.add(seconds);
  }

  /** Counts a failed run. */
  countFailure(code: ErrorCode): void {
    add(this.failures, code);
  }

  /** Durations of all methods together. */
  get durations(): Histogram {
    const all = new Histogram();
    for (const { durations } of this.requests.values()) {
      durations.buckets.forEach((n, index) => (all.buckets[index] = (all.buckets[index] as number) + n));
      all.seconds += durations.seconds;
    }
    return all;
  }
}

/** The counters as plain data. */
export interface CounterValues {
  /** ISO time at which counting started. */
  readonly since: string;
  /** Finished operations. */
  readonly runs: number;
  /** Failed operations by error code. */
  readonly failures: Readonly<Record<string, number>>;
  /** By method, then by status, or by error code when there was no status. Includes logins. */
  readonly requests: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly retries: number;
  readonly logins: number;
  /**
   * Duration of requests in seconds by method, without the wait for a connection. `buckets` has one entry more than `bounds`, for longer
   * requests.
   */
  readonly seconds: Readonly<Record<string, { readonly buckets: readonly number[]; readonly count: number; readonly sum: number }>>;
  /** Upper bounds of the buckets, in seconds. */
  readonly bounds: readonly number[];
  /** Open connections, requests that wait for one, and connections opened so far, for all gateways that share the pool. */
  readonly connections: { readonly open: number; readonly waiting: number; readonly opened: number };
}

export function toCounterValues(counters: Counters, connections: CounterValues['connections']): CounterValues {
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
