import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TestFleet, ENSURE_INPUT, waitUntil, type FleetMember } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

const COUNT = 300;
const IN_FLIGHT = 16;
let postgres: TestPostgres;
let bench: TestFleet;
let one: FleetMember;

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), COUNT, { delayMs: 5 });
  one = await bench.startMember({ inFlight: IN_FLIGHT });
  await bench.startMember({ inFlight: IN_FLIGHT, node: 'other' });
});
afterEach(() => bench.reset());
afterAll(async () => {
  await bench?.close();
  await postgres?.close();
});

const touched = (): number => [...bench.countWritesByAppliance().values()].filter(Boolean).length;
const report = async (id: string) => {
  await waitUntil(() => one.delivered.some(({ run }) => run.id === id));
  return one.delivered.find(({ run }) => run.id === id)!.data;
};

describe('a run with two engines on 300 appliances with 20 faulty ones', () => {
  it.each([{ ends: [COUNT] }, { ends: [100, 200, COUNT] }])(
    'a run on 300 appliances starts no item after 10 of 20 failures (batches end at $ends)',
    async ({ ends }) => {
      for (let index = 0; index < 20; index++)
        bench.fleet.appliances[index * 5]?.fault({ match: ({ method }) => method === 'PUT', status: 500, body: '{}', times: Infinity });
      const id = `limit-${ends.length}`;
      await one.engine.startRun(bench.createRun(id, { operation: 'config.ensure', input: ENSURE_INPUT, maxFailures: 10, ends }));
      const { ok, failed, skipped } = await report(id);
      expect(failed).toBeGreaterThan(10);
      expect(failed).toBeLessThanOrEqual(11 + 2 * IN_FLIGHT);
      expect(skipped).toBeGreaterThan(0);
      expect(ok + failed + skipped).toBe(COUNT);
      expect(touched()).toBe(ok + failed);
    },
  );

  it('a run writes only to its canary when the canary fails', async () => {
    bench.fleet.appliances[2]?.fault({ match: ({ method }) => method === 'PUT', status: 500, body: '{}', times: Infinity });
    await one.engine.startRun(bench.createRun('canary', { operation: 'config.ensure', input: ENSURE_INPUT, canary: 5, ends: [5, COUNT] }));
    expect(await report('canary')).toMatchObject({ failed: 1, skipped: COUNT - 5 });
    expect(touched()).toBeLessThanOrEqual(5);
  });
});
