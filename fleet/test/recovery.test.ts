import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../store/database';
import { RunStore, type JobSender } from '../store/run-store';
import { TestFleet, waitUntil, type FleetMember } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

/** What a worker finds that takes over an item whose write may have left. */
let postgres: TestPostgres;
let bench: TestFleet;
let member: FleetMember;
let database: Database;
let ledger: RunStore;
let runs = 0;

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), 2);
  member = await bench.startMember();
  database = new Database(bench.url);
  // Its jobs are sent later: by then the dead worker has had the item.
  const quiet: JobSender = { sendItems: () => Promise.resolve(), sendCoordinator: () => Promise.resolve() };
  ledger = new RunStore(database, quiet);
});
afterEach(() => bench.reset());
afterAll(async () => {
  await database?.close();
  await bench?.close();
  await postgres?.close();
});

const appliance = () => bench.fleet.getAppliance('vpn-001');
const sent = (...methods: string[]): string[] =>
  appliance().requests.flatMap(({ method, path }) =>
    methods.includes(method) && !path.includes('realm_auth') ? [`${method} ${path}`] : [],
  );

/** A run of one item whose worker died after it had noted that its write would leave; gives its result once somebody else has looked. */
async function takenOver(operation: string, input: Record<string, unknown>, minutesAgo = 1): Promise<Record<string, unknown>> {
  const id = `look-${runs++}`;
  const order = bench.createRun(id, { operation, input, items: [{ appliance: 'vpn-001' }] });
  await ledger.createRun({ ...order, token: randomUUID(), origin: member.engine.id });
  await database.query(`UPDATE gateway_fleet.run SET created = now() - $2 * interval '1 min' WHERE id = $1`, [id, minutesAgo]);
  const begun = await ledger.claimItem(id, 0, 'dead');
  if (begun.kind !== 'run') throw new Error(begun.kind);
  await ledger.markSending(begun.claim);
  // As the coordinator of a run whose job is lost would do it.
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

describe('a write of which nobody knows whether it left', () => {
  const PATH = 'users/user-roles/user-role/Users';

  it('is sent where the appliance does not show it, and is not sent again where it does', async () => {
    const input = { path: PATH, body: { description: 'looked at' } };
    expect(await takenOver('config.ensure', input)).toMatchObject({ ok: true, changed: true });
    expect(sent('PUT')).toHaveLength(1);
    expect(await takenOver('config.ensure', input)).toMatchObject({ ok: true, changed: false });
    expect(sent('PUT')).toHaveLength(1);
  });

  it('that deletes what is gone is well', async () => {
    const path = 'users/user-roles/user-role/Nobody';
    expect(await takenOver('config.delete', { path })).toMatchObject({ ok: true });
  });

  it('that cannot be looked at is unknown, counts as failed and is not sent', async () => {
    const result = await takenOver('config.update', { path: PATH, body: { description: 'blind' } });
    expect(result).toMatchObject({ ok: false, unknown: true, error: { code: 'OUTCOME_UNKNOWN' } });
    expect(sent('PUT', 'POST', 'DELETE')).toEqual([]);
  });

  it('that ends sessions ends only those that were there before the order', async () => {
    session('j.doe', 5);
    session('j.doe', 0);
    expect(await takenOver('sessions.kill-user', { name: 'j.doe' }, 60)).toMatchObject({ ok: true });
    expect(sent('DELETE')).toHaveLength(1);
    appliance().requests.length = 0;
    session('j.doe', 5);
    expect(await takenOver('sessions.kill-matching', { filter: { 'active-user-name': 'j.doe' } }, 60)).toMatchObject({ ok: true });
    expect(sent('DELETE')).toHaveLength(1);
  });

  it('that changes a user who is so already is not sent again', async () => {
    const input = { server: 'System Local', username: 'contractor1' };
    expect(await takenOver('users.disable', input)).toMatchObject({ ok: true });
    expect(sent('PUT')).toHaveLength(1);
    expect(await takenOver('users.disable', input)).toMatchObject({ ok: true });
    expect(await takenOver('users.update', { ...input, fullname: 'Carla Contractor' })).toMatchObject({ ok: true });
    expect(sent('PUT', 'POST')).toHaveLength(1);
    expect(await takenOver('users.disable', { ...input, username: 'nobody' })).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
  });

  it('that creates a user who is there is not sent again', async () => {
    const input = { server: 'System Local', username: 'contractor1', fullname: 'Carla Contractor' };
    expect(await takenOver('users.create', input)).toMatchObject({ ok: true });
    expect(sent('PUT', 'POST')).toEqual([]);
  });
});
