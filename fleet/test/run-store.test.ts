import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { JobQueues } from '../engine/job-queues';
import { Database, toDatabaseError } from '../store/database';
import { RunStore } from '../store/run-store';
import type { ClaimResult, ItemClaim, RunRequest } from '../store/rows';
import { migrateSchema } from '../store/schema';
import { ALLOWED_NEXT_STATES, ITEM_STATES, getPreviousStates, isFailureState, isFinalState } from '../store/item-states';
import { createUsualRun, NO_JOBS } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

const FINGERPRINT = 'same';
let postgres: TestPostgres;
let database: Database;
let queues: JobQueues;
let store: RunStore;

beforeAll(async () => {
  postgres = await startPostgres();
  database = new Database(await postgres.createDatabase());
  await migrateSchema(database);
  queues = new JobQueues(database, 'inv', () => undefined);
  await queues.start();
  store = new RunStore(database, queues, 'inv');
});
afterAll(async () => {
  await queues?.stop();
  await database?.close();
  await postgres?.close();
});

let count = 0;
let id = '';
beforeEach(() => {
  id = `run-${count++}`;
});

function createRequest(more: Partial<RunRequest> & { total?: number } = {}): RunRequest {
  const { total = 4, ...overrides } = more;
  return {
    ...createUsualRun(Array.from({ length: total }, (_, index) => ({ appliance: `vpn-${index}` }))),
    id,
    token: randomUUID(),
    origin: 'origin',
    fingerprint: FINGERPRINT,
    operation: 'config.ensure',
    input: { path: 'system/network' },
    ...overrides,
  };
}

async function claimItem(index: number, holder = 'one'): Promise<ItemClaim> {
  const result = await store.claimItem(id, index, holder, FINGERPRINT);
  if (!('claim' in result)) throw new Error(`Not claimed: ${result.kind}`);
  return result.claim;
}

