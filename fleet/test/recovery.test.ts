import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../store/database';
import { RunStore } from '../store/run-store';
import { hashFleetAppliance, encodeFleetKey } from '../worker/fleet-identity';
import { TEST_FLEET, TestFleet, waitUntil, type FleetMember, NO_JOBS } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

let postgres: TestPostgres;
let bench: TestFleet;
let member: FleetMember;
let database: Database;
let store: RunStore;
let runs = 0;

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), 2);
  member = await bench.startMember({ secrets: { people: { password: 'a-New-Passw0rd' } } });
  database = new Database(bench.url);
  // No jobs are sent now, so that only the dead worker claims the item first.
  store = new RunStore(database, NO_JOBS, encodeFleetKey(TEST_FLEET));
});
afterEach(() => bench.reset());
afterAll(async () => {
  await database?.close();
  await bench?.close();
  await postgres?.close();
});

const appliance = () => bench.fleet.getAppliance('vpn-001');
const listRequests = (...methods: string[]): string[] =>
  appliance().requests.flatMap(({ method, path }) =>
    methods.includes(method) && !path.includes('realm_auth') ? [`${method} ${path}`] : [],
  );

/** Result of an item that a member took over after another worker died in the state `sending`. */
async function takeOver(
  operation: string,
  input: Record<string, unknown>,
  minutesAgo = 1,
  before?: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const id = `look-${runs++}`;
  const newRun = bench.createRun(id, {
    operation,
    input,
    credentials: operation === 'users.create' ? 'people' : undefined,
    items: [{ appliance: 'vpn-001', target: hashFleetAppliance(bench.fleet.entries[0]!) }],
  });
  await store.createRun({ ...newRun, token: randomUUID(), origin: member.engine.id, fingerprint: member.engine.fingerprint });
  await database.query(`UPDATE gateway_fleet.run SET created = now() - $2 * interval '1 min' WHERE id = $1`, [id, minutesAgo]);
  const result = await store.claimItem(id, 0, 'dead', member.engine.fingerprint);
  if (result.kind !== 'run') throw new Error(result.kind);
  await store.markSending(result.claim, before);
  // Repairs the missing jobs, as after a loss of the queue.
  await member.engine.store.requeueLostJobs();
  await waitUntil(() => member.delivered.some(({ run }) => run.id === id));
  return { ...member.delivered.find(({ run }) => run.id === id)?.data.results[0] };
}

const session = (name: string, hoursAgo: number): void => {
  appliance().state.sessions.add({
    'active-user-name': name,
    'sign-in-time-micro': String(Math.floor(Date.now() / 1000 - hoursAgo * 3600)),
  });
};

