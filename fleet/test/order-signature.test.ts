import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENSURE_INPUT, TestFleet, waitUntil, type FleetMember } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';
import { assertSigned, signItems } from '../worker/order-signature';
import { getThrownCode } from '../../test/helpers/thrown-error';

const COUNT = 6;
let postgres: TestPostgres;
let bench: TestFleet;
let one: FleetMember;

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), COUNT);
  one = await bench.startMember({ secrets: { default: { signingKey: 'a key that is not in the database' } } });
});
afterAll(async () => {
  await bench?.close();
  await postgres?.close();
});

const report = async (id: string) => {
  await waitUntil(() => one.delivered.some(({ run }) => run.id === id));
  return one.delivered.find(({ run }) => run.id === id)!.data;
};
const ensure = (description: string): { operation: string; input: { path: string; body: object } } => ({
  operation: 'config.ensure',
  input: { ...ENSURE_INPUT, body: { description } },
});

describe('an order in the database', () => {
  it('a worker executes an order from the database only if it is unchanged since the engine signed it', async () => {
    const started = bench.createRun('signed', ensure('ordered'));
    await one.engine.startRun(started);
    expect(await report('signed')).toMatchObject({ ok: COUNT, failed: 0 });
    bench.reset();
    const { database } = one.engine;
    // Somebody who can write to the database adds runs: unsigned, a changed copy, and a copy of single items.
    const copies: readonly (readonly [string, string, string])[] = [
      ['unsigned', 'input', 'NULL'],
      ['changed', `jsonb_set(input, '{body,description}', '"forged"')`, 'mac'],
      ['copied', 'input', 'mac'],
    ];
    for (const [id, input, mac] of copies) {
      const columns =
        'fleet, fingerprint, token, kind, operation, selection, credentials, dry_run, urgent, with_data, repeats, canary, ends';
      const more = 'max_failures, total, node, node_id, origin, initiator, repeat_of, approved';
      await database.query(
        `WITH forged AS (INSERT INTO gateway_fleet.run (id, input, ${columns}, ${more}, created)
           SELECT $1, ${input}, ${columns}, ${more}, now() - interval '1 hour' FROM gateway_fleet.run WHERE id = 'signed' RETURNING id)
         INSERT INTO gateway_fleet.item (fleet, run, index, appliance, target, mac)
           SELECT fleet, forged.id, index, appliance, target, ${mac} FROM gateway_fleet.item, forged WHERE run = 'signed'`,
        [id],
      );
    }
    await one.engine.store.requeueLostJobs();
    for (const [id] of copies) {
      const { ok, failed, results } = await report(id);
      expect([id, ok, failed]).toEqual([id, 0, COUNT]);
      expect(results[0]).toMatchObject({
        ok: false,
        error: { code: 'BAD_CONFIG', message: expect.stringContaining('no valid code of the signing key') as string },
      });
    }
    expect([...bench.countWritesByAppliance().values()]).toEqual(new Array(COUNT).fill(0));
  });

  it('a signed order in the database may have inputs of any kind, and an approved plan', async () => {
    const input = {
      ...ENSURE_INPUT,
      body: { description: 'ä\u0000\ud800 1e21', z: 1e21, a: -0, n: 0.1, nested: { b: [1, { d: null, c: true }] } },
    };
    await one.engine.startRun(
      bench.createRun('odd', { operation: 'config.ensure', input, dryRun: true, initiator: { z: 'x', a: undefined } }),
    );
    const { results } = await report('odd');
    for (const { error } of results) expect(error?.message ?? '').not.toContain('no valid code');
    await one.engine.startRun(bench.createRun('plan', { ...ensure('planned'), dryRun: true }));
    expect(await report('plan')).toMatchObject({ ok: COUNT });
    await one.engine.approve('plan', 'approved', 'j.doe');
    expect(await report('approved')).toMatchObject({ ok: COUNT, failed: 0 });
  });
});

describe('the code of an order', () => {
  it('the code of an order is invalid after a change of any column that decides what an item does or stores', () => {
    const run = {
      ...{ fleet: 'f', id: 'r', kind: 'operation' as const, operation: 'system.info', input: { a: 1 }, credentials: null, dry_run: true },
      ...{ with_data: false, repeats: false, approved: null, canary: 0, ends: [1], max_failures: null, total: 1, node: 'n', initiator: {} },
    };
    const item = { index: 0, appliance: 'a', target: 't', input: null };
    const { fleet, id, kind, operation, input, repeats, canary, ends, total, node, initiator } = run;
    const order = {
      id,
      kind,
      operation,
      input,
      repeats,
      canary,
      ends,
      total,
      node,
      initiator,
      dryRun: run.dry_run,
      withData: run.with_data,
    };
    const request = { ...order, maxFailures: Infinity, fingerprint: '', token: '', selection: '', urgent: false, origin: '' };
    const [signed] = signItems(request, [{ appliance: 'a', target: 't' }], fleet, 'key');
    const check = (changedRun: object, changedItem: object): string =>
      getThrownCode(() => assertSigned({ ...run, ...changedRun }, { ...item, mac: signed?.mac ?? null, ...changedItem }, 'key'));
    expect(check({}, {})).toBe('none');
    const changes = {
      ...{ fleet: 'g', id: 's', kind: 'task', operation: 'system.health', input: { a: 2 }, credentials: 'other', dry_run: false },
      ...{ with_data: true, repeats: true, approved: { plan: 'p', by: null, at: '' }, canary: 1, ends: [2], max_failures: 1, total: 2 },
      ...{ node: 'm', initiator: { a: 'b' } },
    };
    expect(Object.keys(changes).sort()).toEqual(Object.keys(run).sort());
    for (const [column, value] of Object.entries(changes)) expect([column, check({ [column]: value }, {})]).toEqual([column, 'BAD_CONFIG']);
    for (const [column, value] of Object.entries({ index: 1, appliance: 'b', target: null, input: { __proto__: null, a: 1 }, mac: '' }))
      expect([column, check({}, { [column]: value })]).toEqual([column, 'BAD_CONFIG']);
    expect(check({ input: JSON.parse('{"a":1,"__proto__":{"b":2}}') as object }, {})).toBe('BAD_CONFIG');
  });
});
