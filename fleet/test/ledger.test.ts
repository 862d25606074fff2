import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Queues } from '../engine/queues';
import { Database, databaseFault } from '../ledger/database';
import { Ledger } from '../ledger/ledger';
import type { Begun, Claim, Order } from '../ledger/rows';
import { migrate } from '../ledger/schema';
import { NEXT, STATES, before, isFailure, isOver } from '../ledger/states';
import { usualOrder } from './support/fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

let postgres: TestPostgres;
let database: Database;
let queues: Queues;
let ledger: Ledger;

beforeAll(async () => {
  postgres = await startPostgres();
  database = new Database(await postgres.database());
  await migrate(database);
  queues = new Queues(database, () => undefined);
  await queues.start();
  ledger = new Ledger(database, queues);
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

function order(more: Partial<Order> & { total?: number } = {}): Order {
  const { total = 4, ...rest } = more;
  return {
    ...usualOrder(Array.from({ length: total }, (_, index) => ({ appliance: `vpn-${index}` }))),
    id,
    token: randomUUID(),
    origin: 'origin',
    operation: 'config.ensure',
    input: { path: 'system/network' },
    ...rest,
  };
}

async function claimed(index: number, holder = 'one'): Promise<Claim> {
  const begun = await ledger.begin(id, index, holder);
  if (!('claim' in begun)) throw new Error(`Not begun: ${begun.kind}`);
  return begun.claim;
}

const kind = async (begun: Promise<Begun>): Promise<string> => (await begun).kind;
const states = async (): Promise<string[]> => (await ledger.items(id)).map(({ state }) => state);
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
    expect([...(row?.check ?? '').matchAll(/'(\w+)'/g)].map(([, state]) => state)).toEqual([...STATES]);
    for (const state of STATES.slice(1)) expect(before(state), state).not.toEqual([]);
  });

  it('end in four ways, of which two are failures, and nothing follows an end', () => {
    expect(STATES.filter(isOver)).toEqual(['ok', 'failed', 'unknown', 'skipped']);
    expect(STATES.filter(isFailure)).toEqual(['failed', 'unknown']);
  });

  it('never lead from a write that may have left to one that is begun anew or left out', () => {
    expect(NEXT.sending).not.toContain('begun');
    expect(NEXT.sending).not.toContain('waiting');
    expect(NEXT.sending).not.toContain('skipped');
  });
});

describe('an order', () => {
  it('is taken once; the same one again is no second one', async () => {
    const one = order();
    expect(await ledger.order(one)).toBe(true);
    expect(await ledger.order(one)).toBe(true);
    expect(await ledger.order(order())).toBe(false);
    expect(await states()).toEqual(['waiting', 'waiting', 'waiting', 'waiting']);
  });

  it('is taken once also when many give it at the same moment', async () => {
    const taken = await Promise.all(Array.from({ length: 10 }, () => ledger.order(order())));
    expect(taken.filter(Boolean)).toHaveLength(1);
  });

  it('leaves nothing where its jobs cannot be sent', async () => {
    const faulty = new Ledger(database, {
      items: () => Promise.resolve(),
      coordinator: () => Promise.reject(new Error('on purpose')),
    });
    await expect(faulty.order(order())).rejects.toThrow('on purpose');
    expect(await ledger.run(id)).toBeUndefined();
    expect(await ledger.items(id)).toEqual([]);
  });
});

