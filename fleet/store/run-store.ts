import { toDatabaseError, type Database, type SqlExecutor } from './database';
import type { ReportRecipient, ClaimResult, ItemClaim, ItemOutcome, ItemRow, JsonRecord, RunRequest, RunProgress, RunRow } from './rows';
import { FLEET_SCHEMA } from './schema';
import { HEARTBEAT_KEY_PREFIX, createIsAliveSql, LIVING_ENGINES_SQL } from './heartbeat-sql';
import { ItemClaims } from './item-claims';
import { getPreviousStates } from './item-states';
import { readFleetMetrics } from './metrics';
import { serializeForDatabase, toStorableText } from './storable-text';

/** A job in the queue for one item. */
export interface ItemJob {
  readonly id: string;
  readonly run: string;
  readonly index: number;
  readonly appliance: string;
}

/** Sends jobs inside a transaction of the run store. */
export interface JobSender {
  sendItems(sql: SqlExecutor, run: RunRow, jobs: readonly ItemJob[]): Promise<void>;
  sendCoordinator(sql: SqlExecutor, run: string, job: string): Promise<void>;
  /** Ids of the item jobs of a run that the queue no longer has, or has finished. */
  findLostItemJobs(run: RunQueueProperties, jobs: readonly string[]): Promise<string[]>;
  isCoordinatorJobLost(job: string): Promise<boolean>;
}

/** What an engine has to do in its fleet. */
export interface OpenFleetWork {
  readonly has_runs: boolean;
  readonly has_reports: boolean;
}

/** An engine that counts as alive, and the fingerprint of its inventory. */
export interface LivingEngine {
  readonly id: string;
  readonly fingerprint: string;
}

/** Result of a step of the coordinator. */
export interface CoordinatorStepResult {
  readonly isOver: boolean;
  readonly hasNewJobs: boolean;
}

/** The properties of a run that determine its queue. */
export type RunQueueProperties = Pick<RunRow, 'id' | 'kind' | 'operation' | 'urgent'>;

/** A missing job is replaced if its run is older than this. */
const ORPHANED_AFTER = '30 s';
/**
 * Maximum number of unfinished jobs of a run in the queue. Fetching from a long queue is slow, so the coordinator queues only this many
 * jobs at a time.
 */
const MAX_OPEN_JOBS = 1000;
const IS_OPEN = `state IN ('waiting', 'claimed', 'sending')`;

/** Reads and writes runs and items. It contains all SQL for runs and items, and each method is one transaction. */
export class RunStore {
  readonly #database: Database;
  readonly #jobSender: JobSender;
  readonly #fleet: string;
  readonly #claims: ItemClaims;

  /** `fleet` is the fleet key. The store never reads or changes runs of another fleet. */
  constructor(database: Database, jobSender: JobSender, fleet: string) {
    this.#database = database;
    this.#jobSender = jobSender;
    this.#fleet = fleet;
    this.#claims = new ItemClaims(database, fleet);
  }

  /** Stores a run with its items and the job of its coordinator. False if another run has this id. */
  async createRun(request: RunRequest): Promise<boolean> {
    return this.#database.transaction((sql) => this.#insertRun(sql, request));
  }

