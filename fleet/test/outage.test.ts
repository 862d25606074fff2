import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import { TestFleet, ROLE_PATH, ENSURE_INPUT, waitUntil, type FleetMember } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

const COUNT = 80;
const TURNS = 12;
/** Longer than a process counts as alive without a heartbeat. */
const OUTAGE_MS = Number(process.env['FLEET_OUTAGE'] ?? 12_000);

let postgres: TestPostgres;
let bench: TestFleet;
let one: FleetMember;
let faults = 0;

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), COUNT, { delayMs: 100 });
  one = await bench.startMember({ inFlight: 4, onFault: () => faults++ });
  await bench.startMember({ inFlight: 4, node: 'other' });
});
afterAll(async () => {
  await bench?.close();
  await postgres?.close();
});

describe('an outage of PostgreSQL', () => {
  it('after an outage of PostgreSQL, every write has been sent exactly once', async () => {
    const names = bench.fleet.entries.map(({ name }) => ({ appliance: name }));
    await one.engine.startRun(bench.createRun('outage', { operation: 'config.ensure', input: ENSURE_INPUT, items: names.slice(1) }));
    // All items change the same setting, so most of them wait for the lock when the database stops.
    const appliance = names[0]?.appliance ?? '';
    const turns = Array.from({ length: TURNS }, (_, turn) => ({ path: ROLE_PATH, body: { description: `turn ${turn}` } }));
    const items = turns.map((input) => ({ appliance, input }));
    await one.engine.startRun(bench.createRun('turns', { operation: 'config.ensure', items, urgent: true }));
    const done = (): number => [...bench.countWritesByAppliance().values()].filter(Boolean).length;
    await waitUntil(() => done() >= COUNT / 4);
    await postgres.server.stop('immediate');
    await pause(OUTAGE_MS);
    const before = done();
    // Without the database no write starts.
    expect(before).toBeLessThan(COUNT);
    expect(faults).toBeGreaterThan(0);
    await postgres.restart();
    await waitUntil(() => one.delivered.length > 1);
    expect(one.delivered).toHaveLength(2);
    const reported = new Map(one.delivered.map(({ run, data }) => [run.id, data]));
    expect(reported.get('outage')).toMatchObject({ total: COUNT - 1, ok: COUNT - 1, failed: 0, unknown: 0 });
    expect(reported.get('turns')).toMatchObject({ total: TURNS, ok: TURNS });
    expect([...bench.countWritesByAppliance().values()]).toEqual([TURNS, ...new Array<number>(COUNT - 1).fill(1)]);
  });
});