describe('an item', () => {
  it('goes from waiting over begun and sending to its end, once', async () => {
    await ledger.order(order());
    const claim = await claimed(0);
    expect(await ledger.sending(claim)).toBe(true);
    expect((await ledger.items(id))[0]).toMatchObject({ state: 'sending', holder: 'one', attempt: 1 });
    expect(await ledger.finish(claim, { state: 'ok', changed: true })).toBe(true);
    expect(await ledger.finish(claim, { state: 'failed' })).toBe(false);
    expect((await ledger.items(id))[0]).toMatchObject({ state: 'ok', changed: true });
    expect(await kind(ledger.begin(id, 0, 'two'))).toBe('over');
  });

  it('is left to whoever has it while he lives, and taken over when he is gone', async () => {
    await ledger.order(order());
    await ledger.present('alive', 60);
    const first = await claimed(0, 'alive');
    expect(await kind(ledger.begin(id, 0, 'two'))).toBe('held');
    await ledger.absent('alive');
    const second = await claimed(0, 'two');
    expect(second.attempt).toBe(2);
    // The first one only seemed dead: nothing leaves, and nothing is told.
    expect(await ledger.sending(first)).toBe(false);
    expect(await ledger.isHeld(first)).toBe(false);
    expect(await ledger.finish(first, { state: 'ok' })).toBe(false);
    expect(await ledger.sending(second)).toBe(true);
  });

  it('is looked at, not begun, once its write may have left', async () => {
    await ledger.order(order());
    expect(await ledger.sending(await claimed(0, 'gone'))).toBe(true);
    const begun = await ledger.begin(id, 0, 'two');
    expect(begun.kind).toBe('look');
    expect((await states())[0]).toBe('sending');
    expect(await ledger.finish((begun as { claim: Claim }).claim, { state: 'unknown' })).toBe(true);
    expect((await ledger.run(id))?.failed).toBe(1);
  });

  it('is begun by one of many who try at the same moment', async () => {
    await ledger.order(order());
    const names = Array.from({ length: 8 }, (_, index) => `worker-${index}`);
    await Promise.all(names.map((name) => ledger.present(name, 60)));
    const begun = await Promise.all(names.map((name) => kind(ledger.begin(id, 0, name))));
    expect(begun.filter((one) => one === 'run')).toHaveLength(1);
    expect(begun.filter((one) => one === 'held')).toHaveLength(7);
  });

  it('ends also with what no table keeps: U+0000, and half of a character', async () => {
    await ledger.order(order());
    const odd = 'a\u0000b\ud83d \\u0000 \ud83d\ude00 \n';
    const kept = 'a\ufffdb\ufffd \\u0000 \ud83d\ude00 \n';
    const outcome = { state: 'failed', code: 'A\u0000', message: odd, data: { [odd]: [odd] } } as const;
    expect(await ledger.finish(await claimed(0), outcome)).toBe(true);
    expect((await ledger.items(id))[0]).toMatchObject({ code: 'A\ufffd', message: kept, data: { [kept]: [kept] } });
  });

  it('can be given back as long as nothing of it was sent', async () => {
    await ledger.order(order());
    const claim = await claimed(0);
    await ledger.release(claim);
    expect((await states())[0]).toBe('waiting');
    const again = await claimed(0, 'two');
    await ledger.sending(again);
    await ledger.release(again);
    expect((await states())[0]).toBe('sending');
  });
});

