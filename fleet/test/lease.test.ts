import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import { coordinationSuite } from '../../test/library/coordination-suite';
import { Database } from '../ledger/database';
import { LeaseCoordination } from '../ledger/lease';
import { migrate } from '../ledger/schema';
import { startPostgres, type TestPostgres } from './support/postgres';

let postgres: TestPostgres;
let databases: Database[];
let one: LeaseCoordination;
let other: LeaseCoordination;

beforeAll(async () => {
  postgres = await startPostgres();
  const url = await postgres.database();
  databases = [new Database(url), new Database(url)];
  await Promise.all(databases.map(migrate));
  [one, other] = databases.map((database) => new LeaseCoordination(database)) as [LeaseCoordination, LeaseCoordination];
});
afterAll(async () => {
  await Promise.all((databases ?? []).map((database) => database.close()));
  await postgres?.close();
});

coordinationSuite('on PostgreSQL', () => ({ one, other, pass: (ms) => pause(ms) }));

describe('a lease', () => {
  const expire = (key: string): Promise<unknown> =>
    databases[0]!.query(`UPDATE gateway_fleet.lease SET expires = clock_timestamp() - interval '1 h' WHERE key = $1`, [key]);
  /** As if the database had been there for long. */
  const settle = (): Promise<unknown> =>
    databases[0]!.query(
      `CREATE OR REPLACE FUNCTION gateway_fleet.is_over(expires timestamptz) RETURNS boolean LANGUAGE sql AS 'SELECT expires < clock_timestamp()'`,
    );

  it('is nobody else’s while its holder lives, and the next one’s when its time is over', async () => {
    await settle();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let isIn = false;
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const first = one.exclusive('place', () => (begin(), held), { leaseMs: 3_600_000 });
    await begun;
    let waits = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (waits = resolve));
    const second = other.exclusive('place', () => Promise.resolve((isIn = true)), { onWait: waits });
    await waiting;
    await pause(1200);
    expect(isIn).toBe(false);
    // Its holder is gone: nobody prolongs it.
    await databases[0]!.query(`UPDATE gateway_fleet.lease SET expires = clock_timestamp() - interval '1 h' WHERE key = 'place' AND held`);
    await second;
    release();
    await first;
  });

  it('of whoever waits and dies keeps nobody behind him waiting', async () => {
    await databases[0]!.query(
      `INSERT INTO gateway_fleet.lease (key, holder, expires) VALUES ('dead', 'dead', clock_timestamp() - interval '1 h')`,
    );
    expect(await one.exclusive('dead', () => Promise.resolve('through'))).toBe('through');
    expect(await databases[0]!.query(`SELECT FROM gateway_fleet.lease WHERE key = 'dead'`)).toEqual([]);
  });

  it('that nobody needs goes', async () => {
    await one.remember('kept', 1, 3_600_000);
    await one.remember('over', 1, 3_600_000);
    await expire('over');
    await one.sweep();
    expect(await other.remembered('kept')).toBe(1);
    expect(await databases[0]!.query(`SELECT FROM gateway_fleet.lease WHERE key = 'over'`)).toEqual([]);
  });
});
