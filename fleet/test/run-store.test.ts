import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { JobQueues } from '../engine/job-queues';
import { Database, toDatabaseError } from '../store/database';
import { RunStore } from '../store/run-store';
import type { ClaimResult, Claim, RunRequest } from '../store/rows';
import { migrate } from '../store/schema';
import { NEXT_STATES, ITEM_STATES, getPreviousStates, isFailureState, isFinalState } from '../store/item-states';
import { createUsualRun } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

let postgres: TestPostgres;
let database: Database;
let queues: JobQueues;
let ledger: RunStore;

beforeAll(async () => {
  postgres = await startPostgres();
  database = new Database(await postgres.createDatabase());
  await migrate(database);
  queues = new JobQueues(database, () => undefined);
  await queues.start();
  ledger = new RunStore(database, queues);
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

function order(more: Partial<RunRequest> & { total?: number } = {}): RunRequest {
  const { total = 4, ...rest } = more;
  return {
    ...createUsualRun(Array.from({ length: total }, (_, index) => ({ appliance: `vpn-${index}` }))),
    id,
    token: randomUUID(),
    origin: 'origin',
    operation: 'config.ensure',
    input: { path: 'system/network' },
    ...rest,
  };
}

async function claimed(index: number, holder = 'one'): Promise<Claim> {
  const begun = await ledger.claimItem(id, index, holder);
  if (!('claim' in begun)) throw new Error(`Not begun: ${begun.kind}`);
  return begun.claim;
}

const kind = async (begun: Promise<ClaimResult>): Promise<string> => (await begun).kind;
const states = async (): Promise<string[]> => (await ledger.listItems(id)).map(({ state }) => state);
const jobs = async (): Promise<number> =>
  (
    await database.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM gateway_fleet_jobs.job WHERE name = 'items' AND data->>'run' = $1`,
      [id],
    )
  )[0]?.n ?? 0;

describe('states of an item', () => {
  it('are those of the table, and each is reached', async () => {
    const [row] = await database.query<{ check: string }>(
      `SELECT pg_get_constraintdef(oid) AS check FROM pg_constraint WHERE conrelid = 'gateway_fleet.item'::regclass AND contype = 'c'`,
    );
    expect([...(row?.check ?? '').matchAll(/'(\w+)'/g)].map(([, state]) => state)).toEqual([...ITEM_STATES]);
    for (const state of ITEM_STATES.slice(1)) expect(getPreviousStates(state), state).not.toEqual([]);
  });

  it('end in four ways, of which two are failures, and nothing follows an end', () => {
    expect(ITEM_STATES.filter(isFinalState)).toEqual(['ok', 'failed', 'unknown', 'skipped']);
    expect(ITEM_STATES.filter(isFailureState)).toEqual(['failed', 'unknown']);
  });

  it('never lead from a write that may have left to one that is begun anew or left out', () => {
    expect(NEXT_STATES.sending).not.toContain('begun');
    expect(NEXT_STATES.sending).not.toContain('waiting');
    expect(NEXT_STATES.sending).not.toContain('skipped');
  });
});

describe('an order', () => {
  it('is taken once; the same one again is no second one', async () => {
    const one = order();
    expect(await ledger.createRun(one)).toBe(true);
    expect(await ledger.createRun(one)).toBe(true);
    expect(await ledger.createRun(order())).toBe(false);
    expect(await states()).toEqual(['waiting', 'waiting', 'waiting', 'waiting']);
  });

  it('is taken once also when many give it at the same moment', async () => {
    const taken = await Promise.all(Array.from({ length: 10 }, () => ledger.createRun(order())));
    expect(taken.filter(Boolean)).toHaveLength(1);
  });

  it('leaves nothing where its jobs cannot be sent', async () => {
    const faulty = new RunStore(database, {
      sendItems: () => Promise.resolve(),
      sendCoordinator: () => Promise.reject(new Error('on purpose')),
    });
    await expect(faulty.createRun(order())).rejects.toThrow('on purpose');
    expect(await ledger.findRun(id)).toBeUndefined();
    expect(await ledger.listItems(id)).toEqual([]);
  });
});

describe('an item', () => {
  it('goes from waiting over begun and sending to its end, once', async () => {
    await ledger.createRun(order());
    const claim = await claimed(0);
    expect(await ledger.markSending(claim)).toBe(true);
    expect((await ledger.listItems(id))[0]).toMatchObject({ state: 'sending', holder: 'one', attempt: 1 });
    expect(await ledger.finishItem(claim, { state: 'ok', changed: true })).toBe(true);
    expect(await ledger.finishItem(claim, { state: 'failed' })).toBe(false);
    expect((await ledger.listItems(id))[0]).toMatchObject({ state: 'ok', changed: true });
    expect(await kind(ledger.claimItem(id, 0, 'two'))).toBe('over');
  });

  it('is left to whoever has it while he lives, and taken over when he is gone', async () => {
    await ledger.createRun(order());
    await ledger.recordHeartbeat('alive', 60);
    const first = await claimed(0, 'alive');
    expect(await kind(ledger.claimItem(id, 0, 'two'))).toBe('held');
    await ledger.removeHeartbeat('alive');
    const second = await claimed(0, 'two');
    expect(second.attempt).toBe(2);
    // The first one only seemed dead: nothing leaves, and nothing is told.
    expect(await ledger.markSending(first)).toBe(false);
    expect(await ledger.isHeld(first)).toBe(false);
    expect(await ledger.finishItem(first, { state: 'ok' })).toBe(false);
    expect(await ledger.markSending(second)).toBe(true);
  });

  it('is looked at, not begun, once its write may have left', async () => {
    await ledger.createRun(order());
    expect(await ledger.markSending(await claimed(0, 'gone'))).toBe(true);
    const begun = await ledger.claimItem(id, 0, 'two');
    expect(begun.kind).toBe('look');
    expect((await states())[0]).toBe('sending');
    expect(await ledger.finishItem((begun as { claim: Claim }).claim, { state: 'unknown' })).toBe(true);
    expect((await ledger.findRun(id))?.failed).toBe(1);
  });

  it('is begun by one of many who try at the same moment', async () => {
    await ledger.createRun(order());
    const names = Array.from({ length: 8 }, (_, index) => `worker-${index}`);
    await Promise.all(names.map((name) => ledger.recordHeartbeat(name, 60)));
    const begun = await Promise.all(names.map((name) => kind(ledger.claimItem(id, 0, name))));
    expect(begun.filter((one) => one === 'run')).toHaveLength(1);
    expect(begun.filter((one) => one === 'held')).toHaveLength(7);
  });

  it('ends also with what no table keeps: U+0000, and half of a character', async () => {
    await ledger.createRun(order());
    const odd = 'a\u0000b\ud83d \\u0000 \ud83d\ude00 \n';
    const kept = 'a\ufffdb\ufffd \\u0000 \ud83d\ude00 \n';
    const outcome = { state: 'failed', code: 'A\u0000', message: odd, data: { [odd]: [odd] } } as const;
    expect(await ledger.finishItem(await claimed(0), outcome)).toBe(true);
    expect((await ledger.listItems(id))[0]).toMatchObject({ code: 'A\ufffd', message: kept, data: { [kept]: [kept] } });
  });

  it('can be given back as long as nothing of it was sent', async () => {
    await ledger.createRun(order());
    const claim = await claimed(0);
    await ledger.releaseItem(claim);
    expect((await states())[0]).toBe('waiting');
    const again = await claimed(0, 'two');
    await ledger.markSending(again);
    await ledger.releaseItem(again);
    expect((await states())[0]).toBe('sending');
  });
});

describe('a run', () => {
  const end = async (index: number, state: 'ok' | 'failed' | 'unknown'): Promise<void> => {
    const claim = await claimed(index);
    if (state === 'unknown') await ledger.markSending(claim);
    expect(await ledger.finishItem(claim, { state })).toBe(true);
  };

  it('releases one part after the other, each once', async () => {
    await ledger.createRun(order({ total: 6, canary: 1, ends: [1, 3, 6] }));
    expect(await ledger.advanceRun(id)).toBe(false);
    expect(await ledger.advanceRun(id)).toBe(false);
    expect(await jobs()).toBe(1);
    await end(0, 'ok');
    await ledger.advanceRun(id);
    expect(await jobs()).toBe(3);
    await end(1, 'ok');
    await ledger.advanceRun(id);
    expect(await jobs()).toBe(3);
    await end(2, 'failed');
    await ledger.advanceRun(id);
    expect(await jobs()).toBe(6);
    for (const index of [3, 4, 5]) await end(index, 'ok');
    expect(await ledger.advanceRun(id)).toBe(true);
    expect(await ledger.findRun(id)).toMatchObject({ state: 'done', stopped: null, failed: 1 });
  });

  it('ends with its canary when that fails: nothing else is touched', async () => {
    await ledger.createRun(order({ total: 5, canary: 2, ends: [2, 5] }));
    await ledger.advanceRun(id);
    await end(0, 'failed');
    expect(await kind(ledger.claimItem(id, 1, 'one'))).toBe('over');
    expect(await ledger.advanceRun(id)).toBe(true);
    expect(await states()).toEqual(['failed', 'skipped', 'skipped', 'skipped', 'skipped']);
    expect(await ledger.findRun(id)).toMatchObject({ stopped: 'canary' });
  });

  it('begins nothing more once too many have failed, over all parts', async () => {
    await ledger.createRun(order({ total: 8, ends: [2, 4, 6, 8], maxFailures: 1 }));
    await ledger.advanceRun(id);
    await end(0, 'failed');
    await end(1, 'ok');
    await ledger.advanceRun(id);
    const underWay = await claimed(3);
    await end(2, 'unknown');
    expect(await kind(ledger.claimItem(id, 4, 'two'))).toBe('over');
    expect(await ledger.advanceRun(id)).toBe(false);
    // What was in flight ends, and tells how.
    await ledger.finishItem(underWay, { state: 'ok' });
    expect(await ledger.advanceRun(id)).toBe(true);
    expect(await states()).toEqual(['failed', 'ok', 'unknown', 'ok', 'skipped', 'skipped', 'skipped', 'skipped']);
    expect(await ledger.findRun(id)).toMatchObject({ stopped: 'failures' });
  });

  it('pauses, goes on with what it had sent, and is cancelled', async () => {
    await ledger.createRun(order());
    await ledger.advanceRun(id);
    expect(await ledger.controlRun(id, 'pause')).toBe(true);
    expect(await kind(ledger.claimItem(id, 0, 'one'))).toBe('over');
    expect(await ledger.advanceRun(id)).toBe(false);
    expect(await states()).toEqual(['waiting', 'waiting', 'waiting', 'waiting']);
    expect(await ledger.controlRun(id, 'resume')).toBe(true);
    await ledger.advanceRun(id);
    // The one that came in the pause is sent again.
    expect(await jobs()).toBe(5);
    await end(0, 'ok');
    expect(await ledger.controlRun(id, 'cancel')).toBe(true);
    expect(await ledger.advanceRun(id)).toBe(true);
    expect(await states()).toEqual(['ok', 'skipped', 'skipped', 'skipped']);
    expect(await ledger.controlRun(id, 'resume')).toBe(false);
  });

  describe('reported', () => {
    const take = async (holder: string, names: string[], ids: string[] = []): Promise<string[]> => {
      await ledger.recordHeartbeat(holder, 60);
      const taken: string[] = [];
      for (const one of await ledger.findUnreportedRuns(holder, names, ids))
        if (await ledger.claimReport(one.id, holder)) taken.push(one.id);
      return taken;
    };
    const over = async (more: Partial<RunRequest>): Promise<void> => {
      await database.query('DELETE FROM gateway_fleet.run');
      for (const holder of ['there', 'third']) await ledger.removeHeartbeat(holder);
      await ledger.recordHeartbeat('here', 60);
      await ledger.createRun(order({ total: 1, origin: 'here', node: 'nightly', ...more }));
      await end(0, 'ok');
      await ledger.advanceRun(id);
    };

    it('is it once, where it came in; elsewhere only when that is gone', async () => {
      await over({});
      expect(await take('there', ['nightly'])).toEqual([]);
      await ledger.removeHeartbeat('here');
      expect(await take('there', ['another'])).toEqual([]);
      const taken = await Promise.all([take('there', ['nightly']), take('third', ['nightly'])]);
      expect(taken.flat()).toEqual([id]);
    });

    it('is it where its node is, whatever that is called now', async () => {
      await over({ nodeId: 'abc' });
      expect(await take('here', ['weekly'], ['other'])).toEqual([]);
      expect(await take('here', ['weekly'], ['abc'])).toEqual([id]);
    });

    it('is it by whoever does not know whether it was taken, and anew where nobody was there to be told', async () => {
      await over({});
      expect(await ledger.claimReport(id, 'here')).toBe('first');
      expect(await ledger.claimReport(id, 'here')).toBe('first');
      expect(await ledger.claimReport(id, 'there')).toBeUndefined();
      await ledger.releaseReport(id, 'there');
      expect(await ledger.claimReport(id, 'there')).toBeUndefined();
      await ledger.releaseReport(id, 'here');
      expect(await ledger.claimReport(id, 'there')).toBe('first');
      await ledger.markReported(id, 'here');
      expect(await ledger.claimReport(id, 'there')).toBe('first');
      await ledger.markReported(id, 'there');
      await ledger.releaseReport(id, 'there');
      for (const holder of ['here', 'there']) expect(await ledger.claimReport(id, holder)).toBeUndefined();
    });

    it('is it again, and said to be so, where whoever was giving it died before that was noted', async () => {
      await over({});
      expect(await take('here', ['nightly'])).toEqual([id]);
      expect(await take('there', ['nightly'])).toEqual([]);
      await ledger.removeHeartbeat('here');
      expect(await take('there', ['nightly'])).toEqual([id]);
      expect(await ledger.claimReport(id, 'there')).toBe('again');
      // The one that was taken for dead has nothing more to say.
      await ledger.recordHeartbeat('here', 60);
      await ledger.markReported(id, 'here');
      expect(await ledger.claimReport(id, 'here')).toBeUndefined();
      await ledger.releaseReport(id, 'there');
      expect(await ledger.claimReport(id, 'here')).toBe('again');
    });
  });

  it('is forgotten after so many days, or a day if its node has begun many since; never while it is under way', async () => {
    await database.query('DELETE FROM gateway_fleet.run');
    const run = async (name: string, node: string, days: number, state: string): Promise<void> => {
      await ledger.createRun({ ...order({ total: 1, node }), id: name });
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
    await ledger.deleteOldRuns(30, 2);
    const left = await database.query<{ id: string }>('SELECT id FROM gateway_fleet.run ORDER BY created');
    expect(left.map((one) => one.id)).toEqual(['last week', 'endless', 'this morning', 'now']);
    await ledger.deleteOldRuns(30, 1);
    expect(await database.query('SELECT FROM gateway_fleet.item')).toHaveLength(4);
  });
});

describe('the database', () => {
  const raise = (code: string): Promise<unknown> =>
    database.query(`DO $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '${code}'; END $$`);

  it.each(['53100', '58030', '25006', '25P03', '40001', '57P03'])('is waited for where it cannot at the moment: %s', async (code) => {
    let tries = 0;
    expect(await database.retryUntilAvailable(async () => (tries++ === 0 ? raise(code) : 'done'))).toBe('done');
    expect(tries).toBe(2);
  });

  it('is not waited for where it never will; says what to do where it is full', async () => {
    await expect(database.retryUntilAvailable(() => raise('42501'))).rejects.toMatchObject({ code: '42501' });
    expect(toDatabaseError(await raise('53100').catch((fault: unknown) => fault))).toMatchObject({
      code: 'CONNECTION',
      message: 'The database of the fleet cannot write (53100). Check the disk of PostgreSQL and the space that is left there.',
    });
  });

  it('ends a transaction whose process stands still', async () => {
    const { rows } = await database.transaction((sql) => sql.query('SHOW idle_in_transaction_session_timeout'));
    expect(rows).toEqual([{ idle_in_transaction_session_timeout: '8s' }]);
    // Outside of one nobody is in anybody's way.
    expect(await database.query('SHOW idle_in_transaction_session_timeout')).toEqual([{ idle_in_transaction_session_timeout: '0' }]);
  });
});

describe('docs/guide/fleet.md', () => {
  const text = readFileSync(join(__dirname, '..', '..', 'docs', 'guide', 'fleet.md'), 'utf8');

  it('watches by commands that the tables understand', async () => {
    const [, sql = ''] = /```sql\n([^`]+)```/.exec(text) ?? [];
    const queries = sql.split(/;\n/).filter((one) => one.trim() !== '');
    expect(queries.length).toBeGreaterThan(3);
    for (const query of queries) await database.query(query);
  });

  it('has a way to go on with an older copy of the database: nothing that waits is begun, what was sent is looked at', async () => {
    const [, sql = ''] = /`(UPDATE gateway_fleet[^`]+)`/.exec(text) ?? [];
    await ledger.createRun(order({ total: 3 }));
    await ledger.markSending(await claimed(0));
    await claimed(1);
    await database.query(sql);
    expect(await kind(ledger.claimItem(id, 0, 'two'))).toBe('look');
    for (const index of [1, 2]) expect(await kind(ledger.claimItem(id, index, 'two'))).toBe('over');
    expect(await states()).toEqual(['sending', 'skipped', 'skipped']);
  });
});
