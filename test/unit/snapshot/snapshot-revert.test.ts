import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/model/error';
import { mapConcurrently } from '../../../src/model/map-concurrently';
import { DependencyScheduler } from '../../../src/snapshot/dependency-scheduler';
import {
  startTestSimulator,
  listRequests,
  expectFailure,
  gatewayFor,
  listRequestLines,
  asBulkResult,
  startSimulatorWithGateway,
  USER_ROLES_PATH,
  listWriteLines,
  type AnyGateway,
} from '../../helpers/simulated-appliance';
import {
  getClockValues,
  SNAPSHOT_MANIFEST_FILE,
  getUserRoles,
  readSnapshot,
  writeSnapshot,
  createTemporaryFolder,
  CONFIGURATION_PATH,
} from '../../helpers/snapshot';

const CLOCK = `${CONFIGURATION_PATH}/system/configuration/date-and-time`;

const revert = async (gateway: AnyGateway, folder: string, path: unknown, dryRun = false) =>
  gateway.run('snapshot.revert', { folder, path }, { dryRun });

async function resources(gateway: AnyGateway): Promise<unknown> {
  return (await readSnapshot(gateway)).resources;
}

describe('DependencyScheduler', () => {
  const refused = (): Promise<void> => Promise.reject(new GatewayError('REJECTED', 'It refers to nothing.'));

  /** Results in the order of completion. Items in `needs` are refused until their dependencies are done. */
  async function run(places: readonly string[], needs: Record<string, string>, atOnce = 4): Promise<string[]> {
    const turns = new DependencyScheduler(places, atOnce);
    const log: string[] = [];
    await mapConcurrently(places, atOnce, async (place) => {
      const work = async (): Promise<void> => {
        await new Promise(setImmediate);
        if (place in needs && !log.includes(needs[place] ?? '')) return refused();
        log.push(place);
      };
      await turns.run(place, work).catch(() => log.push(`${place} failed`));
    });
    return log;
  }

  it('DependencyScheduler runs a parent first, even if the parent has to wait', async () => {
    expect(await run(['/a', '/a/b', '/a/b/c'], {})).toEqual(['/a', '/a/b', '/a/b/c']);
    expect(await run(['/a', '/a/b', '/a/c', '/z'], { '/a': '/z' })).toEqual(['/z', '/a', '/a/b', '/a/c']);
  });

  it('DependencyScheduler retries refused items as long as there is progress', async () => {
    expect(await run(['/a', '/b', '/c', '/d'], { '/a': '/b', '/b': '/c' })).toEqual(['/c', '/d', '/b', '/a']);
    expect(await run(['/a', '/b', '/c'], { '/a': '/b', '/b': '/a' })).toEqual(['/c', expect.any(String), expect.any(String)]);
    expect(await run(['/a'], { '/a': '/never' })).toEqual(['/a failed']);
  });

  it('DependencyScheduler ends however many items are refused', async () => {
    const places = Array.from({ length: 40 }, (_, index) => `/x${index}`);
    const needs = Object.fromEntries(places.slice(0, 39).map((place) => [place, '/x39']));
    const log = await run(places, needs);
    expect(log).toHaveLength(40);
    expect(log).toContain('/x39');
    expect(log.filter((one) => !one.endsWith('failed')).length).toBeGreaterThan(1);
  });

  it('DependencyScheduler ends at once after an error that every other item would get too', async () => {
    const turns = new DependencyScheduler(['/a', '/b', '/c'], 4);
    const first = turns.run('/a', refused);
    const second = turns.run('/b', () => Promise.reject(new GatewayError('UNAUTHORIZED', 'The key is dead.')));
    await expect(first).rejects.toMatchObject({ code: 'REJECTED' });
    await expect(second).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });
});

