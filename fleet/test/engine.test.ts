import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { planRollout } from '../../src';
import { expectFailure } from '../../test/helpers/simulated-appliance';
import type { DeliveredReport, ReportListener } from '../engine';
import { ReportDelivery } from '../engine/report-delivery';
import { RunStore } from '../store/run-store';
import { encodeFleetKey } from '../worker/fleet-identity';
import { TEST_FLEET, TestFleet, ROLE_PATH, ENSURE_INPUT, waitUntil, type FleetMember, NO_JOBS } from './support/test-fleet';
import { dumpRows, startPostgres, type TestPostgres } from './support/postgres';

const COUNT = 60;
let postgres: TestPostgres;
let bench: TestFleet;
let one: FleetMember;
let other: FleetMember;
let runs = 0;

/** Either engine may get an item that needs the password. */
const secrets = { people: { password: 'planted-S3cret' } };

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), COUNT);
  [one, other] = await Promise.all([bench.startMember({ secrets }), bench.startMember({ secrets, node: 'other' })]);
});
afterEach(() => bench.reset());
afterAll(async () => {
  await bench?.close();
  await postgres?.close();
});

type More = Partial<Parameters<TestFleet['createRun']>[1]> & { pace?: Parameters<typeof planRollout>[0] };

/** Starts a run and gives its report. */
async function run(operation: string, input: object, { pace = {}, ...more }: More = {}): Promise<DeliveredReport> {
  const id = `run-${runs++}`;
  const total = more.items?.length ?? COUNT;
  const { canary, ends, maxFailures } = planRollout(pace, total);
  await one.engine.startRun(bench.createRun(id, { operation, input: { ...input }, canary, ends, maxFailures, ...more }));
  await waitUntil(() => one.delivered.some(({ run }) => run.id === id));
  return one.delivered.find(({ run }) => run.id === id) as DeliveredReport;
}

const isPut = ({ method }: { method: string }): boolean => method === 'PUT';
const failWrites = (...indices: number[]): void => {
  for (const index of indices) bench.fleet.appliances[index]?.fault({ match: isPut, status: 500, body: '{}', times: Infinity });
};
const countWritten = (): number => [...bench.countWritesByAppliance().values()].filter((count) => count > 0).length;

