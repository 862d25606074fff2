import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENSURE_INPUT, TestFleet, waitUntil, type FleetMember } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';
import { expectFailure } from '../../test/helpers/simulated-appliance';
import { assertItemsSigned, signRunItems } from '../worker/order-signature';
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

describe('a finished run in the database', () => {
  const change = (run: string, set: string): Promise<unknown> =>
    one.engine.database.query(`UPDATE gateway_fleet.${set} AND ${set.startsWith('run') ? 'id' : 'run'} = $1`, [run]);
  const plan = async (id: string): Promise<void> => {
    await one.engine.startRun(bench.createRun(id, { ...ensure('planned'), dryRun: true }));
    expect(await report(id)).toMatchObject({ ok: COUNT });
  };
  const failure = async (work: Promise<unknown>): Promise<unknown> => {
    const { code, message } = await expectFailure(work);
    return [code, /has no valid code of the signing key/.test(message)];
  };
  const REFUSED = ['BAD_CONFIG', true];
  const FORGED_PLAN = `plan = jsonb_set(plan, '{0,body,description}', '"forged"')`;

  it('a plan that somebody changed in the database cannot be approved', async () => {
    bench.reset();
    await plan('other plan');
    const changes = {
      'changed plan': `item SET ${FORGED_PLAN} WHERE index = 3`,
      'longer plan': `item SET plan = plan || plan WHERE index = 3`,
      'removed code': `item SET plan_mac = NULL WHERE index = 3`,
      'plan of another appliance': `item SET (plan, plan_mac) = (SELECT plan, plan_mac FROM gateway_fleet.item WHERE run = 'other plan' AND index = 2) WHERE index = 3`,
      'plan of another run': `item SET (plan, plan_mac) = (SELECT plan, plan_mac FROM gateway_fleet.item WHERE run = 'other plan' AND index = 3) WHERE index = 3`,
      'changed input': `run SET input = jsonb_set(input, '{body,description}', '"forged"') WHERE true`,
      'changed operation': `run SET operation = 'config.replace' WHERE true`,
    };
    for (const [id, set] of Object.entries(changes)) {
      await plan(id);
      await change(id, set);
      expect([id, await failure(one.engine.approve(id, `${id} approved`, 'j.doe'))]).toEqual([id, REFUSED]);
      expect(await one.engine.store.findRun(`${id} approved`)).toBeUndefined();
    }
  });

  it('an approved run sends nothing to an appliance whose plan somebody changed after the approval', async () => {
    bench.reset();
    await plan('changed later');
    // The change comes after the check of the approval and before an item starts.
    await one.engine.database.query(
      `CREATE FUNCTION forge() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         UPDATE gateway_fleet.item SET ${FORGED_PLAN} WHERE run = 'changed later' AND index = 3; RETURN NULL; END $$;
       CREATE TRIGGER forge AFTER INSERT ON gateway_fleet.run FOR EACH ROW WHEN (NEW.id = 'approved later') EXECUTE FUNCTION forge()`,
    );
    await one.engine.approve('changed later', 'approved later', 'j.doe');
    const { ok, results } = await report('approved later');
    expect([ok, results[3]]).toMatchObject([COUNT - 1, { ok: false, error: { code: 'BAD_CONFIG' } }]);
    expect([...bench.countWritesByAppliance().values()]).toEqual([1, 1, 1, 0, 1, 1]);
  });

  it('a run that somebody changed in the database cannot be repeated', async () => {
    const items = [{ appliance: 'no such appliance' }, { appliance: bench.fleet.entries[0]?.name ?? '' }];
    await one.engine.startRun(bench.createRun('partly failed', { ...ensure('ordered'), items }));
    expect(await report('partly failed')).toMatchObject({ ok: 1, failed: 1 });
    await change('partly failed', `item SET appliance = '${bench.fleet.entries[1]?.name ?? ''}' WHERE index = 0`);
    expect(await failure(one.engine.repeatFailed('partly failed', 'repeated'))).toEqual(REFUSED);
    await change('partly failed', `item SET appliance = 'no such appliance' WHERE index = 0`);
    expect(await one.engine.repeatFailed('partly failed', 'repeated')).toBe(1);
  });
});

describe('the code of an order', () => {
  it('the signature of an item is invalid after a change of any column that decides what the item does or stores', () => {
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
    const [signed] = signRunItems(request, [{ appliance: 'a', target: 't' }], fleet, 'key');
    const check = (changedRun: object, changedItem: object): string =>
      getThrownCode(() => assertItemsSigned({ ...run, ...changedRun }, [{ ...item, mac: signed?.mac ?? null, ...changedItem }], 'key'));
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