describe('snapshot.revert', () => {
  it('snapshot.revert writes only what differs, and nothing the second time', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    const before = await resources(gateway);
    getClockValues(simulator).set('ntp-server', 'ntp.example.com').set('time-zone', 'Europe/Rome');
    simulator.state.configuration.resource('system', 'log', 'events').values.set('max-log-size', 7);
    const { data, envelope } = await revert(gateway, folder, ['system', 'users/user-roles/user-role/Users']);
    expect(asBulkResult(data)).toMatchObject({ failed: 0 });
    expect(asBulkResult(data).results).toContainEqual({ item: CLOCK, ok: true, status: 200 });
    expect(envelope).toMatchObject({ ok: true, changed: true });
    expect(envelope.diff).toContainEqual({ path: CLOCK, field: '/ntp-server', before: 'ntp.example.com', after: 'pool.ntp.org' });
    // Neither is a parent of the other, so both start at once.
    expect(listWriteLines(simulator).sort()).toEqual([`PUT ${CLOCK}`, `PUT ${CONFIGURATION_PATH}/system/log/events`]);
    expect(await resources(gateway)).toEqual(before);
    expect((await revert(gateway, folder, '/')).envelope).toMatchObject({ ok: true, changed: false });
    expect(listWriteLines(simulator)).toHaveLength(2);
  });

  it('snapshot.revert restores a resource with everything below it, parents first', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    getUserRoles(simulator).items.get('Unused')?.resource('general', 'overview').values.set('web', 'disabled');
    await writeSnapshot(gateway, folder);
    const before = await resources(gateway);
    getUserRoles(simulator).items.delete('Unused');
    const { data } = await revert(gateway, folder, `${USER_ROLES_PATH}/Unused`);
    expect(asBulkResult(data)).toMatchObject({ total: 3, ok: 3 });
    expect(listWriteLines(simulator)[0]).toBe(`PUT ${USER_ROLES_PATH}/Unused`);
    expect(await resources(gateway)).toEqual(before);
  });

  it('snapshot.revert restores a resource that depends on a later resource', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    const before = await resources(gateway);
    // A realm refers to roles that come later.
    simulator.state.configuration.collection('users', 'user-realms', 'realm').items.delete('Contractors');
    getUserRoles(simulator).items.delete('Contractors');
    const { data } = await revert(gateway, folder, 'users');
    expect(asBulkResult(data)).toMatchObject({ failed: 0 });
    expect(await resources(gateway)).toEqual(before);
  });

  it('a dry run of snapshot.revert reports what would change', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    getClockValues(simulator).set('ntp-server', 'ntp.example.com');
    const { envelope } = await revert(gateway, folder, 'system', true);
    expect(envelope).toMatchObject({
      changed: null,
      wouldChange: true,
      plan: [{ method: 'PUT', path: CLOCK, body: { 'ntp-server': 'pool.ntp.org' } }],
      diff: [{ path: CLOCK, field: '/ntp-server', after: 'pool.ntp.org' }],
    });
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('snapshot.revert keeps the current secrets and lists them', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    getClockValues(simulator).set('ntp-shared-secret', 'planted-before');
    getClockValues(simulator).set('keys', [{ name: 'a', 'api-key': 'planted-key' }] as never);
    await writeSnapshot(gateway, folder);
    getClockValues(simulator).set('ntp-shared-secret', 'planted-after').set('ntp-server', 'ntp.example.com');
    const outcome = await revert(gateway, folder, CLOCK).catch((error: unknown) => error);
    const [write] = simulator.requests.filter(({ method }) => method === 'PUT');
    expect(JSON.parse(write?.body ?? '{}')).toMatchObject({
      'ntp-server': 'pool.ntp.org',
      'ntp-shared-secret': 'planted-after',
      keys: [{ name: 'a', 'api-key': 'planted-key' }],
    });
    expect(write?.body).not.toContain('***');
    expect(JSON.stringify(outcome)).not.toContain('planted');
    expect(readFileSync(join(folder, 'system/configuration/date-and-time.json'), 'utf8')).not.toContain('planted');
  });

  it('snapshot.revert keeps resources that were added since, and lists what still differs', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    const file = join(folder, 'users/user-roles/user-role/Users.json');
    writeFileSync(file, '{ "name": "Users", "description": "of the snapshot", "password": "***" }');
    const inner = join(folder, 'users/user-roles/user-role/Users/general/overview.json');
    writeFileSync(inner, '{ "web": "disabled" }');
    getUserRoles(simulator).add({ name: 'New', description: '' });
    const { envelope, data } = await revert(gateway, folder, 'users');
    expect(data).toMatchObject({ incomplete: 2 });
    expect(envelope.incomplete).toEqual(
      expect.arrayContaining([
        { path: `${USER_ROLES_PATH}/Users`, field: '/password' },
        { path: `${USER_ROLES_PATH}/Users/general/overview`, field: '/files' },
      ]),
    );
    expect(getUserRoles(simulator).items.get('Users')?.text('description')).toBe('of the snapshot');
    expect(getUserRoles(simulator).items.has('New')).toBe(true);
  });

  it('snapshot.revert continues after one failed resource, and fails if all resources fail', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    getClockValues(simulator).set('ntp-server', 'ntp.example.com');
    simulator.state.configuration.resource('system', 'log', 'events').values.set('max-log-size', 7);
    const refuse = {
      match: ({ method, path }: { method: string; path: string }) => method === 'PUT' && path === CLOCK,
      status: 422,
      times: 99,
    };
    simulator.fault(refuse);
    const { data, envelope } = await revert(gateway, folder, 'system');
    expect(asBulkResult(data)).toMatchObject({ failed: 1 });
    expect(asBulkResult(data).results).toContainEqual({
      item: CLOCK,
      ok: false,
      error: { code: 'REJECTED', message: expect.any(String) as string },
    });
    expect(envelope).toMatchObject({ ok: false, changed: true });
    const error = await expectFailure(revert(gateway, folder, CLOCK));
    expect(error).toMatchObject({ code: 'REJECTED', cause: { results: [{ item: CLOCK, ok: false }] } });
    // It is not tried forever.
    expect(listWriteLines(simulator).filter((line) => line === `PUT ${CLOCK}`).length).toBeLessThan(5);
  });

  it('snapshot.revert does nothing for an empty list of paths', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder, { path: 'system' });
    simulator.requests.length = 0;
    const { data, envelope } = await revert(gateway, folder, []);
    expect(asBulkResult(data).total).toBe(0);
    expect(envelope).toMatchObject({ ok: true, changed: false });
    expect(listRequests(simulator)).toEqual([]);
  });

  it('snapshot.revert refuses an unknown path, a damaged file and the folder of another appliance before anything is written', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { name: 'vpn-1' });
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    getClockValues(simulator).set('ntp-server', 'ntp.example.com');
    simulator.requests.length = 0;
    for (const path of ['nowhere', ['system', 'users/nobody'], 'https://other.example.com/x', '../..']) {
      expect(await expectFailure(revert(gateway, folder, path))).toMatchObject({ code: 'BAD_INPUT' });
    }
    expect(await expectFailure(revert(gateway, createTemporaryFolder(), 'system'))).toMatchObject({ code: 'BAD_INPUT' });
    const other = gatewayFor(await startTestSimulator({ name: 'another' }), { name: 'vpn-2' });
    const manifest = JSON.parse(readFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), 'utf8')) as object;
    writeFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), JSON.stringify({ ...manifest, 'serial-number': 'OTHER' }));
    expect((await expectFailure(revert(other, folder, 'system'))).message).toContain('vpn-1');
    writeFileSync(join(folder, 'system/log/events.json'), '{');
    expect((await expectFailure(revert(gateway, folder, 'system'))).message).toContain('events.json');
    expect(listRequestLines(simulator)).toEqual([]);
  });
});
