import { createHash } from 'node:crypto';
import { PgBoss } from 'pg-boss';
import type { Database, SqlExecutor } from '../store/database';
import type { ItemJob, JobSender } from '../store/run-store';
import type { RunRow } from '../store/rows';
import { BOSS_SCHEMA } from '../store/schema';

/** Seconds without a heartbeat after which pg-boss gives a job to another worker. This is the minimum of pg-boss. */
export const HEARTBEAT_SECONDS = 10;
const SUPERVISE_SECONDS = 2;
/** The run store decides when an item is finished, so the queue must not give up its job. */
const MAX_RETRIES = 1_000_000;
const DAY_SECONDS = 86_400;

/** Queues for items, urgent items and coordinators. */
export const QUEUE_NAMES = { normal: 'items', urgent: 'urgent', runs: 'runs' } as const;

/** Each *fleet task* has its own queue, so that only engines with its flow get its items. */
export function toTaskQueueName(name: string): string {
  return `task_${createHash('sha256').update(name).digest('hex').slice(0, 24)}`;
}

export function toQueueName({ kind, operation, urgent }: Pick<RunRow, 'kind' | 'operation' | 'urgent'>): string {
  if (kind === 'task') return toTaskQueueName(operation);
  return urgent ? QUEUE_NAMES.urgent : QUEUE_NAMES.normal;
}

/** The queues of pg-boss. It stores jobs and gives jobs of dead workers to other workers. */
export class JobQueues implements JobSender {
  readonly boss: PgBoss;
  readonly #database: Database;
  readonly #createdQueues = new Set<string>();

  constructor(database: Database, onFault: (fault: Error) => void) {
    this.#database = database;
    this.boss = new PgBoss({
      db: database.createBossExecutor(),
      schema: BOSS_SCHEMA,
      schedule: false,
      superviseIntervalSeconds: SUPERVISE_SECONDS,
      monitorIntervalSeconds: SUPERVISE_SECONDS,
      maintenanceIntervalSeconds: 600,
      flowIntervalSeconds: 600,
      bamIntervalSeconds: 600,
      persistWarnings: false,
    });
    this.boss.on('error', onFault);
  }

  async start(): Promise<void> {
    await this.boss.start();
    for (const queue of Object.values(QUEUE_NAMES)) await this.createQueue(queue);
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

  stop(): Promise<void> {
    return this.boss.stop({ graceful: false, close: false });
  }

  async sendItems(sql: SqlExecutor, run: RunRow, jobs: readonly ItemJob[]): Promise<void> {
    const queue = toQueueName(run);
    await this.createQueue(queue);
    const all = jobs.map(({ id, run, index }) => ({ id, data: { run, index } }));
    await this.boss.insert(queue, all, { db: this.#database.createBossExecutor(sql) });
  }

  async sendCoordinator(sql: SqlExecutor, run: string, job: string): Promise<void> {
    await this.boss.send(QUEUE_NAMES.runs, { run }, { id: job, db: this.#database.createBossExecutor(sql) });
  }
}
