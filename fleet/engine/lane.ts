import type { Job, PgBoss } from 'pg-boss';
import { HEARTBEAT } from './queues';

const TOUCH_MS = (HEARTBEAT * 1000) / 4;
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** `later`: it is not its time yet, or somebody else has it. `lost`: somebody else has taken it over while we worked, and the job with it. */
export type Worked = 'done' | 'later' | 'lost';

export interface LaneOptions<T> {
  readonly boss: PgBoss;
  readonly queue: string;
  /** Jobs at the same time. */
  readonly limit: number;
  readonly work: (data: T) => Promise<Worked>;
  readonly onFault: (fault: unknown) => void;
}

/** A lane, whatever its jobs are. */
export type AnyLane = Pick<Lane<object>, 'busy' | 'nudge' | 'stop' | 'end' | 'flush'>;

/** Takes jobs of one queue as fast as they are done: the `work` of pg-boss sleeps between jobs. */
export class Lane<T extends object> {
  readonly #options: LaneOptions<T>;
  readonly #inFlight = new Set<string>();
  #finished: string[] = [];
  #stopped = false;
  #wake: (() => void) | undefined;
  #ended: Promise<void> | undefined;
  #touching: NodeJS.Timeout | undefined;

  constructor(options: LaneOptions<T>) {
    this.#options = options;
  }

  get busy(): number {
    return this.#inFlight.size;
  }

  start(): void {
    this.#touching = setInterval(() => void this.#touch(), TOUCH_MS).unref();
    this.#ended = this.#loop();
  }

  /** There may be something to do. */
  nudge(): void {
    this.#wake?.();
  }

  /** Takes nothing more. What is in flight goes on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.nudge();
    await this.#ended;
  }

  /** No sign of life any more. */
  end(): void {
    clearInterval(this.#touching);
  }

  async #loop(): Promise<void> {
    const { boss, queue, limit } = this.#options;
    let pause = SHORTEST_PAUSE_MS;
    while (!this.#stopped) {
      const free = limit - this.#inFlight.size;
      let jobs: Job<T>[] = [];
      try {
        await this.#complete();
        if (free > 0) jobs = await boss.fetch<T>(queue, { batchSize: free });
      } catch (fault) {
        this.#options.onFault(fault);
        pause = LONGEST_PAUSE_MS;
      }
      for (const job of jobs) void this.#run(job);
      if (jobs.length > 0) pause = SHORTEST_PAUSE_MS;
      if (jobs.length === 0 || jobs.length === free) await this.#sleep(this.#inFlight.size < limit ? pause : LONGEST_PAUSE_MS);
      if (jobs.length === 0) pause = Math.min(LONGEST_PAUSE_MS, pause * 1.5);
    }
    await this.flush();
  }

  /** Tells the ends that have not been told. */
  async flush(): Promise<void> {
    await this.#complete().catch(this.#options.onFault);
  }

  async #run(job: Job<T>): Promise<void> {
    const { boss, queue, work, onFault } = this.#options;
    this.#inFlight.add(job.id);
    try {
      const worked = await work(job.data);
      if (worked === 'done') this.#finished.push(job.id);
      else if (worked === 'later') await boss.fail(queue, job.id);
    } catch (fault) {
      // Without heartbeats it is given to somebody else, us perhaps.
      onFault(fault);
    } finally {
      this.#inFlight.delete(job.id);
      this.nudge();
    }
  }

  /** The ledger has the outcome already: a job whose end is not told is begun again and found to be over. */
  async #complete(): Promise<void> {
    if (this.#finished.length === 0) return;
    const ids = this.#finished;
    this.#finished = [];
    await this.#options.boss.complete(this.#options.queue, ids);
  }

  async #touch(): Promise<void> {
    if (this.#inFlight.size > 0) await this.#options.boss.touch(this.#options.queue, [...this.#inFlight]).catch(() => undefined);
  }

  /** Until a job has ended, or for so long. */
  #sleep(ms: number): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wake = wake;
    });
  }
}
