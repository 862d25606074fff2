import { GatewayError, safeMessage } from '@gateway-admin/node-red';
import type { Job, PgBoss } from 'pg-boss';
import type { AppliancePriorityRange } from './appliance-share';
import { HEARTBEAT_SECONDS } from './job-queues';

const HEARTBEAT_MS = (HEARTBEAT_SECONDS * 1000) / 4;
const MIN_PAUSE_MS = 50;
/** How long to wait after a job ends. Other jobs may end meanwhile, and one fetch then replaces all of them. */
const GATHER_MS = 20;
const MAX_PAUSE_MS = 1000;

/** Result of a job. `later`: the job must not run now, or another worker has it. `lost`: another worker took over the item and its job. */
export type JobResult = 'done' | 'later' | 'lost';

interface QueueWorkerOptions<T> {
  readonly boss: PgBoss;
  readonly queue: string;
  /** Maximum number of jobs that run at the same time. */
  readonly concurrency: number;
  readonly work: (data: T) => Promise<JobResult>;
  /** Returns false while the queue cannot have jobs, so that an idle engine sends no statements. */
  readonly mayHaveJobs: () => boolean;
  /** Returns the priorities of the jobs that this worker fetches first. */
  readonly getPreferredPriorityRange: () => AppliancePriorityRange | undefined;
  readonly onFault: (fault: unknown) => void;
}

/** A queue worker, whatever the type of its jobs. */
export type AnyQueueWorker = Pick<QueueWorker<object>, 'busy' | 'wake' | 'fetchAll' | 'stop' | 'stopHeartbeat' | 'flush'>;

const isObject = (data: unknown): data is object => typeof data === 'object' && data !== null;

function createInvalidJobError(queue: string, id: string): GatewayError {
  return new GatewayError(
    'BAD_INPUT',
    safeMessage`The job ${id} in the queue ${queue} has no run and no item, so another program must have sent it. It was removed, and nothing was sent.`,
    { sent: false },
  );
}

/** Fetches jobs from one queue as soon as it has capacity. It replaces the `work` method of pg-boss, which sleeps between jobs. */
export class QueueWorker<T extends object> {
  readonly #options: QueueWorkerOptions<T>;
  readonly #inFlight = new Set<string>();
  #finished: string[] = [];
  #stopped = false;
  /** Whether the queue is fetched even without runs. True at first, because a dead process may have left jobs. */
  #shouldFetch = true;
  #endSleep: (() => void) | undefined;
  #gatherTimer: NodeJS.Timeout | undefined;
  #ended: Promise<void> | undefined;
  #heartbeatTimer: NodeJS.Timeout | undefined;

  constructor(options: QueueWorkerOptions<T>) {
    this.#options = options;
  }

  get busy(): number {
    return this.#inFlight.size;
  }

  start(): void {
    this.#heartbeatTimer = setInterval(() => void this.#sendHeartbeat(), HEARTBEAT_MS).unref();
    this.#ended = this.#loop();
  }

  /** Checks the queue now. */
  wake(): void {
    clearTimeout(this.#gatherTimer);
    this.#gatherTimer = undefined;
    this.#endSleep?.();
  }

  /** Fetches until the queue is empty, although the fleet has no runs. The queue may hold jobs of a dead process or of another program. */
  fetchAll(): void {
    this.#shouldFetch = true;
    this.wake();
  }

  /** Stops fetching jobs. Jobs in flight continue. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.wake();
    await this.#ended;
  }

  /** Stops the heartbeats of jobs in flight. */
  stopHeartbeat(): void {
    clearInterval(this.#heartbeatTimer);
  }

  async #loop(): Promise<void> {
    const { concurrency, mayHaveJobs } = this.#options;
    let pause = MIN_PAUSE_MS;
    while (!this.#stopped) {
      const free = concurrency - this.#inFlight.size;
      const isActive = mayHaveJobs();
      let jobs: Job<T>[] = [];
      try {
        await this.#complete();
        if (free > 0 && (isActive || this.#shouldFetch)) {
          jobs = await this.#fetch(free);
          this.#shouldFetch &&= jobs.length > 0;
        }
      } catch (fault) {
        this.#options.onFault(fault);
        pause = MAX_PAUSE_MS;
      }
      for (const job of jobs) void this.#run(job);
      if (jobs.length > 0) pause = MIN_PAUSE_MS;
      if (jobs.length === 0 || jobs.length === free)
        await this.#sleep(this.#inFlight.size < concurrency && isActive ? pause : MAX_PAUSE_MS);
      if (jobs.length === 0) pause = Math.min(MAX_PAUSE_MS, pause * 1.5);
    }
    await this.flush();
  }

  async #fetch(batchSize: number): Promise<Job<T>[]> {
    const { boss, queue, getPreferredPriorityRange } = this.#options;
    const range = getPreferredPriorityRange();
    const preferred = range ? await boss.fetch<T>(queue, { batchSize, ...range }) : [];
    return preferred.length > 0 ? preferred : boss.fetch<T>(queue, { batchSize });
  }

  /** Tells pg-boss which jobs are finished. */
  async flush(): Promise<void> {
    await this.#complete().catch(this.#options.onFault);
  }

  async #run(job: Job<T>): Promise<void> {
    const { boss, queue, work, onFault } = this.#options;
    this.#inFlight.add(job.id);
    try {
      if (!isObject(job.data)) {
        // Only another program can have sent such a job, and a repetition would not help.
        onFault(createInvalidJobError(queue, job.id));
        this.#finished.push(job.id);
        return;
      }
      const result = await work(job.data);
      if (result === 'done') this.#finished.push(job.id);
      else if (result === 'later') await boss.fail(queue, job.id);
    } catch (fault) {
      // Without heartbeats, pg-boss gives the job to a worker again.
      onFault(fault);
    } finally {
      this.#inFlight.delete(job.id);
      this.#gather();
    }
  }

  #gather(): void {
    if (this.#inFlight.size <= this.#options.concurrency / 2) this.wake();
    else this.#gatherTimer ??= setTimeout(() => this.wake(), GATHER_MS);
  }

  /** Reports finished jobs. If a report is lost, the job starts again and ends at once, because the run store has the outcome. */
  async #complete(): Promise<void> {
    if (this.#finished.length === 0) return;
    const ids = this.#finished;
    this.#finished = [];
    await this.#options.boss.complete(this.#options.queue, ids);
  }

  async #sendHeartbeat(): Promise<void> {
    if (this.#inFlight.size > 0) await this.#options.boss.touch(this.#options.queue, [...this.#inFlight]).catch(() => undefined);
  }

  /** Waits until one of the jobs ends, at most this long. */
  #sleep(ms: number): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const endSleep = (): void => {
        clearTimeout(timer);
        this.#endSleep = undefined;
        resolve();
      };
      const timer = setTimeout(endSleep, ms);
      this.#endSleep = endSleep;
    });
  }
}