describe('a run with two engines', () => {
  it('two engines share a run, write to each appliance once and send one report', async () => {
    const listHolders = async (id: string): Promise<Set<string | null>> =>
      new Set((await one.engine.store.listItems(id)).flatMap(({ holder }) => holder ?? []));
    // The other engine polls for runs, so no write may end before it has claimed an item.
    const bothWork = waitUntil(async () => (await listHolders(`run-${runs - 1}`)).size === 2);
    for (const appliance of bench.fleet.appliances) appliance.fault({ match: isPut, until: bothWork });
    const { data, envelope } = await run('config.ensure', ENSURE_INPUT);
    expect(data).toMatchObject({ total: COUNT, ok: COUNT, failed: 0, unknown: 0, skipped: 0 });
    expect([...bench.countWritesByAppliance().values()]).toEqual(new Array(COUNT).fill(1));
    expect(data.results[7]).toMatchObject({ appliance: 'vpn-008', ok: true, changed: true });
    expect(envelope).toMatchObject({ ok: true, operation: 'config.ensure', appliance: '*', changed: true, dryRun: false });
    expect(envelope.requests).toBeGreaterThanOrEqual(COUNT * 3);
    expect([...(await listHolders(data.run))].sort()).toEqual([one.engine.id, other.engine.id].sort());
    expect(other.delivered).toEqual([]);
  });

  it('both engines reject a run whose id exists already, and send nothing', async () => {
    const { run: before } = await run('config.ensure', ENSURE_INPUT);
    bench.reset();
    const again = bench.createRun(before.id, { operation: 'config.ensure', input: ENSURE_INPUT });
    expect(await expectFailure(other.engine.startRun(again))).toMatchObject({ code: 'CONFLICT' });
    expect(countWritten()).toBe(0);
  });

  it('a run with two engines stores the data of its items only if withData is true', async () => {
    const without = await run('sessions.list', {}, { items: [{ appliance: 'vpn-001' }] });
    expect(without.data.results[0]).not.toHaveProperty('data');
    const items = [{ appliance: 'vpn-002', input: { name: 'nobody' } }];
    const { data } = await run('sessions.list', {}, { items, withData: true });
    expect(data.results[0]).toMatchObject({ ok: true, data: [] });
  });

  it('a run with two engines writes to no appliance but the canary when the canary fails', async () => {
    failWrites(1);
    const { data, envelope } = await run('config.ensure', ENSURE_INPUT, { pace: { canary: 3 } });
    expect(data).toMatchObject({ total: COUNT, failed: 1, skipped: COUNT - 3 });
    expect(countWritten()).toBeLessThanOrEqual(3);
    expect(envelope).toMatchObject({ ok: false, stopped: 'canary' });
  });

  it('a run with two engines stops when the failed items of all batches and engines exceed maxFailures', async () => {
    failWrites(...Array.from({ length: 20 }, (_, index) => index * 3));
    const { data, envelope } = await run('config.ensure', ENSURE_INPUT, { pace: { maxFailures: 5, batch: 20 } });
    expect(envelope).toMatchObject({ stopped: 'failures' });
    // Only items in flight may exceed the limit.
    expect(data.failed).toBeGreaterThan(5);
    expect(data.failed).toBeLessThanOrEqual(5 + 1 + 2 * 16);
    expect(data.ok + data.failed + data.skipped).toBe(COUNT);
    expect(countWritten()).toBe(data.ok + data.failed);
  });

  it('urgent items finish while another run fills the normal queue', async () => {
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    for (const appliance of bench.fleet.appliances) appliance.fault({ match: isPut, until: held, times: 1 });
    const slow = bench.createRun('slow', { operation: 'config.ensure', input: ENSURE_INPUT });
    await one.engine.startRun(slow);
    await waitUntil(() => countWritten() >= 32);
    const { data } = await run('system.info', {}, { urgent: true });
    expect(data).toMatchObject({ total: COUNT, ok: COUNT });
    expect(one.delivered.some(({ run }) => run.id === 'slow')).toBe(false);
    answer();
    await waitUntil(() => one.delivered.some(({ run }) => run.id === 'slow'));
    expect([...bench.countWritesByAppliance().values()]).toEqual(new Array(COUNT).fill(1));
  });

  it('changes of the same setting by two engines run one after the other', async () => {
    // Each item sets another value, so two at the same time would end in a conflict.
    const bodies = Array.from({ length: 8 }, (_, index) => ({ path: ROLE_PATH, body: { description: `turn ${index}` } }));
    const items = bodies.map((input) => ({ appliance: 'vpn-009', input }));
    const { data } = await run('config.ensure', {}, { items });
    expect(data).toMatchObject({ total: 8, ok: 8 });
    expect(bench.countWritesByAppliance().get('vpn-009')).toBe(8);
  });

  it('a dry run on two engines sends no writes', async () => {
    const { data, envelope } = await run('config.ensure', ENSURE_INPUT, { dryRun: true });
    expect(data.ok).toBe(COUNT);
    expect(envelope).toMatchObject({ dryRun: true, changed: null });
    expect(envelope.plan).toHaveLength(COUNT);
    expect(envelope.plan?.[0]).toMatchObject({ appliance: 'vpn-001', method: 'PUT' });
    expect(countWritten()).toBe(0);
  });

  it('an item fails with BAD_CONFIG if its appliance is not in the inventory', async () => {
    const { data } = await run('system.info', {}, { items: [{ appliance: 'nowhere' }, { appliance: 'vpn-001' }] });
    expect(data.results[0]).toMatchObject({ appliance: 'nowhere', ok: false, error: { code: 'BAD_CONFIG' } });
    expect(data.results[1]).toMatchObject({ ok: true });
  });

  it('a run sends a secret from the credential set, and stores neither the secret nor an address in a table', async () => {
    const input = { server: 'System Local', username: 'temp', fullname: 'Temp' };
    const items = [{ appliance: 'vpn-005' }, { appliance: 'vpn-006' }];
    bench.fleet
      .getAppliance('vpn-006')
      .fault({ match: ({ method, path }) => method === 'POST' && path.includes('local'), cut: 'before-headers' });
    const { data } = await run('users.create', input, { items, credentials: 'people', withData: true });
    expect(data.results[0]).toMatchObject({ ok: true });
    const sent = bench.fleet.getAppliance('vpn-005').requests.find(({ method, path }) => method === 'POST' && path.includes('local'));
    expect(sent?.body).toContain('planted-S3cret');
    const text = await dumpRows(bench.url);
    expect(text).toContain('"username": "temp"');
    expect(text).not.toContain('planted-S3cret');
    expect(text).not.toContain(Buffer.from('planted-S3cret').toString('base64'));
    for (const { url } of bench.fleet.entries) expect(text).not.toContain(new URL(url).host);
  });
});