const readKind = async (result: Promise<ClaimResult>): Promise<string> => (await result).kind;
const readStates = async (): Promise<string[]> => (await store.listItems(id)).map(({ state }) => state);
const countJobs = async (): Promise<number> =>
  (
    await database.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM gateway_fleet_jobs.job WHERE name LIKE 'items%' AND data->>'run' = $1`,
      [id],
    )
  )[0]?.n ?? 0;

describe('lost jobs', () => {
  const listJobs = async (run: string): Promise<(string | null)[]> =>
    (await database.query<{ job: string | null }>('SELECT job FROM gateway_fleet.item WHERE run = $1 ORDER BY index', [run])).map(
      ({ job }) => job,
    );
  const readCoordinatorJob = async (run: string): Promise<string> =>
    (await database.query<{ job: string }>('SELECT job FROM gateway_fleet.run WHERE id = $1', [run]))[0]?.job ?? '';

  it('the run store replaces lost jobs, and keeps jobs that are still in the queue', async () => {
    const { names, boss } = queues;
    await store.createRun(createRequest());
    await store.advanceRun(id);
    const before = await listJobs(id);
    const [, lost = '', completed = ''] = before as string[];
    await boss.deleteJob(names.normal, lost);
    await boss.fetch(names.normal, { batchSize: 100 });
    await boss.complete(names.normal, completed);
    const coordinator = await readCoordinatorJob(id);
    await boss.deleteJob(names.runs, coordinator);

    await store.requeueLostJobs();
    expect(await listJobs(id)).toEqual(before);
    await database.query(`UPDATE gateway_fleet.run SET created = now() - interval '1 min' WHERE id = $1`, [id]);
    await store.requeueLostJobs();
    expect(await listJobs(id)).toEqual([before[0], null, null, before[3]]);
    const replaced = await readCoordinatorJob(id);
    expect(replaced).not.toBe(coordinator);
    expect(await boss.findJobs(names.runs, { id: replaced })).toMatchObject([{ state: 'created', data: { run: id } }]);
    await store.requeueLostJobs();
    expect(await readCoordinatorJob(id)).toBe(replaced);
    await store.advanceRun(id);
    const after = await listJobs(id);
    expect(after.every((job) => job !== null)).toBe(true);
    expect(new Set([...after, ...before]).size).toBe(6);
  });
});

describe('the metrics of a fleet', () => {
  it('fleet metrics count runs, items and engines of one fleet only', async () => {
    const fleet = 'measured "fleet"';
    const measured = new RunStore(database, queues, fleet);
    await store.createRun(createRequest());
    await measured.createRun(createRequest({ total: 5 }));
    await measured.recordHeartbeat('measured-1', 60, FINGERPRINT);
    await measured.recordHeartbeat('measured-2', 60, 'another');
    for (const [index, state] of (['ok', 'failed', 'unknown'] as const).entries()) {
      const result = await measured.claimItem(id, index, 'measured-1', FINGERPRINT);
      if (!('claim' in result)) throw new Error(result.kind);
      await measured.markSending(result.claim);
      await measured.finishItem(result.claim, { state });
    }
    const text = await measured.readMetrics();
    const valueOf = (name: string, labels = ''): number =>
      Number(new RegExp(`^${name}\\{fleet="measured \\\\"fleet\\\\""${labels}\\} (.*)$`, 'm').exec(text)?.[1]);
    expect(['running', 'paused', 'done'].map((state) => valueOf('gateway_fleet_runs', `,state="${state}"`))).toEqual([1, 0, 0]);
    expect(['ok', 'failed', 'unknown', 'skipped'].map((outcome) => valueOf('gateway_fleet_items', `,outcome="${outcome}"`))).toEqual([
      1, 1, 1, 0,
    ]);
    expect(['engines', 'inventories', 'queue_items', 'active_items'].map((name) => valueOf(`gateway_fleet_${name}`))).toEqual([2, 2, 2, 0]);
    expect(valueOf('gateway_fleet_oldest_item_seconds')).toBeGreaterThan(0);
    expect(valueOf('gateway_fleet_database_statements_total')).toBeGreaterThan(0);
    expect(text.endsWith('# EOF\n')).toBe(true);
  });
});

describe('item states', () => {
  it('item states match the CHECK constraint of the table, and each state has a predecessor', async () => {
    const [row] = await database.query<{ check: string }>(
      `SELECT pg_get_constraintdef(oid) AS check FROM pg_constraint WHERE conrelid = 'gateway_fleet.item'::regclass AND contype = 'c'`,
    );
    expect([...(row?.check ?? '').matchAll(/'(\w+)'/g)].map(([, state]) => state)).toEqual([...ITEM_STATES]);
    for (const state of ITEM_STATES.slice(1)) expect(getPreviousStates(state), state).not.toEqual([]);
  });

  it('item states have four final states; failed and unknown count as failures', () => {
    expect(ITEM_STATES.filter(isFinalState)).toEqual(['ok', 'failed', 'unknown', 'skipped']);
    expect(ITEM_STATES.filter(isFailureState)).toEqual(['failed', 'unknown']);
  });

  it('an item that is sending never returns to claimed, waiting or skipped', () => {
    expect(ALLOWED_NEXT_STATES.sending).not.toContain('claimed');
    expect(ALLOWED_NEXT_STATES.sending).not.toContain('waiting');
    expect(ALLOWED_NEXT_STATES.sending).not.toContain('skipped');
  });
});

describe('createRun', () => {
  it('createRun accepts a repeated request once, and rejects another request with the same id', async () => {
    const one = createRequest();
    expect(await store.createRun(one)).toBe(true);
    expect(await store.createRun(one)).toBe(true);
    expect(await store.createRun(createRequest())).toBe(false);
    expect(await readStates()).toEqual(['waiting', 'waiting', 'waiting', 'waiting']);
  });

  it('createRun accepts exactly one of ten simultaneous requests with the same id', async () => {
    const results = await Promise.all(Array.from({ length: 10 }, () => store.createRun(createRequest())));
    expect(results.filter(Boolean)).toHaveLength(1);
  });

  it('createRun stores nothing if the coordinator job cannot be sent', async () => {
    const faulty = new RunStore(database, { ...NO_JOBS, sendCoordinator: () => Promise.reject(new Error('on purpose')) }, 'inv');
    await expect(faulty.createRun(createRequest())).rejects.toThrow('on purpose');
    expect(await store.findRun(id)).toBeUndefined();
    expect(await store.listItems(id)).toEqual([]);
  });
});

describe('an item', () => {
  it('an item changes from waiting to claimed, sending and ok, and accepts one outcome', async () => {
    await store.createRun(createRequest());
    const claim = await claimItem(0);
    expect(await store.markSending(claim)).toBe(true);
    expect((await store.listItems(id))[0]).toMatchObject({ state: 'sending', holder: 'one', attempt: 1 });
    expect(await store.finishItem(claim, { state: 'ok', changed: true })).toBe(true);
    expect(await store.finishItem(claim, { state: 'failed' })).toBe(false);
    expect((await store.listItems(id))[0]).toMatchObject({ state: 'ok', changed: true });
    expect(await readKind(store.claimItem(id, 0, 'two', FINGERPRINT))).toBe('over');
  });

  it('a claimed item stays with its worker while that worker lives, and can be claimed by another one afterwards', async () => {
    await store.createRun(createRequest());
    await store.recordHeartbeat('alive', 60, FINGERPRINT);
    const first = await claimItem(0, 'alive');
    expect(await readKind(store.claimItem(id, 0, 'two', FINGERPRINT))).toBe('held');
    await store.removeHeartbeat('alive');
    const second = await claimItem(0, 'two');
    expect(second.attempt).toBe(2);
    // The first holder only seemed dead, so its claim must not send or record anything.
    expect(await store.markSending(first)).toBe(false);
    expect(await store.isHeld(first)).toBe(false);
    expect(await store.finishItem(first, { state: 'ok' })).toBe(false);
    expect(await store.markSending(second)).toBe(true);
  });

  it('the next worker must check an item whose write may have been sent', async () => {
    await store.createRun(createRequest());
    expect(await store.markSending(await claimItem(0, 'gone'))).toBe(true);
    const result = await store.claimItem(id, 0, 'two', FINGERPRINT);
    expect(result.kind).toBe('look');
    expect((await readStates())[0]).toBe('sending');
    expect(await store.finishItem((result as { claim: ItemClaim }).claim, { state: 'unknown' })).toBe(true);
    expect((await store.findRun(id))?.failed).toBe(1);
  });

  it('eight workers that claim an item at the same moment get it only once', async () => {
    await store.createRun(createRequest());
    const names = Array.from({ length: 8 }, (_, index) => `worker-${index}`);
    await Promise.all(names.map((name) => store.recordHeartbeat(name, 60, FINGERPRINT)));
    const kinds = await Promise.all(names.map((name) => readKind(store.claimItem(id, 0, name, FINGERPRINT))));
    expect(kinds.filter((one) => one === 'run')).toHaveLength(1);
    expect(kinds.filter((one) => one === 'held')).toHaveLength(7);
  });

  it('an item stores an outcome with U+0000 and lone surrogates as replacement characters', async () => {
    await store.createRun(createRequest());
    const odd = 'a\u0000b\ud83d \\u0000 \ud83d\ude00 \n';
    const kept = 'a\ufffdb\ufffd \\u0000 \ud83d\ude00 \n';
    const outcome = { state: 'failed', code: 'A\u0000', message: odd, data: { [odd]: [odd] } } as const;
    expect(await store.finishItem(await claimItem(0), outcome)).toBe(true);
    expect((await store.listItems(id))[0]).toMatchObject({ code: 'A\ufffd', message: kept, data: { [kept]: [kept] } });
  });

  it('an item can return to the queue only while none of its writes may have been sent', async () => {
    await store.createRun(createRequest());
    const claim = await claimItem(0);
    await store.releaseItem(claim);
    expect((await readStates())[0]).toBe('waiting');
    const again = await claimItem(0, 'two');
    await store.markSending(again);
    await store.releaseItem(again);
    expect((await readStates())[0]).toBe('sending');
  });
});

describe('a run', () => {
  const end = async (index: number, state: 'ok' | 'failed' | 'unknown'): Promise<void> => {
    const claim = await claimItem(index);
    if (state === 'unknown') await store.markSending(claim);
    expect(await store.finishItem(claim, { state })).toBe(true);
  };

  it('a run queues the jobs of each batch once, after the previous batch has ended', async () => {
    await store.createRun(createRequest({ total: 6, canary: 1, ends: [1, 3, 6] }));
    expect((await store.advanceRun(id)).isOver).toBe(false);
    expect((await store.advanceRun(id)).isOver).toBe(false);
    expect(await countJobs()).toBe(1);
    await end(0, 'ok');
    await store.advanceRun(id);
    expect(await countJobs()).toBe(3);
    await end(1, 'ok');
    await store.advanceRun(id);
    expect(await countJobs()).toBe(3);
    await end(2, 'failed');
    await store.advanceRun(id);
    expect(await countJobs()).toBe(6);
    for (const index of [3, 4, 5]) await end(index, 'ok');
    expect((await store.advanceRun(id)).isOver).toBe(true);
    expect(await store.findRun(id)).toMatchObject({ state: 'done', stopped: null, failed: 1 });
  });

  it('a run skips all other items when its canary fails', async () => {
    await store.createRun(createRequest({ total: 5, canary: 2, ends: [2, 5] }));
    await store.advanceRun(id);
    await end(0, 'failed');
    expect(await readKind(store.claimItem(id, 1, 'one', FINGERPRINT))).toBe('over');
    expect((await store.advanceRun(id)).isOver).toBe(true);
    expect(await readStates()).toEqual(['failed', 'skipped', 'skipped', 'skipped', 'skipped']);
    expect(await store.findRun(id)).toMatchObject({ stopped: 'canary' });
  });

  it('a run starts no further item once the failed items of all batches exceed maxFailures', async () => {
    await store.createRun(createRequest({ total: 8, ends: [2, 4, 6, 8], maxFailures: 1 }));
    await store.advanceRun(id);
    await end(0, 'failed');
    await end(1, 'ok');
    await store.advanceRun(id);
    const inFlight = await claimItem(3);
    await end(2, 'unknown');
    expect(await readKind(store.claimItem(id, 4, 'two', FINGERPRINT))).toBe('over');
    expect((await store.advanceRun(id)).isOver).toBe(false);
    // An item in flight still records its outcome.
    await store.finishItem(inFlight, { state: 'ok' });
    expect((await store.advanceRun(id)).isOver).toBe(true);
    expect(await readStates()).toEqual(['failed', 'ok', 'unknown', 'ok', 'skipped', 'skipped', 'skipped', 'skipped']);
    expect(await store.findRun(id)).toMatchObject({ stopped: 'failures' });
  });

  it('a run can be paused, resumed and canceled', async () => {
    await store.createRun(createRequest());
    await store.advanceRun(id);
    expect(await store.controlRun(id, 'pause')).toBe(true);
    expect(await readKind(store.claimItem(id, 0, 'one', FINGERPRINT))).toBe('over');
    expect((await store.advanceRun(id)).isOver).toBe(false);
    expect(await readStates()).toEqual(['waiting', 'waiting', 'waiting', 'waiting']);
    expect(await store.controlRun(id, 'resume')).toBe(true);
    await store.advanceRun(id);
    // The job that arrived during the pause is sent again.
    expect(await countJobs()).toBe(5);
    await end(0, 'ok');
    expect(await store.controlRun(id, 'cancel')).toBe(true);
    expect((await store.advanceRun(id)).isOver).toBe(true);
    expect(await readStates()).toEqual(['ok', 'skipped', 'skipped', 'skipped']);
    expect(await store.controlRun(id, 'resume')).toBe(false);
  });

  describe('with a report', () => {
    const claimReports = async (holder: string, names: string[], ids: string[] = []): Promise<string[]> => {
      await store.recordHeartbeat(holder, 60, FINGERPRINT);
      const taken: string[] = [];
      for (const one of await store.findUnreportedRuns(holder, names, ids)) if (await store.claimReport(one.id, holder)) taken.push(one.id);
      return taken;
    };
    const finishRun = async (more: Partial<RunRequest>): Promise<void> => {
      await database.query('DELETE FROM gateway_fleet.run');
      for (const holder of ['there', 'third']) await store.removeHeartbeat(holder);
      await store.recordHeartbeat('here', 60, FINGERPRINT);
      await store.createRun(createRequest({ total: 1, origin: 'here', node: 'nightly', ...more }));
      await end(0, 'ok');
      await store.advanceRun(id);
    };

    it('a run is reported once by the engine that started it, or by another engine if that one has died', async () => {
      await finishRun({});
      expect(await claimReports('there', ['nightly'])).toEqual([]);
      await store.removeHeartbeat('here');
      expect(await claimReports('there', ['another'])).toEqual([]);
      const taken = await Promise.all([claimReports('there', ['nightly']), claimReports('third', ['nightly'])]);
      expect(taken.flat()).toEqual([id]);
    });

    it('the report of a run reaches the node with the right id even after the node was renamed', async () => {
      await finishRun({ nodeId: 'abc' });
      expect(await claimReports('here', ['weekly'], ['other'])).toEqual([]);
      expect(await claimReports('here', ['weekly'], ['abc'])).toEqual([id]);
    });

    it('a report can be claimed again by the same engine, and by another engine after its release', async () => {
      await finishRun({});
      expect(await store.claimReport(id, 'here')).toBe('first');
      expect(await store.claimReport(id, 'here')).toBe('first');
      expect(await store.claimReport(id, 'there')).toBeUndefined();
      await store.releaseReport(id, 'there');
      expect(await store.claimReport(id, 'there')).toBeUndefined();
      await store.releaseReport(id, 'here');
      expect(await store.claimReport(id, 'there')).toBe('first');
      await store.markReported(id, 'here');
      expect(await store.claimReport(id, 'there')).toBe('first');
      await store.markReported(id, 'there');
      await store.releaseReport(id, 'there');
      for (const holder of ['here', 'there']) expect(await store.claimReport(id, holder)).toBeUndefined();
    });

    it('a report is marked as redelivered if the engine that claimed it first has died', async () => {
      await finishRun({});
      expect(await claimReports('here', ['nightly'])).toEqual([id]);
      expect(await claimReports('there', ['nightly'])).toEqual([]);
      await store.removeHeartbeat('here');
      expect(await claimReports('there', ['nightly'])).toEqual([id]);
      expect(await store.claimReport(id, 'there')).toBe('again');
      // The first claimant only seemed dead, so it must not record the delivery.
      await store.recordHeartbeat('here', 60, FINGERPRINT);
      await store.markReported(id, 'here');
      expect(await store.claimReport(id, 'here')).toBeUndefined();
      await store.releaseReport(id, 'there');
      expect(await store.claimReport(id, 'here')).toBe('again');
    });
  });

  it('a finished run is deleted after the given days, or after one day if its node has too many runs', async () => {
    await database.query('DELETE FROM gateway_fleet.run');
    const run = async (name: string, node: string, days: number, state: string): Promise<void> => {
      await store.createRun({ ...createRequest({ total: 1, node }), id: name });
      const set = `UPDATE gateway_fleet.run SET created = now() - $2 * interval '1 day', ended = now() - $2 * interval '1 day', state = $3 WHERE id = $1`;
      await database.query(set, [name, days, state]);
    };
    await run('old', 'nightly', 31, 'done');
    await run('last week', 'nightly', 7, 'done');
    await run('first', 'often', 2.2, 'done');
    await run('endless', 'often', 2.1, 'running');
    await run('second', 'often', 2, 'done');
    await run('this morning', 'often', 0.4, 'done');
    await run('now', 'often', 0, 'done');
    await store.deleteOldRuns(30, 2);
    const left = await database.query<{ id: string }>('SELECT id FROM gateway_fleet.run ORDER BY created');
    expect(left.map((one) => one.id)).toEqual(['last week', 'endless', 'this morning', 'now']);
    await store.deleteOldRuns(30, 1);
    expect(await database.query('SELECT FROM gateway_fleet.item')).toHaveLength(4);
  });
});

describe('Database', () => {
  const raise = (code: string): Promise<unknown> =>
    database.query(`DO $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '${code}'; END $$`);

  it.each(['53100', '58030', '25006', '25P03', '40001', '57P03'])('Database retries after the temporary error %s', async (code) => {
    let tries = 0;
    expect(await database.retryUntilAvailable(async () => (tries++ === 0 ? raise(code) : 'done'))).toBe('done');
    expect(tries).toBe(2);
  });

  it('Database does not retry a permanent error, and its error for a full disk says what to do', async () => {
    await expect(database.retryUntilAvailable(() => raise('42501'))).rejects.toMatchObject({ code: '42501' });
    expect(toDatabaseError(await raise('53100').catch((fault: unknown) => fault))).toMatchObject({
      code: 'CONNECTION',
      message: 'The database of the fleet cannot write (53100). Nothing was sent. Check that the disk of PostgreSQL has free space.',
    });
  });

  it('Database limits the idle time of a transaction to eight seconds', async () => {
    const { rows } = await database.transaction((sql) => sql.query('SHOW idle_in_transaction_session_timeout'));
    expect(rows).toEqual([{ idle_in_transaction_session_timeout: '8s' }]);
    // Idle connections outside a transaction hold no locks.
    expect(await database.query('SHOW idle_in_transaction_session_timeout')).toEqual([{ idle_in_transaction_session_timeout: '0' }]);
  });
});

describe('docs/guide/fleet.md', () => {
  const text = readFileSync(join(__dirname, '..', '..', 'docs', 'guide', 'fleet.md'), 'utf8');

  it('the monitoring queries in docs/guide/fleet.md run on the tables', async () => {
    const [, sql = ''] = /## Monitor it[^]*?```sql\n([^`]+)```/.exec(text) ?? [];
    const queries = sql.split(/;\n/).filter((one) => one.trim() !== '');
    expect(queries.length).toBeGreaterThan(3);
    for (const query of queries) await database.query(query);
  });

  it('the repair command in docs/guide/fleet.md for a restored database skips waiting items and checks sent items', async () => {
    const [, sql = ''] = /`(UPDATE gateway_fleet[^`]+)`/.exec(text) ?? [];
    await store.createRun(createRequest({ total: 3 }));
    await store.markSending(await claimItem(0));
    await claimItem(1);
    await database.query(sql);
    expect(await readKind(store.claimItem(id, 0, 'two', FINGERPRINT))).toBe('look');
    for (const index of [1, 2]) expect(await readKind(store.claimItem(id, index, 'two', FINGERPRINT))).toBe('over');
    expect(await readStates()).toEqual(['sending', 'skipped', 'skipped']);
  });
});