describe('a run', () => {
  const end = async (index: number, state: 'ok' | 'failed' | 'unknown'): Promise<void> => {
    const claim = await claimed(index);
    if (state === 'unknown') await ledger.sending(claim);
    expect(await ledger.finish(claim, { state })).toBe(true);
  };

  it('releases one part after the other, each once', async () => {
    await ledger.order(order({ total: 6, canary: 1, ends: [1, 3, 6] }));
    expect(await ledger.advance(id)).toBe(false);
    expect(await ledger.advance(id)).toBe(false);
    expect(await jobs()).toBe(1);
    await end(0, 'ok');
    await ledger.advance(id);
    expect(await jobs()).toBe(3);
    await end(1, 'ok');
    await ledger.advance(id);
    expect(await jobs()).toBe(3);
    await end(2, 'failed');
    await ledger.advance(id);
    expect(await jobs()).toBe(6);
    for (const index of [3, 4, 5]) await end(index, 'ok');
    expect(await ledger.advance(id)).toBe(true);
    expect(await ledger.run(id)).toMatchObject({ state: 'done', stopped: null, failed: 1 });
  });

  it('ends with its canary when that fails: nothing else is touched', async () => {
    await ledger.order(order({ total: 5, canary: 2, ends: [2, 5] }));
    await ledger.advance(id);
    await end(0, 'failed');
    expect(await kind(ledger.begin(id, 1, 'one'))).toBe('over');
    expect(await ledger.advance(id)).toBe(true);
    expect(await states()).toEqual(['failed', 'skipped', 'skipped', 'skipped', 'skipped']);
    expect(await ledger.run(id)).toMatchObject({ stopped: 'canary' });
  });

  it('begins nothing more once too many have failed, over all parts', async () => {
    await ledger.order(order({ total: 8, ends: [2, 4, 6, 8], maxFailures: 1 }));
    await ledger.advance(id);
    await end(0, 'failed');
    await end(1, 'ok');
    await ledger.advance(id);
    const underWay = await claimed(3);
    await end(2, 'unknown');
    expect(await kind(ledger.begin(id, 4, 'two'))).toBe('over');
    expect(await ledger.advance(id)).toBe(false);
    // What was in flight ends, and tells how.
    await ledger.finish(underWay, { state: 'ok' });
    expect(await ledger.advance(id)).toBe(true);
    expect(await states()).toEqual(['failed', 'ok', 'unknown', 'ok', 'skipped', 'skipped', 'skipped', 'skipped']);
    expect(await ledger.run(id)).toMatchObject({ stopped: 'failures' });
  });

  it('pauses, goes on with what it had sent, and is cancelled', async () => {
    await ledger.order(order());
    await ledger.advance(id);
    expect(await ledger.control(id, 'pause')).toBe(true);
    expect(await kind(ledger.begin(id, 0, 'one'))).toBe('over');
    expect(await ledger.advance(id)).toBe(false);
    expect(await states()).toEqual(['waiting', 'waiting', 'waiting', 'waiting']);
    expect(await ledger.control(id, 'resume')).toBe(true);
    await ledger.advance(id);
    // The one that came in the pause is sent again.
    expect(await jobs()).toBe(5);
    await end(0, 'ok');
    expect(await ledger.control(id, 'cancel')).toBe(true);
    expect(await ledger.advance(id)).toBe(true);
    expect(await states()).toEqual(['ok', 'skipped', 'skipped', 'skipped']);
    expect(await ledger.control(id, 'resume')).toBe(false);
  });

  describe('reported', () => {
    const take = async (holder: string, names: string[], ids: string[] = []): Promise<string[]> => {
      await ledger.present(holder, 60);
      const taken: string[] = [];
      for (const one of await ledger.unreported(holder, names, ids)) if (await ledger.takeReport(one.id, holder)) taken.push(one.id);
      return taken;
    };
    const over = async (more: Partial<Order>): Promise<void> => {
      await database.query('DELETE FROM gateway_fleet.run');
      for (const holder of ['there', 'third']) await ledger.absent(holder);
      await ledger.present('here', 60);
      await ledger.order(order({ total: 1, origin: 'here', node: 'nightly', ...more }));
      await end(0, 'ok');
      await ledger.advance(id);
    };

    it('is it once, where it came in; elsewhere only when that is gone', async () => {
      await over({});
      expect(await take('there', ['nightly'])).toEqual([]);
      await ledger.absent('here');
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
      expect(await ledger.takeReport(id, 'here')).toBe('first');
      expect(await ledger.takeReport(id, 'here')).toBe('first');
      expect(await ledger.takeReport(id, 'there')).toBeUndefined();
      await ledger.giveReportBack(id, 'there');
      expect(await ledger.takeReport(id, 'there')).toBeUndefined();
      await ledger.giveReportBack(id, 'here');
      expect(await ledger.takeReport(id, 'there')).toBe('first');
      await ledger.reportGiven(id, 'here');
      expect(await ledger.takeReport(id, 'there')).toBe('first');
      await ledger.reportGiven(id, 'there');
      await ledger.giveReportBack(id, 'there');
      for (const holder of ['here', 'there']) expect(await ledger.takeReport(id, holder)).toBeUndefined();
    });

    it('is it again, and said to be so, where whoever was giving it died before that was noted', async () => {
      await over({});
      expect(await take('here', ['nightly'])).toEqual([id]);
      expect(await take('there', ['nightly'])).toEqual([]);
      await ledger.absent('here');
      expect(await take('there', ['nightly'])).toEqual([id]);
      expect(await ledger.takeReport(id, 'there')).toBe('again');
      // The one that was taken for dead has nothing more to say.
      await ledger.present('here', 60);
      await ledger.reportGiven(id, 'here');
      expect(await ledger.takeReport(id, 'here')).toBeUndefined();
      await ledger.giveReportBack(id, 'there');
      expect(await ledger.takeReport(id, 'here')).toBe('again');
    });
  });

  it('is forgotten after so many days, or a day if its node has begun many since; never while it is under way', async () => {
    await database.query('DELETE FROM gateway_fleet.run');
    const run = async (name: string, node: string, days: number, state: string): Promise<void> => {
      await ledger.order({ ...order({ total: 1, node }), id: name });
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
    await ledger.forget(30, 2);
    const left = await database.query<{ id: string }>('SELECT id FROM gateway_fleet.run ORDER BY created');
    expect(left.map((one) => one.id)).toEqual(['last week', 'endless', 'this morning', 'now']);
    await ledger.forget(30, 1);
    expect(await database.query('SELECT FROM gateway_fleet.item')).toHaveLength(4);
  });
});

describe('the database', () => {
  const raise = (code: string): Promise<unknown> =>
    database.query(`DO $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '${code}'; END $$`);

  it.each(['53100', '58030', '25006', '25P03', '40001', '57P03'])('is waited for where it cannot at the moment: %s', async (code) => {
    let tries = 0;
    expect(await database.lasting(async () => (tries++ === 0 ? raise(code) : 'done'))).toBe('done');
    expect(tries).toBe(2);
  });

  it('is not waited for where it never will; says what to do where it is full', async () => {
    await expect(database.lasting(() => raise('42501'))).rejects.toMatchObject({ code: '42501' });
    expect(databaseFault(await raise('53100').catch((fault: unknown) => fault))).toMatchObject({
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
    await ledger.order(order({ total: 3 }));
    await ledger.sending(await claimed(0));
    await claimed(1);
    await database.query(sql);
    expect(await kind(ledger.begin(id, 0, 'two'))).toBe('look');
    for (const index of [1, 2]) expect(await kind(ledger.begin(id, index, 'two'))).toBe('over');
    expect(await states()).toEqual(['sending', 'skipped', 'skipped']);
  });
});
