/** The time source of a watch. Tests replace it with one that they advance. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds since any moment, unaffected by changes of the machine's clock. Checks are planned with it. */
  monotonic(): number;
  /** Runs `work` after `ms` milliseconds. The returned function cancels it. */
  schedule(ms: number, work: () => void): () => void;
  /** A random number from 0 to 1 (exclusive), for the jitter. */
  random(): number;
}

/** The clock of the machine. Its timers do not keep the process alive. */
export const systemWatchClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule: (ms, work) => {
    const timer = setTimeout(work, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