describe('recovery of a write that may have been sent', () => {
  const PATH = 'users/user-roles/user-role/Users';

  it('recovery of config.ensure writes only if the appliance does not have the value yet', async () => {
    const input = { path: PATH, body: { description: 'looked at' } };
    expect(await takeOver('config.ensure', input)).toMatchObject({ ok: true, changed: true });
    expect(listRequests('PUT')).toHaveLength(1);
    // The first attempt may have changed it.
    expect(await takeOver('config.ensure', input)).toMatchObject({ ok: true, changed: null });
    expect(listRequests('PUT')).toHaveLength(1);
  });

  it('recovery counts an interrupted config.delete as ok if the resource is missing', async () => {
    const path = 'users/user-roles/user-role/Nobody';
    expect(await takeOver('config.delete', { path })).toMatchObject({ ok: true });
  });

  it('recovery of config.update sends nothing and reports an unknown outcome', async () => {
    const result = await takeOver('config.update', { path: PATH, body: { description: 'blind' } });
    expect(result).toMatchObject({ ok: false, unknown: true, error: { code: 'OUTCOME_UNKNOWN' } });
    expect(listRequests('PUT', 'POST', 'DELETE')).toEqual([]);
  });

  it('recovery of an operation that ends sessions ends only sessions that existed before the run', async () => {
    session('j.doe', 5);
    session('j.doe', 0);
    expect(await takeOver('sessions.kill-user', { name: 'j.doe' }, 60)).toMatchObject({ ok: true });
    expect(listRequests('DELETE')).toHaveLength(1);
    appliance().requests.length = 0;
    session('j.doe', 5);
    expect(await takeOver('sessions.kill-matching', { filter: { 'active-user-name': 'j.doe' } }, 60)).toMatchObject({ ok: true });
    expect(listRequests('DELETE')).toHaveLength(1);
  });

  it('recovery of a user change does not repeat it if the user already has the values', async () => {
    const input = { server: 'System Local', username: 'contractor1' };
    expect(await takeOver('users.disable', input)).toMatchObject({ ok: true });
    expect(listRequests('PUT')).toHaveLength(1);
    expect(await takeOver('users.disable', input)).toMatchObject({ ok: true });
    expect(await takeOver('users.update', { ...input, fullname: 'Carla Contractor' })).toMatchObject({ ok: true, changed: null });
    expect(listRequests('PUT', 'POST')).toHaveLength(1);
    expect(await takeOver('users.disable', { ...input, username: 'nobody' })).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
  });

  describe('of users.create', () => {
    const input = { server: 'System Local', username: 'contractor1', fullname: 'Carla Contractor' };

    it('recovery of users.create reports an unknown outcome if the user may have existed before the run', async () => {
      expect(await takeOver('users.create', input)).toMatchObject({ ok: false, unknown: true, error: { code: 'OUTCOME_UNKNOWN' } });
      expect(listRequests('PUT', 'POST')).toEqual([]);
    });

    it('recovery of users.create succeeds if the user exists and was missing before the write', async () => {
      expect(await takeOver('users.create', input, 1, { missing: true })).toMatchObject({ ok: true, changed: true });
      expect(listRequests('PUT', 'POST')).toEqual([]);
    });

    it('recovery of users.create repeats the creation if the appliance does not have the user', async () => {
      expect(await takeOver('users.create', { ...input, username: 'contractor9' }, 1, { missing: true })).toMatchObject({ ok: true });
      expect(listRequests('POST')).toHaveLength(1);
    });

    it('recovery of users.create uses what the worker read before the write', async () => {
      const run = async (id: string, username: string) => {
        const items = [{ appliance: 'vpn-001' }];
        await member.engine.startRun(
          bench.createRun(id, { operation: 'users.create', input: { ...input, username }, credentials: 'people', items }),
        );
        await waitUntil(() => member.delivered.some(({ run }) => run.id === id));
        return (await member.engine.store.listItems(id))[0];
      };
      expect(await run('new-user', 'contractor8')).toMatchObject({ state: 'ok', before: { missing: true } });
      expect(await run('old-user', 'contractor1')).toMatchObject({ state: 'failed', before: null });
    });
  });

  it('recovery compares objects by value, and never compares secrets', async () => {
    const user = { server: 'System Local', username: 'contractor1' };
    await takeOver('users.update', { ...user, more: { 'one-time-use': { unknown: true } } });
    expect(listRequests('PUT', 'POST').length).toBeGreaterThan(0);
    const secret = { ...user, more: { nested: { password: 'not-comparable' } } };
    expect(await takeOver('users.update', secret)).toMatchObject({ ok: false, unknown: true });
  });

  it('recovery reports an unknown outcome if the appliance cannot be checked', async () => {
    appliance().fault({
      match: ({ method, path }) => method === 'GET' && path.includes('user-role'),
      status: 400,
      body: '{}',
      times: Infinity,
    });
    const result = await takeOver('config.ensure', { path: PATH, body: { description: 'not checked' } });
    expect(result).toMatchObject({ ok: false, unknown: true, error: { code: 'OUTCOME_UNKNOWN' } });
  });

  it('recovery ends no session whose sign-in time is unknown, and reports its outcome as unknown', async () => {
    appliance().state.sessions.add({ 'active-user-name': 'm.mustermann', 'sign-in-time-micro': '' });
    expect(await takeOver('sessions.kill-user', { name: 'm.mustermann' }, 60)).toMatchObject({ ok: false, unknown: true });
    expect(listRequests('DELETE')).toEqual([]);
  });
});
