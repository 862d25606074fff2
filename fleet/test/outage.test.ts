import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import { Bench, SETTING, until, type Member } from './support/fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

const COUNT = 80;
/** Longer than a process counts as alive without a sign of life. */
const OUTAGE_MS = Number(process.env['FLEET_OUTAGE'] ?? 12_000);

let postgres: TestPostgres;
let bench: Bench;
let one: Member;
let faults = 0;

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await Bench.start(await postgres.database(), COUNT, { delayMs: 100 });
  one = await bench.member({ inFlight: 4, onFault: () => faults++ });
  await bench.member({ inFlight: 4, node: 'other' });
});
afterAll(async () => {
  await bench?.close();
  await postgres?.close();
});

describe('PostgreSQL stopped hard', () => {
  it('loses and doubles nothing, and everything goes on by itself', async () => {
    await one.engine.order(bench.order('outage', { operation: 'config.ensure', input: SETTING }));
    const done = (): number => [...bench.writes().values()].filter(Boolean).length;
    await until(() => done() >= COUNT / 4);
    await postgres.cluster.stop('immediate');
    await pause(OUTAGE_MS);
    const before = done();
    // Without the ledger no write begins.
    expect(before).toBeLessThan(COUNT);
    expect(faults).toBeGreaterThan(0);
    await postgres.restart();
    await until(() => one.delivered.length > 0);
    expect(one.delivered).toHaveLength(1);
    expect(one.delivered[0]?.data).toMatchObject({ total: COUNT, ok: COUNT, failed: 0, unknown: 0 });
    expect([...bench.writes().values()]).toEqual(new Array(COUNT).fill(1));
  });
});
