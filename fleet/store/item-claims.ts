import { BatchedCalls } from './batched-calls';
import type { Database, SqlExecutor } from './database';
import { createIsAliveSql, LIVING_ENGINES_SQL } from './heartbeat-sql';
import { getPreviousStates, isFailureState, isFinalState, type ItemState } from './item-states';
import type { ClaimResult, ItemClaim, ItemOutcome, ItemRow, JsonRecord, RunRow } from './rows';
import { FLEET_SCHEMA } from './schema';
import { serializeForDatabase, toStorableText } from './storable-text';

interface ClaimRequest {
  readonly run: string;
  readonly index: number;
  readonly holder: string;
  readonly fingerprint: string;
}

/** A change of a claimed item. */
interface ClaimedChange {
  readonly claim: ItemClaim;
  readonly values?: JsonRecord;
}

type LockedItem = Pick<ItemRow, 'index' | 'state' | 'holder'>;
type LockedRun = RunRow & { readonly age: number; readonly living: string[] };

/**
 * Changes the states of single items. Calls that arrive at about the same time share one transaction, because an item needs several changes,
 * and each transaction costs more than its statements.
 */
export class ItemClaims {
  readonly #database: Database;
  readonly #fleet: string;
  readonly #claims: BatchedCalls<ClaimRequest, ClaimResult>;
  readonly #sends: BatchedCalls<ClaimedChange, boolean>;
  readonly #outcomes: BatchedCalls<ClaimedChange, boolean>;
  readonly #releases: BatchedCalls<ClaimedChange, boolean>;

  constructor(database: Database, fleet: string) {
    this.#database = database;
    this.#fleet = fleet;
    const createChanges = (statement: string): BatchedCalls<ClaimedChange, boolean> =>
      new BatchedCalls(
        (changes) => this.#changeAll(statement, changes),
        ({ claim }) => claim.run,
      );
    // The fingerprint of the inventory may have changed meanwhile.
    const getGroup = ({ run, holder, fingerprint }: ClaimRequest): string => JSON.stringify([run, holder, fingerprint]);
    this.#claims = new BatchedCalls((requests) => this.#claimAll(requests), getGroup);
    this.#sends = createChanges(MARK_SENDING);
    this.#outcomes = createChanges(FINISH);
    this.#releases = createChanges(RELEASE);
  }

  /** Claims an item, as `RunStore.claimItem` describes. */
  claim(request: ClaimRequest): Promise<ClaimResult> {
    return this.#claims.run(request);
  }

  /** Marks an item before its first write, as `RunStore.markSending` describes. */
  markSending(claim: ItemClaim, before?: JsonRecord): Promise<boolean> {
    return this.#sends.run({ claim, values: { before } });
  }

  /** Stores the outcome of an item, as `RunStore.finishItem` describes. */
  finish(claim: ItemClaim, outcome: ItemOutcome): Promise<boolean> {
    const { state, code, message, changed, data, plan, planMac, requests = 0, retries = 0, logins = 0 } = outcome;
    const texts = { code: code && toStorableText(code), message: message && toStorableText(message) };
    const values = {
      state,
      previous: getPreviousStates(state),
      changed,
      ...texts,
      data,
      plan,
      plan_mac: planMac,
      requests,
      retries,
      logins,
    };
    return this.#outcomes.run({ claim, values });
  }

  /** Returns an item to the queue, as `RunStore.releaseItem` describes. */
  release(claim: ItemClaim): Promise<boolean> {
    return this.#releases.run({ claim });
  }

  /** Changes items of one run. Returns for each item whether its claim was valid. */
  async #changeAll(statement: string, changes: readonly ClaimedChange[]): Promise<boolean[]> {
    const indexes = changes.map(({ claim }) => claim.index);
    const records = changes.map(({ claim: { index, holder, attempt }, values }) => ({ index, holder, attempt, ...values }));
    const parameters = [this.#fleet, changes[0]?.claim.run, indexes, serializeForDatabase(records)];
    const rows = await this.#database.query<{ index: number; attempt: number }>(statement, parameters);
    const changed = new Set(rows.map(({ index, attempt }) => `${index} ${attempt}`));
    return changes.map(({ claim: { index, attempt } }) => changed.has(`${index} ${attempt}`));
  }

