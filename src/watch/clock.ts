/** Time as a watch sees it: that of the machine, or one that a test moves. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Does something later; the answer takes that back. */
  schedule(ms: number, work: () => void): () => void;
  /** From 0 up to 1, for the jitter. */
  random(): number;
}

/** A watch alone keeps no process alive: whoever runs it has something of its own to stay for. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule: (ms, work) => {
    const timer = setTimeout(work, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
