import type { ApplianceState } from './state';

/** Options of a session script. The same numbers always give the same sessions at the same seconds. */
export interface ScriptOptions {
  seed: number;
  /** This many sessions start within `seconds`. Some of them do not end in that time. */
  starts: number;
  seconds: number;
  /** Mean length of a session; most are shorter, some much longer. Default 120. */
  meanSeconds?: number;
}

interface Step {
  at: number;
  /** Number of the session that ends; undefined: one starts. */
  endedSession?: number;
}

/** Sessions that start and end by a seeded script, up to its current position. */
export class SessionScript {
  /** Ids of all started sessions, and of the ended ones. */
  readonly started: string[] = [];
  readonly ended = new Set<string>();
  private readonly steps: Step[];
  private next = 0;

  constructor(
    private readonly state: ApplianceState,
    { seed, starts, seconds, meanSeconds = 120 }: ScriptOptions,
  ) {
    const nextRandom = createRandom(seed);
    const begins = Array.from({ length: starts }, () => nextRandom() * seconds).sort((a, b) => a - b);
    const ends = begins.map((at, index): Step => ({ at: at - Math.log(1 - nextRandom()) * meanSeconds, endedSession: index }));
    const steps = [...begins.map((at): Step => ({ at })), ...ends];
    this.steps = steps.filter(({ at }) => at <= seconds).sort((a, b) => a.at - b.at);
  }

  /** Number of starts and ends in the whole script. */
  get length(): number {
    return this.steps.length;
  }

  /** Plays everything up to that second. */
  play(second: number): void {
    for (let step = this.steps[this.next]; step && step.at <= second; step = this.steps[++this.next]) {
      if (step.endedSession === undefined) this.started.push(this.state.sessions.add());
      else {
        const id = this.started[step.endedSession] ?? '';
        if (this.state.sessions.end(id)) this.ended.add(id);
      }
    }
  }
}

/** From 0 up to 1, the same each time (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
