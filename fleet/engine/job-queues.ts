import { createHash } from 'node:crypto';
import { PgBoss } from 'pg-boss';
import type { Database, SqlExecutor } from '../store/database';
import type { ItemJob, JobSender, RunQueueProperties } from '../store/run-store';
import type { RunRow } from '../store/rows';
import { toPriorityOfAppliance } from './appliance-share';
import { PG_BOSS_SCHEMA, hasSchema } from '../store/schema';

/** Seconds without a heartbeat after which pg-boss gives a job to another worker. pg-boss allows no shorter time. */
export const HEARTBEAT_SECONDS = 10;
export const SUPERVISE_SECONDS = 2;
/** Retries that pg-boss allows for a job: unlimited in practice, because the run store decides when an item is finished. */
const MAX_RETRIES = 1_000_000;
const DAY_SECONDS = 86_400;
/** Largest page of `findJobs`, more than a run has unfinished jobs. */
const MAX_FOUND_JOBS = 100_000;

/** States of a job that a worker has or will get. */
const LIVE_STATES = new Set(['created', 'retry', 'active']);

/** The queue names of one fleet. They contain a hash of the fleet key, because pg-boss allows few characters. */
class QueueNames {
  readonly normal: string;
  readonly urgent: string;
  /** Name of the coordinator queue. */
  readonly runs: string;
  readonly #fleet: string;

  constructor(fleet: string) {
    this.#fleet = fleet;
    const suffix = hashText(fleet);
    this.normal = `items_${suffix}`;
    this.urgent = `urgent_${suffix}`;
    this.runs = `runs_${suffix}`;
  }

  /** Each *fleet task* has its own queue, so that only engines with its flow get its items. */
  getTaskQueue(task: string): string {
    return `task_${hashText(JSON.stringify([this.#fleet, task]))}`;
  }

  getRunQueue({ kind, operation, urgent }: Pick<RunRow, 'kind' | 'operation' | 'urgent'>): string {
    if (kind === 'task') return this.getTaskQueue(operation);
    return urgent ? this.urgent : this.normal;
  }
}

const hashText = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 24);

/** The pg-boss queues. They store jobs and give jobs of dead workers to other workers. */
export class JobQueues implements JobSender {
  #boss: PgBoss | undefined;
  readonly #onFault: (fault: Error) => void;
  readonly names: QueueNames;
  readonly #database: Database;
  readonly #createdQueues = new Set<string>();

  /** Creates the queues of one fleet; `fleet` is the fleet key. */
  constructor(database: Database, fleet: string, onFault: (fault: Error) => void) {
    this.#database = database;
    this.names = new QueueNames(fleet);
    this.#onFault = onFault;
  }

  /** Errors: before `start`. */
  get boss(): PgBoss {
    if (!this.#boss) throw new Error('The job queues are not started.');
    return this.#boss;
  }

  #createBoss(createSchema: boolean): PgBoss {
    const boss = new PgBoss({
      db: this.#database.createBossExecutor(),
      createSchema,
      schema: PG_BOSS_SCHEMA,
      schedule: false,
      // The engine calls `supervise`, because an idle fleet needs it less often.
      supervise: false,
      monitorIntervalSeconds: SUPERVISE_SECONDS,
      maintenanceIntervalSeconds: 600,
      flowIntervalSeconds: 600,
      bamIntervalSeconds: 600,
      persistWarnings: false,
    });
    boss.on('error', this.#onFault);
    return boss;
  }

  async start(): Promise<void> {
    // A role without CREATE on the database can use a schema that an administrator created.
    const hasBossSchema = await this.#database.transaction((sql) => hasSchema(sql, PG_BOSS_SCHEMA));
    this.#boss ??= this.#createBoss(!hasBossSchema);
    await this.#boss.start();
    for (const queue of [this.names.normal, this.names.urgent, this.names.runs]) await this.createQueue(queue);
  }

  async createQueue(queue: string): Promise<void> {
    if (this.#createdQueues.has(queue)) return;
    await this.boss.createQueue(queue, {
      retryLimit: MAX_RETRIES,
      retryDelay: 1,
      heartbeatSeconds: HEARTBEAT_SECONDS,
      // A job with heartbeats may take this long, because flows may wait for people.
      expireInSeconds: DAY_SECONDS - 1,
      retentionSeconds: 30 * DAY_SECONDS,
      deleteAfterSeconds: 3600,
    });
    this.#createdQueues.add(queue);
  }

  /** Gives jobs of dead workers to other workers and deletes old jobs. */
  async supervise(): Promise<void> {
    await this.boss.supervise();
  }

  async stop(): Promise<void> {
    await this.#boss?.stop({ graceful: false, close: false });
  }

  async sendItems(sql: SqlExecutor, run: RunRow, jobs: readonly ItemJob[]): Promise<void> {
    const queue = this.names.getRunQueue(run);
    await this.createQueue(queue);
    const queueJobs = jobs.map(({ id, run, index, appliance }) => ({
      id,
      data: { run, index },
      priority: toPriorityOfAppliance(appliance),
    }));
    await this.boss.insert(queue, queueJobs, { db: this.#database.createBossExecutor(sql) });
  }

  async findLostItemJobs(run: RunQueueProperties, jobs: readonly string[]): Promise<string[]> {
    const queue = this.names.getRunQueue(run);
    await this.createQueue(queue);
    const queued = await this.boss.findJobs(queue, { data: { run: run.id }, queued: true, limit: MAX_FOUND_JOBS });
    const queuedIds = new Set(queued.map(({ id }) => id));
    const lostJobs: string[] = [];
    // Few jobs are neither queued nor held by a living engine.
    for (const job of jobs) if (!queuedIds.has(job) && (await this.#isLost(queue, job))) lostJobs.push(job);
    return lostJobs;
  }

  isCoordinatorJobLost(job: string): Promise<boolean> {
    return this.#isLost(this.names.runs, job);
  }

  async #isLost(queue: string, job: string): Promise<boolean> {
    const [found] = await this.boss.findJobs(queue, { id: job });
    return !found || !LIVE_STATES.has(found.state);
  }

  async sendCoordinator(sql: SqlExecutor, run: string, job: string): Promise<void> {
    await this.boss.send(this.names.runs, { run }, { id: job, db: this.#database.createBossExecutor(sql) });
  }
}