  async #insertRun(sql: SqlExecutor, request: RunRequest): Promise<boolean> {
    const { rows } = await sql.query<{ job: string }>(INSERT_RUN, [
      ...[
        request.id,
        request.token,
        request.kind,
        request.operation,
        serializeForDatabase(request.input),
        toStorableText(request.selection),
        request.credentials ?? null,
      ],
      ...[request.dryRun, request.urgent, request.withData, request.repeats, request.canary, [...request.ends]],
      ...[Number.isFinite(request.maxFailures) ? request.maxFailures : null, request.items.length, request.node, request.origin],
      ...[
        serializeForDatabase(request.initiator),
        request.repeatOf ?? null,
        request.nodeId ?? null,
        request.approved ? serializeForDatabase(request.approved) : null,
      ],
      ...[this.#fleet, request.fingerprint],
    ]);
    const [row] = rows;
    if (!row) {
      const same = await sql.query(`SELECT FROM ${FLEET_SCHEMA}.run WHERE fleet = $1 AND id = $2 AND token = $3`, [
        this.#fleet,
        request.id,
        request.token,
      ]);
      return same.rows.length === 1;
    }
    const names = request.items.map(({ appliance }) => appliance);
    const inputs = request.items.map(({ input }) => (input === undefined ? null : serializeForDatabase(input)));
    await sql.query(
      `INSERT INTO ${FLEET_SCHEMA}.item (fleet, run, index, appliance, input, target, mac)
       SELECT $1, $2, (position - 1)::int, appliance, input::jsonb, target, mac
       FROM unnest($3::text[], $4::text[], $5::text[], $6::text[]) WITH ORDINALITY AS requested (appliance, input, target, mac, position)`,
      [
        ...[this.#fleet, request.id, names, inputs, request.items.map(({ target }) => target ?? null)],
        request.items.map(({ mac }) => mac ?? null),
      ],
    );
    await this.#jobSender.sendCoordinator(sql, request.id, row.job);
    return true;
  }

  /**
   * Claims an item for a worker, unless another worker holds it or it must not start. An engine with another fingerprint than the run gets
   * nothing while an engine with the right one is alive.
   */
  claimItem(run: string, index: number, holder: string, fingerprint: string): Promise<ClaimResult> {
    return this.#claims.claim({ run, index, holder, fingerprint });
  }

  /**
   * Records that the first write is about to be sent, with what was read before it. False if the claim is no longer valid; then nothing may
   * be sent.
   */
  markSending(claim: ItemClaim, before?: JsonRecord): Promise<boolean> {
    return this.#claims.markSending(claim, before);
  }

  /** Whether a claim is still valid. */
  async isHeld({ run, index, holder, attempt }: ItemClaim): Promise<boolean> {
    const sql = `SELECT FROM ${FLEET_SCHEMA}.item WHERE fleet = $1 AND run = $2 AND index = $3 AND holder = $4 AND attempt = $5 AND state IN ('claimed', 'sending')`;
    return (await this.#database.query(sql, [this.#fleet, run, index, holder, attempt])).length === 1;
  }

  /** Stores the outcome of an item. False if the claim is no longer valid. */
  finishItem(claim: ItemClaim, outcome: ItemOutcome): Promise<boolean> {
    return this.#claims.finish(claim, outcome);
  }

  /** Returns an item to the queue if nothing was sent for it, so that another worker can claim it. */
  async releaseItem(claim: ItemClaim): Promise<void> {
    await this.#claims.release(claim);
  }

  /** Performs one step of the coordinator: skips items of a stopped run, and sends jobs for the next batch. */
  advanceRun(id: string): Promise<CoordinatorStepResult> {
    return this.#database.transaction(async (sql) => {
      const runs = await sql.query<RunRow>(`SELECT * FROM ${FLEET_SCHEMA}.run WHERE fleet = $1 AND id = $2 FOR UPDATE`, [this.#fleet, id]);
      const [run] = runs.rows;
      if (!run || run.state === 'done') return { isOver: true, hasNewJobs: false };
      if (run.stopped !== null)
        await sql.query(SKIP_REST, [this.#fleet, id, getPreviousStates('skipped').filter((state) => state === 'waiting')]);
      const open = await sql.query<{ first: number | null }>(SELECT_FIRST_OPEN, [this.#fleet, id]);
      const first = open.rows[0]?.first ?? null;
      if (first === null) {
        await sql.query(`UPDATE ${FLEET_SCHEMA}.run SET state = 'done', ended = now() WHERE fleet = $1 AND id = $2`, [this.#fleet, id]);
        return { isOver: true, hasNewJobs: false };
      }
      const isRunning = run.state === 'running' && run.stopped === null;
      const hasNewJobs = isRunning && (await this.#sendJobs(sql, run, run.ends.find((end) => first < end) ?? run.total));
      return { isOver: false, hasNewJobs };
    });
  }

  /** Sends a job for each item of this batch that has none. False if there was none to send. */
  async #sendJobs(sql: SqlExecutor, run: RunRow, end: number): Promise<boolean> {
    const { rows } = await sql.query<{ job: string; index: number; appliance: string }>(ASSIGN_JOBS, [
      this.#fleet,
      run.id,
      end,
      MAX_OPEN_JOBS,
    ]);
    if (rows.length === 0) return false;
    await this.#jobSender.sendItems(
      sql,
      run,
      rows.map(({ job, index, appliance }) => ({ id: job, run: run.id, index, appliance })),
    );
    return true;
  }

  /** Sends new jobs for open items and runs whose jobs are missing, for example after the database was restored. */
  async requeueLostJobs(): Promise<void> {
    for (const run of await this.#database.query<RunQueueProperties & { job: string | null }>(SELECT_OLDER_OPEN_RUNS, [this.#fleet])) {
      const items = await this.#database.query<{ job: string }>(SELECT_UNHELD_JOBS, [this.#fleet, run.id]);
      const jobs = items.map(({ job }) => job);
      const lostJobs = jobs.length > 0 ? await this.#jobSender.findLostItemJobs(run, jobs) : [];
      if (lostJobs.length > 0) await this.#database.query(CLEAR_JOBS, [this.#fleet, run.id, lostJobs]);
      if (run.job !== null && !(await this.#jobSender.isCoordinatorJobLost(run.job))) continue;
      await this.#database.transaction(async (sql) => {
        const { rows } = await sql.query<{ job: string }>(REPLACE_COORDINATOR_JOB, [this.#fleet, run.id, run.job]);
        for (const { job } of rows) await this.#jobSender.sendCoordinator(sql, run.id, job);
      });
    }
  }

  /** Deletes runs that ended `days` ago, and runs that ended a day ago if their node has more than `maxPerNode` runs. */
  async deleteOldRuns(days: number, maxPerNode: number): Promise<void> {
    await this.#database.query(DELETE_OLD_RUNS, [days, maxPerNode, this.#fleet]);
  }

  /** Marks a process as alive for this many seconds. Gives the engines that were alive before, and what the fleet has to do. */
  async recordHeartbeat(
    holder: string,
    seconds: number,
    fingerprint: string,
  ): Promise<OpenFleetWork & { readonly engines: readonly LivingEngine[] }> {
    const value = JSON.stringify({ fleet: this.#fleet, fingerprint });
    const [row] = await this.#database.query<OpenFleetWork & { engines: LivingEngine[] } & Record<string, unknown>>(RECORD_HEARTBEAT, [
      this.#fleet,
      holder,
      seconds,
      value,
    ]);
    return row ?? { ...NO_ACTIVITY, engines: [] };
  }

  /** Ids of the living engines of this fleet, grouped by the fingerprint of their inventory. */
  async listEngines(): Promise<Map<string, string[]>> {
    const rows = await this.#database.query<{ fingerprint: string; engines: string[] }>(LIST_ENGINES, [this.#fleet]);
    return new Map(rows.map(({ fingerprint, engines }) => [fingerprint, engines]));
  }

  /** Whether the fleet has runs that are not over, and whether it has reports that were not delivered. */
  async readActivity(): Promise<OpenFleetWork> {
    const [activity] = await this.#database.query<OpenFleetWork & Record<string, unknown>>(READ_ACTIVITY, [this.#fleet]);
    return activity ?? NO_ACTIVITY;
  }

  async removeHeartbeat(holder: string): Promise<void> {
    await this.#database.query(`DELETE FROM ${FLEET_SCHEMA}.lease WHERE key = $1`, [HEARTBEAT_KEY_PREFIX + holder]);
  }

  /** Finished runs whose report this process may deliver: its own runs, and those of dead processes. */
  findUnreportedRuns(holder: string, names: readonly string[], ids: readonly string[]): Promise<(ReportRecipient & { id: string })[]> {
    return this.#database.query(SELECT_UNREPORTED, [holder, [...names], [...ids], this.#fleet]);
  }

  /**
   * Claims the delivery of a report. The claim can be repeated after a lost response. `again` means that an earlier claimant died and may have
   * delivered it. Undefined if the report was delivered, or another living process delivers it.
   */
  async claimReport(id: string, holder: string): Promise<'first' | 'again' | undefined> {
    const [row] = await this.#database.query<{ again: boolean }>(CLAIM_REPORT, [id, holder, this.#fleet]);
    return row && (row.again ? 'again' : 'first');
  }

  /** Records that the report was delivered. */
  async markReported(id: string, holder: string): Promise<void> {
    await this.#database.query(`UPDATE ${FLEET_SCHEMA}.run SET reported = now() WHERE fleet = $3 AND id = $1 AND reported_by = $2`, [
      id,
      holder,
      this.#fleet,
    ]);
  }

  /** Gives up the claim on a report whose node does not exist any more. */
  async releaseReport(id: string, holder: string): Promise<void> {
    const back = `reported_by = NULL, report_takers = report_takers - 1`;
    await this.#database.query(
      `UPDATE ${FLEET_SCHEMA}.run SET ${back} WHERE fleet = $3 AND id = $1 AND reported_by = $2 AND reported IS NULL`,
      [id, holder, this.#fleet],
    );
  }

  findRun(id: string): Promise<RunRow | undefined> {
    const sql = `SELECT * FROM ${FLEET_SCHEMA}.run WHERE fleet = $1 AND id = $2`;
    return this.#withDatabaseErrors(async () => (await this.#database.query<RunRow>(sql, [this.#fleet, id]))[0]);
  }

  listItems(run: string): Promise<ItemRow[]> {
    return this.#withDatabaseErrors(() =>
      this.#database.query<ItemRow>(`SELECT * FROM ${FLEET_SCHEMA}.item WHERE fleet = $1 AND run = $2 ORDER BY index`, [this.#fleet, run]),
    );
  }

  /** The item of a dry run for one appliance, with its plan; undefined if planning failed there. */
  async findPlannedItem(run: string, appliance: string): Promise<ItemRow | undefined> {
    const sql = `SELECT * FROM ${FLEET_SCHEMA}.item WHERE fleet = $1 AND run = $2 AND appliance = $3 AND state = 'ok' ORDER BY index LIMIT 1`;
    return (await this.#database.query<ItemRow & Record<string, unknown>>(sql, [this.#fleet, run, appliance]))[0];
  }

  listProgress(runs: readonly string[]): Promise<RunProgress[]> {
    return this.#database.query<RunProgress & Record<string, unknown>>(SELECT_PROGRESS, [[...runs], this.#fleet]);
  }

  /** Latest runs first. */
  listRuns(limit: number): Promise<(RunRow & RunProgress)[]> {
    return this.#withDatabaseErrors(async () => {
      const sql = `SELECT * FROM ${FLEET_SCHEMA}.run WHERE fleet = $1 ORDER BY created DESC, id LIMIT $2`;
      const runs = await this.#database.query<RunRow>(sql, [this.#fleet, limit]);
      const progress = new Map((await this.listProgress(runs.map(({ id }) => id))).map((one) => [one.run, one]));
      return runs.map((run) => ({ ...run, ...(progress.get(run.id) as RunProgress) }));
    });
  }

  /** The state of the fleet as OpenMetrics text. */
  readMetrics(): Promise<string> {
    return this.#withDatabaseErrors(async () => readFleetMetrics(this.#database, this.#fleet, await this.listEngines()));
  }

  /** Pauses, resumes or cancels a run; items in flight finish. False if the run is over or does not exist. */
  controlRun(id: string, action: 'pause' | 'resume' | 'cancel'): Promise<boolean> {
    const set = {
      pause: `state = 'paused'`,
      resume: `state = 'running'`,
      cancel: `stopped = coalesce(stopped, 'cancelled'), state = 'running'`,
    }[action];
    const sql = `UPDATE ${FLEET_SCHEMA}.run SET ${set} WHERE fleet = $1 AND id = $2 AND state <> 'done' RETURNING id`;
    return this.#withDatabaseErrors(async () => (await this.#database.query(sql, [this.#fleet, id])).length === 1);
  }

  async #withDatabaseErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw toDatabaseError(thrown);
    }
  }
}

const INSERT_RUN = `
  INSERT INTO ${FLEET_SCHEMA}.run (id, token, kind, operation, input, selection, credentials, dry_run, urgent, with_data, repeats, canary, ends,
    max_failures, total, node, origin, initiator, repeat_of, node_id, approved, fleet, fingerprint, job)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, gen_random_uuid())
  ON CONFLICT (fleet, id) DO NOTHING RETURNING job`;

const SKIP_REST = `UPDATE ${FLEET_SCHEMA}.item SET state = 'skipped', ended = now() WHERE fleet = $1 AND run = $2 AND state = ANY ($3)`;

const SELECT_FIRST_OPEN = `SELECT min(index) AS first FROM ${FLEET_SCHEMA}.item WHERE fleet = $1 AND run = $2 AND ${IS_OPEN}`;

/** With a list in place of a subquery, the planner uses the index, although the statistics do not know the items of a new run yet. */
const ASSIGN_JOBS = `
  UPDATE ${FLEET_SCHEMA}.item SET job = gen_random_uuid()
  WHERE fleet = $1 AND run = $2 AND index = ANY (ARRAY(
    SELECT index FROM ${FLEET_SCHEMA}.item WHERE fleet = $1 AND run = $2 AND index < $3 AND job IS NULL AND ${IS_OPEN} ORDER BY index
    LIMIT greatest(0, $4 - (SELECT count(*) FROM ${FLEET_SCHEMA}.item WHERE fleet = $1 AND run = $2 AND job IS NOT NULL AND ${IS_OPEN}))))
    AND job IS NULL AND ${IS_OPEN}
  RETURNING job, index, appliance`;

const DELETE_OLD_RUNS = `
  DELETE FROM ${FLEET_SCHEMA}.run WHERE fleet = $3 AND state = 'done' AND (ended < now() - $1 * interval '1 day'
    OR (ended < now() - interval '1 day' AND id IN (SELECT id FROM (
      SELECT id, row_number() OVER (PARTITION BY node ORDER BY created DESC, id) AS position FROM ${FLEET_SCHEMA}.run WHERE fleet = $3
    ) AS ranked WHERE position > $2)))`;

const SELECT_OLDER_OPEN_RUNS = `
  SELECT id, kind, operation, urgent, job FROM ${FLEET_SCHEMA}.run
  WHERE fleet = $1 AND state <> 'done' AND created < now() - interval '${ORPHANED_AFTER}'`;

const SELECT_UNHELD_JOBS = `
  SELECT job FROM ${FLEET_SCHEMA}.item
  WHERE fleet = $1 AND run = $2 AND ${IS_OPEN} AND job IS NOT NULL AND NOT ${createIsAliveSql(`coalesce(item.holder, '')`)}`;

const CLEAR_JOBS = `UPDATE ${FLEET_SCHEMA}.item SET job = NULL WHERE fleet = $1 AND run = $2 AND ${IS_OPEN} AND job = ANY ($3)`;

/** Replaces the coordinator job of a run unless another engine has replaced it meanwhile. */
const REPLACE_COORDINATOR_JOB = `
  UPDATE ${FLEET_SCHEMA}.run SET job = gen_random_uuid()
  WHERE fleet = $1 AND id = $2 AND state <> 'done' AND job IS NOT DISTINCT FROM $3 RETURNING job`;

const LIST_ENGINES = `SELECT value->>'fingerprint' AS fingerprint, array_agg(holder) AS engines FROM ${LIVING_ENGINES_SQL} GROUP BY 1`;

const READ_ACTIVITY = `
  SELECT EXISTS (SELECT FROM ${FLEET_SCHEMA}.run WHERE fleet = $1 AND state <> 'done') AS has_runs,
    EXISTS (SELECT FROM ${FLEET_SCHEMA}.run WHERE fleet = $1 AND state = 'done' AND reported IS NULL) AS has_reports`;

const NO_ACTIVITY: OpenFleetWork = { has_runs: false, has_reports: false };

/** A single statement, because each further statement would cost an idle engine more than its work. */
const RECORD_HEARTBEAT = `
  WITH beat AS (
    INSERT INTO ${FLEET_SCHEMA}.lease (key, ticket, holder, held, value, expires)
    VALUES ('${HEARTBEAT_KEY_PREFIX}' || $2::text, 0, $2, true, $4::jsonb, clock_timestamp() + $3 * interval '1 s')
    ON CONFLICT (key, ticket) DO UPDATE SET expires = excluded.expires, value = excluded.value)
  ${READ_ACTIVITY},
    (SELECT coalesce(json_agg(json_build_object('id', holder, 'fingerprint', value->>'fingerprint')), '[]') FROM ${LIVING_ENGINES_SQL}) AS engines`;

/** Returns the SQL condition for a report that this holder may deliver, because no other living process delivers it. */
const isReportFreeSql = (holder: string): string =>
  `reported IS NULL AND (reported_by IS NULL OR reported_by = ${holder} OR NOT ${createIsAliveSql('run.reported_by')})`;

const SELECT_UNREPORTED = `
  SELECT id, node, node_id FROM ${FLEET_SCHEMA}.run
  WHERE fleet = $4 AND state = 'done' AND ${isReportFreeSql('$1')} AND (node = ANY ($2) OR node_id = ANY ($3)) AND (origin = $1 OR NOT ${createIsAliveSql('run.origin')})
  ORDER BY ended`;

const CLAIM_REPORT = `
  UPDATE ${FLEET_SCHEMA}.run SET reported_by = $2, report_takers = report_takers + CASE WHEN reported_by = $2 THEN 0 ELSE 1 END
  WHERE fleet = $3 AND id = $1 AND ${isReportFreeSql('$2')} RETURNING report_takers > 1 AS again`;

const SELECT_PROGRESS = `
  SELECT run.id AS run, run.state, run.stopped, run.total,
    count(*) FILTER (WHERE item.state = 'ok')::int AS ok, count(*) FILTER (WHERE item.state = 'failed')::int AS failed,
    count(*) FILTER (WHERE item.state = 'unknown')::int AS unknown, count(*) FILTER (WHERE item.state = 'skipped')::int AS skipped,
    count(*) FILTER (WHERE item.state IN ('claimed', 'sending'))::int AS open
  FROM ${FLEET_SCHEMA}.run LEFT JOIN ${FLEET_SCHEMA}.item ON item.fleet = run.fleet AND item.run = run.id
  WHERE run.fleet = $2 AND run.id = ANY ($1) GROUP BY run.fleet, run.id`;