describe('an engine with a full database disk', () => {
  const DISK = `
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE UPDATE ON gateway_fleet.item FOR EACH ROW WHEN (NEW.state = 'ok') EXECUTE FUNCTION full_disk()`;

  it('an engine whose database disk was full records the outcomes later, and does not repeat the writes', async () => {
    await one.engine.database.query(DISK);
    const ended = run('config.ensure', ENSURE_INPUT);
    await waitUntil(() => countWritten() >= 32);
    await one.engine.database.query('DROP TRIGGER full_disk ON gateway_fleet.item');
    expect((await ended).data).toMatchObject({ total: COUNT, ok: COUNT });
    expect([...bench.countWritesByAppliance().values()]).toEqual(new Array(COUNT).fill(1));
  });
});

describe('an approved plan', () => {
  const four = ['vpn-001', 'vpn-002', 'vpn-003', 'vpn-004'].map((appliance) => ({ appliance }));
  const role = (name: string): Map<string, unknown> =>
    bench.fleet.getAppliance(name).state.configuration.resource('users', 'user-roles', 'user-role', 'Users').values;
  const approve = async (plan: string): Promise<DeliveredReport> => {
    expect(await one.engine.approve(plan, `${plan}~approved`, 'anna')).toBe(4);
    await waitUntil(() => one.delivered.some(({ run }) => run.id === `${plan}~approved`));
    return one.delivered.find(({ run }) => run.id === `${plan}~approved`) as DeliveredReport;
  };

  it('an approved plan sends the planned requests once, and skips appliances whose plan would now differ', async () => {
    bench.fleet.getAppliance('vpn-004').fault({ match: ({ path }) => path.includes('user-role'), status: 400, body: '{}', times: 1 });
    const { run: plan, data: planned } = await run('config.ensure', ENSURE_INPUT, { items: four, dryRun: true });
    expect(planned).toMatchObject({ total: 4, ok: 3, failed: 1 });
    role('vpn-002').set('added', 'by somebody else');
    role('vpn-003').set('description', ENSURE_INPUT.body.description);
    const { data, envelope } = await approve(plan.id);
    role('vpn-002').delete('added');
    expect(data.results).toMatchObject([
      { ok: true, changed: true },
      {
        ok: false,
        error: { code: 'CONFLICT', message: expect.stringMatching(/PUT .* is not in the approved plan/) as string },
      },
      { ok: true, changed: false },
      { ok: false, error: { code: 'CONFLICT', message: expect.stringContaining('has nothing for vpn-004') as string } },
    ]);
    expect([...bench.countWritesByAppliance().values()].slice(0, 4)).toEqual([1, 0, 0, 0]);
    expect(envelope).toMatchObject({ dryRun: false, approved: { by: 'anna' } });
    expect(await expectFailure(one.engine.approve(plan.id, `${plan.id}~approved`, null))).toMatchObject({ code: 'CONFLICT' });
    // A repeated run is limited to the plan as well.
    expect(await one.engine.repeatFailed(`${plan.id}~approved`, 'bound')).toBe(2);
    await waitUntil(() => one.delivered.some(({ run }) => run.id === 'bound'));
    expect(one.delivered.find(({ run }) => run.id === 'bound')?.data.results).toMatchObject([
      { appliance: 'vpn-002', ok: true },
      { appliance: 'vpn-004', ok: false, error: { code: 'CONFLICT' } },
    ]);
  });

  it('a plan can be approved only if it is a finished dry run that was not stopped', async () => {
    const of = (id: string): Promise<unknown> => expectFailure(one.engine.approve(id, 'approved anyhow', null));
    expect(await of('none at all')).toMatchObject({ code: 'NOT_FOUND' });
    const { run: real } = await run('config.ensure', ENSURE_INPUT, { items: four });
    expect(await of(real.id)).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('is not a plan') as string });
    bench.fleet.getAppliance('vpn-001').fault({ match: ({ path }) => path.includes('user-role'), status: 400, body: '{}', times: 1 });
    const { run: stopped } = await run('config.ensure', ENSURE_INPUT, { items: four, dryRun: true, pace: { canary: 1 } });
    expect(await of(stopped.id)).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('was stopped') as string });
  });
});

