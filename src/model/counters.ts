import type { ErrorCode } from './error-codes';

/** Upper bounds of a histogram of requests, in seconds: from what a kept connection takes to what a time limit allows. */
export const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;

/** A count that is added to where it stands: what a request costs must not show. */
interface Count {
  n: number;
}

type ByCode = Map<string | number, Count>;

/** What one gateway has sent since it was made. Counts only; of what comes from outside there is nothing in it but statuses. */
export class Counters {
  /** By method, then by status, or by the code of what ended it without one. */
  readonly requests = new Map<string, ByCode>();
  /** Runs that failed, by code. */
  readonly failures: ByCode = new Map();
  retries = 0;
  logins = 0;
  /** Requests by the first bound that they were not above; those above all of them stand last. */
  readonly buckets = new Array<number>(BOUNDS.length + 1).fill(0);
  seconds = 0;

  /** One exchange has ended. */
  requested(method: string, code: number | ErrorCode, seconds: number): void {
    let codes = this.requests.get(method);
    if (!codes) this.requests.set(method, (codes = new Map<string | number, Count>()));
    add(codes, code);
    let bucket = 0;
    while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket++;
    this.buckets[bucket] = (this.buckets[bucket] as number) + 1;
    this.seconds += seconds;
  }

  /** One run has ended so. */
  failed(code: ErrorCode): void {
    add(this.failures, code);
  }
}

function add(counts: ByCode, code: string | number): void {
  const count = counts.get(code);
  if (count) count.n++;
  else counts.set(code, { n: 1 });
}