  async #claimAll(requests: readonly ClaimRequest[]): Promise<ClaimResult[]> {
    const [first] = requests;
    if (!first) return [];
    const indexes = requests.map(({ index }) => index);
    const results = await this.#database.transaction((sql) => this.#claimInRun(sql, first, indexes));
    // Only one of several requests for an item gets it.
    return indexes.map((index, position) =>
      indexes.indexOf(index) < position ? { kind: 'held' } : (results.get(index) ?? { kind: 'over' }),
    );
  }

  /** Claims items of one run. Items that are not in the result are over. */
  async #claimInRun(
    sql: SqlExecutor,
    { run: id, holder, fingerprint }: ClaimRequest,
    indexes: readonly number[],
  ): Promise<Map<number, ClaimResult>> {
    const results = new Map<number, ClaimResult>();
    const locked = await sql.query<LockedItem & Record<string, unknown>>(LOCK_ITEMS, [this.#fleet, id, indexes]);
    const pending = locked.rows.filter(({ state }) => !isFinalState(state));
    if (pending.length === 0) return results;
    // A second statement sees what was committed while the first one waited for its locks.
    const otherHolders = new Set(pending.flatMap((item) => (item.holder === null || item.holder === holder ? [] : [item.holder])));
    const runs = await sql.query<LockedRun & Record<string, unknown>>(READ_RUN, [this.#fleet, id, [...otherHolders]]);
    const [run] = runs.rows;
    if (!run) return results;
    const isHeld = (item: LockedItem): boolean => item.holder !== null && item.holder !== holder && run.living.includes(item.holder);
    const isAdopted = run.fingerprint === fingerprint || (!pending.every(isHeld) && (await this.#adoptRun(sql, id, fingerprint)));
    const isStarting = run.stopped === null && run.state === 'running';
    const claimable: number[] = [];
    const refused: LockedItem[] = [];
    for (const item of pending) {
      if (isHeld(item) || !isAdopted) results.set(item.index, { kind: 'held' });
      else if (item.state === 'sending' || isStarting) claimable.push(item.index);
      else refused.push(item);
    }
    await this.#refuse(sql, run, refused);
    if (claimable.length === 0) return results;
    const { rows } = await sql.query<ItemRow & Record<string, unknown>>(CLAIM_ITEMS, [this.#fleet, id, claimable, holder]);
    for (const item of rows) {
      const claim = { run: id, index: item.index, holder, attempt: item.attempt };
      results.set(item.index, { kind: item.state === 'sending' ? 'look' : 'run', claim, item, run, age: run.age });
    }
    return results;
  }

  /** Takes over a run whose engines are all gone. False if one of them is alive. */
  async #adoptRun(sql: SqlExecutor, run: string, fingerprint: string): Promise<boolean> {
    return (await sql.query(ADOPT_RUN, [this.#fleet, run, fingerprint])).rows.length === 1;
  }

  /** Skips items of a stopped run. Items of a paused run lose their job, and the coordinator sends a new one when the run resumes. */
  async #refuse(sql: SqlExecutor, { id, stopped }: RunRow, items: readonly LockedItem[]): Promise<void> {
    if (items.length === 0) return;
    await sql.query(stopped === null ? DROP_JOBS : SKIP_ITEMS, [this.#fleet, id, items.map(({ index }) => index)]);
  }
}

const quote = (states: readonly ItemState[]): string => states.map((state) => `'${state}'`).join(', ');
const previousOf = (state: ItemState): string => quote(getPreviousStates(state));

/** The items of one run. The list of indexes keeps the planner from reading the whole table. */
const ITEMS = 'item.fleet = $1 AND item.run = $2 AND item.index = ANY ($3::int[])';

/** Locks the items in a fixed order, so that two engines cannot deadlock. */
const LOCK_ITEMS = `SELECT index, state, holder FROM ${FLEET_SCHEMA}.item WHERE ${ITEMS} ORDER BY index FOR UPDATE`;

const READ_RUN = `
  SELECT *, extract(epoch FROM now() - created)::float AS age,
    ARRAY(SELECT other FROM unnest($3::text[]) AS other WHERE ${createIsAliveSql('other')}) AS living
  FROM ${FLEET_SCHEMA}.run WHERE fleet = $1 AND id = $2`;

const CLAIM_ITEMS = `
  UPDATE ${FLEET_SCHEMA}.item SET state = CASE state WHEN 'sending' THEN 'sending' ELSE 'claimed' END,
    holder = $4, attempt = attempt + 1, claimed = coalesce(claimed, now())
  WHERE ${ITEMS} AND state IN (${quote([...new Set([...getPreviousStates('claimed'), 'sending' as const])])}) RETURNING *`;

const SKIP_ITEMS = `
  UPDATE ${FLEET_SCHEMA}.item SET state = 'skipped', ended = now(), holder = NULL WHERE ${ITEMS} AND state IN (${previousOf('skipped')})`;

const DROP_JOBS = `
  UPDATE ${FLEET_SCHEMA}.item SET job = NULL, state = 'waiting', holder = NULL
  WHERE ${ITEMS} AND state IN (${quote([...new Set([...getPreviousStates('waiting'), 'waiting' as const])])})`;

/** The row lock lets only one of several engines with different inventories take over a run. */
const ADOPT_RUN = `
  UPDATE ${FLEET_SCHEMA}.run SET fingerprint = $3
  WHERE fleet = $1 AND id = $2 AND NOT EXISTS (SELECT FROM ${LIVING_ENGINES_SQL} AND value->>'fingerprint' = run.fingerprint) RETURNING id`;

/** Changes items whose claim is still valid. `columns` are those of `given`, beside the claim. */
const createChange = (columns: string, set: string, from: string): string => `
  UPDATE ${FLEET_SCHEMA}.item SET ${set}
  FROM jsonb_to_recordset($4::jsonb) AS given (index int, holder text, attempt int${columns})
  WHERE ${ITEMS} AND item.index = given.index AND item.holder = given.holder AND item.attempt = given.attempt AND item.state ${from}
  RETURNING item.index, item.attempt, item.state`;

const MARK_SENDING = createChange(
  ', before jsonb',
  `state = 'sending', sending = coalesce(sending, now()), before = coalesce(item.before, given.before)`,
  `IN (${previousOf('sending')})`,
);

const RELEASE = createChange('', `state = 'waiting', holder = NULL`, `IN (${previousOf('waiting')})`);

const OUTCOME_COLUMNS =
  'changed boolean, code text, message text, data jsonb, plan jsonb, plan_mac text, requests int, retries int, logins int';
const SET_OUTCOME = OUTCOME_COLUMNS.split(', ')
  .map((column) => column.split(' ')[0] ?? '')
  .map((name) => `${name} = given.${name}`)
  .join(', ');

/**
 * A failure counts in the same transaction, so it stops the run before another item starts. A failed canary takes precedence over the limit
 * of failures.
 */
const FINISH = `
  WITH moved AS (${createChange(`, state text, previous text[], ${OUTCOME_COLUMNS}`, `state = given.state, ended = now(), ${SET_OUTCOME}`, '= ANY (given.previous)')}),
  failures AS (SELECT count(*)::int AS count, min(index) AS first FROM moved WHERE state IN (${quote((['failed', 'unknown'] as const).filter(isFailureState))})),
  counted AS (
    UPDATE ${FLEET_SCHEMA}.run SET failed = failed + failures.count,
      stopped = coalesce(stopped, CASE WHEN failures.first < canary THEN 'canary' WHEN failed + failures.count > max_failures THEN 'failures' END)
    FROM failures WHERE fleet = $1 AND id = $2 AND failures.count > 0)
  SELECT index, attempt FROM moved`;
