import { createHash } from 'node:crypto';
import { PgBoss } from 'pg-boss';
import type { Database, Sql } from '../ledger/database';
import type { ItemJob, Sends } from '../ledger/ledger';
import type { RunRow } from '../ledger/rows';
import { BOSS_SCHEMA } from '../ledger/schema';

/** Seconds without a sign of life after which a job is given to somebody else; pg-boss takes no less. */
export const HEARTBEAT = 10;
const SUPERVISE = 2;
/** The ledger says when an item is done with: a job is never given up before. */
const RETRIES = 1_000_000;
const DAY = 86_400;

/** The lanes of items, and that of the coordinators. */
export const LANES = { usual: 'items', urgent: 'urgent', runs: 'runs' } as const;

/** Items of a drawn flow go to those who have that flow. */
export function taskQueue(name: string): string {
  return `task_${createHash('sha256').update(name).digest('hex').slice(0, 24)}`;
}

export function queueOf({ kind, operation, urgent }: Pick<RunRow, 'kind' | 'operation' | 'urgent'>): string {
  if (kind === 'task') return taskQueue(operation);
  return urgent ? LANES.urgent : LANES.usual;
}

/** What pg-boss does here: it keeps the jobs, notices those whose worker has died, and gives them to another one. */
export class Queues implements Sends {
  readonly boss: PgBoss;
  readonly #database: Database;
  readonly #known = new Set<string>();

  constructor(database: Database, onFault: (fault: Error) => void) {
    this.#database = database;
    this.boss = new PgBoss({
      db: database.boss(),
      schema: BOSS_SCHEMA,
      schedule: false,
      superviseIntervalSeconds: SUPERVISE,
      monitorIntervalSeconds: SUPERVISE,
      maintenanceIntervalSeconds: 600,
      flowIntervalSeconds: 600,
      bamIntervalSeconds: 600,
      persistWarnings: false,
    });
    this.boss.on('error', onFault);
  }

  async start(): Promise<void> {
    await this.boss.start();
    for (const queue of Object.values(LANES)) await this.create(queue);
  }

  async create(queue: string): Promise<void> {
    if (this.#known.has(queue)) return;
    await this.boss.createQueue(queue, {
      retryLimit: RETRIES,
      retryDelay: 1,
      heartbeatSeconds: HEARTBEAT,
      // As long as heartbeats come a job may take; drawn flows wait for people.
      expireInSeconds: DAY - 1,
      retentionSeconds: 30 * DAY,
      deleteAfterSeconds: 3600,
    });
    this.#known.add(queue);
  }

  stop(): Promise<void> {
    return this.boss.stop({ graceful: false, close: false });
  }

  async items(sql: Sql, run: RunRow, jobs: readonly ItemJob[]): Promise<void> {
    const queue = queueOf(run);
    await this.create(queue);
    const all = jobs.map(({ id, run, index }) => ({ id, data: { run, index } }));
    await this.boss.insert(queue, all, { db: this.#database.boss(sql) });
  }

  async coordinator(sql: Sql, run: string, job: string): Promise<void> {
    await this.boss.send(LANES.runs, { run }, { id: job, db: this.#database.boss(sql) });
  }
}