describe('serveTask', () => {
  it('serveTask accepts each task name once per engine until its service ends', async () => {
    const serve = (): Promise<() => Promise<void>> => one.engine.serveTask('twice', 1, () => Promise.resolve('done'));
    const end = await serve();
    expect(await expectFailure(serve())).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('two fleet task nodes with the name twice') as string,
    });
    // A new node may start while the previous one still stops.
    const [, endOther] = await Promise.all([end(), serve()]);
    expect(await expectFailure(serve())).toMatchObject({ code: 'CONFLICT' });
    await endOther();
  });
});

describe('ReportDelivery', () => {
  const info = (id: string, more: object): ReturnType<TestFleet['createRun']> =>
    bench.createRun(id, { operation: 'system.info', items: [{ appliance: 'vpn-001' }], ...more });
  const told: string[] = [];
  const listens = (as: string, who: Pick<ReportListener, 'name' | 'id'>): (() => void) =>
    one.engine.addListener({
      ...who,
      report: ({ run }) => told.push(`${as} ${run.id}`),
      progress: ({ run }) => told.push(`${as} on ${run}`),
    });

  it('ReportDelivery sends reports and progress to the node that started the run, although another node has the same name', async () => {
    const ends = [listens('first', { name: 'same', id: 'n1' }), listens('second', { name: 'same', id: 'n2' })];
    await one.engine.startRun(info('of the second', { node: 'same', nodeId: 'n2' }));
    await waitUntil(() => told.some((line) => /^\w+ of the second$/.test(line)));
    for (const end of ends) end();
    expect(told).toContain('second of the second');
    expect(told.filter((line) => line.startsWith('first'))).toEqual([]);
  });

  it('ReportDelivery stops reading the progress of a finished run whose node was deleted', async () => {
    await one.engine.startRun(info('gone', { node: 'nobody' }));
    await waitUntil(async () => (await one.engine.store.findRun('gone'))?.state === 'done');
    const rejectSend = (): Promise<never> => Promise.reject(new Error('Nothing must be sent.'));
    const store = new RunStore(
      one.engine.database,
      { ...NO_JOBS, sendItems: rejectSend, sendCoordinator: rejectSend },
      encodeFleetKey(TEST_FLEET),
    );
    const listProgress = vi.spyOn(store, 'listProgress');
    const reports = new ReportDelivery({
      store,
      holder: one.engine.id,
      loadReport: (id) => one.engine.report(id),
      retryUntilAvailable: (work) => work(),
    });
    const told: string[] = [];
    const follower = { name: 'nobody else', report: () => undefined, progress: ({ run }: { run: string }) => told.push(run) };
    reports.listen(follower);
    reports.trackRun({ id: 'gone', node: follower.name });
    await reports.deliverPending();
    await reports.deliverPending();
    expect(listProgress).toHaveBeenCalledTimes(1);
    expect(told).toEqual(['gone']);
  });

  it('ReportDelivery lets an engine stop although a report cannot be loaded', async () => {
    await one.engine.startRun(info('unread', { node: 'reader' }));
    await waitUntil(async () => (await one.engine.store.findRun('unread'))?.state === 'done');
    const reports = new ReportDelivery({
      store: one.engine.store,
      holder: one.engine.id,
      loadReport: () => Promise.reject(new Error('on purpose')),
      retryUntilAvailable: (work) => work(),
    });
    reports.listen({ name: 'reader', report: () => undefined });
    const delivery = expect(reports.deliverPending()).rejects.toThrow('on purpose');
    await reports.whenIdle();
    await delivery;
  });

  it('ReportDelivery keeps a report for the next node if its node is closed by a deploy during the delivery', async () => {
    await one.engine.startRun(info('closing', { node: 'closing' }));
    await waitUntil(async () => (await one.engine.store.findRun('closing'))?.state === 'done');
    const reports = new ReportDelivery({
      store: one.engine.store,
      holder: one.engine.id,
      loadReport: (id) => one.engine.report(id),
      retryUntilAvailable: async (work) => {
        const result = await work();
        close();
        return result;
      },
    });
    const close = reports.listen({ name: 'closing', report: () => told.push('closed one') });
    await reports.deliverPending();
    expect(told).not.toContain('closed one');
    const end = listens('new', { name: 'closing' });
    await waitUntil(() => told.includes('new closing'));
    end();
  });
});
