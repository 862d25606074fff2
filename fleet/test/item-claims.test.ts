import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../store/database';
import { RunStore } from '../store/run-store';
import type { ItemClaim, RunRequest } from '../store/rows';
import { migrateSchema } from '../store/schema';
import { createUsualRun, NO_JOBS } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

const FINGERPRINT = 'same';
let postgres: TestPostgres;
let database: Database;
let store: RunStore;
let count = 0;
let id = '';

beforeAll(async () => {
  postgres = await startPostgres();
  database = new Database(await postgres.createDatabase());
  await migrateSchema(database);
  store = new RunStore(database, NO_JOBS, 'inv');
});
afterAll(async () => {
  await database?.close();
  await postgres?.close();
});
beforeEach(() => {
  id = `run-${count++}`;
});

async function createRun(total: number, more: Partial<RunRequest> = {}): Promise<void> {
  const items = Array.from({ length: total }, (_, index) => ({ appliance: `vpn-${index}` }));
  const request = {
    ...createUsualRun(items),
    id,
    operation: 'config.ensure',
    token: randomUUID(),
    origin: 'origin',
    fingerprint: FINGERPRINT,
    ...more,
  };
  await store.createRun(request);
}

/** Claims all these items at once. */
async function claimAll(total: number, holder = 'one'): Promise<ItemClaim[]> {
  const indexes = Array.from({ length: total }, (_, index) => index);
  const results = await Promise.all(indexes.map((index) => store.claimItem(id, index, holder, FINGERPRINT)));
  return results.flatMap((result) => ('claim' in result ? [result.claim] : []));
}

const countStatements = async (work: () => Promise<unknown>): Promise<number> => {
  const before = database.usage.statements;
  await work();
  return database.usage.statements - before;
};

describe('claims of many items at once', () => {
  it('ItemClaims claims, records and finishes forty items with three statements or transactions', async () => {
    await createRun(40);
    let claims: ItemClaim[] = [];
    expect(await countStatements(async () => (claims = await claimAll(40)))).toBe(1);
    expect(claims.map(({ index, attempt }) => [index, attempt])).toEqual(Array.from({ length: 40 }, (_, index) => [index, 1]));
    const marks = await countStatements(async () =>
      expect(new Set(await Promise.all(claims.map((claim) => store.markSending(claim, { at: claim.index }))))).toEqual(new Set([true])),
    );
    expect((await store.listItems(id)).every(({ state, before, index }) => state === 'sending' && before?.['at'] === index)).toBe(true);
    const ends = await countStatements(() =>
      Promise.all(claims.map((claim) => store.finishItem(claim, { state: 'ok', changed: true, data: [claim.index], logins: 1 }))),
    );
    expect([marks, ends]).toEqual([1, 1]);
    const items = await store.listItems(id);
    expect(items.every(({ state, changed, logins }) => state === 'ok' && changed === true && logins === 1)).toBe(true);
    expect(items.map(({ data }) => data)).toEqual(items.map(({ index }) => [index]));
  });

  it('ItemClaims gives each item to only one of several engines that claim all items', async () => {
    await createRun(30);
    for (const holder of ['one', 'two', 'three']) await store.recordHeartbeat(holder, 60, FINGERPRINT);
    const others = [database, database].map((shared) => new RunStore(shared, NO_JOBS, 'inv'));
    const results = await Promise.all(
      [store, ...others].flatMap((engine, holder) =>
        Array.from({ length: 30 }, async (_, index) => engine.claimItem(id, index, ['one', 'two', 'three'][holder] ?? '', FINGERPRINT)),
      ),
    );
    const claimed = results.flatMap((result) => ('claim' in result ? [result.claim.index] : []));
    expect(claimed.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, index) => index));
    expect((await store.listItems(id)).every(({ attempt }) => attempt === 1)).toBe(true);
  });

  it('ItemClaims gives an item to only one of two requests of the same engine', async () => {
    await createRun(2);
    const kinds = await Promise.all([0, 0, 1].map(async (index) => (await store.claimItem(id, index, 'one', FINGERPRINT)).kind));
    expect(kinds).toEqual(['run', 'held', 'run']);
  });

  it('ItemClaims counts all failures of a batch, and stops the run if its canary failed', async () => {
    for (const [canary, stopped] of [
      [0, 'failures'],
      [2, 'canary'],
    ] as const) {
      id = `run-${count++}`;
      await createRun(6, { canary, maxFailures: 1 });
      const claims = await claimAll(5);
      await Promise.all(claims.map((claim, index) => store.finishItem(claim, { state: index < 3 ? 'failed' : 'ok' })));
      expect(await store.findRun(id)).toMatchObject({ failed: 3, stopped });
      expect((await store.claimItem(id, 5, 'one', FINGERPRINT)).kind).toBe('over');
    }
  });

  it('ItemClaims stores the other outcomes of a batch if the database rejects one of them', async () => {
    await createRun(3);
    const claims = await claimAll(3);
    const outcomes = await Promise.allSettled(
      claims.map((claim, index) => store.finishItem(claim, { state: 'ok', requests: index === 1 ? 2 ** 40 : 1 })),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((await store.listItems(id)).map(({ state }) => state)).toEqual(['ok', 'claimed', 'ok']);
  });

  it('ItemClaims changes nothing for an item that another engine has taken over', async () => {
    await createRun(3);
    const claims = await claimAll(3, 'dead');
    const [again] = await claimAll(1, 'other');
    expect(again).toMatchObject({ attempt: 2, holder: 'other' });
    expect(await Promise.all(claims.map((claim) => store.markSending(claim)))).toEqual([false, true, true]);
    expect(await Promise.all(claims.map((claim) => store.finishItem(claim, { state: 'failed' })))).toEqual([false, true, true]);
    expect(await store.findRun(id)).toMatchObject({ failed: 2 });
  });
});
