import { describe, expect, it } from 'vitest';
import type { SimulatorOptions } from '../../src/simulator';
import { checkSimulator } from '../helpers/conformance';
import { createRandomTree } from '../helpers/random-tree';
import { type AnyGateway, gatewayFor, settingsFor, startTestSimulator } from '../helpers/simulated-appliance';
import { CONFIGURATION_PATH, createTemporaryFolder, listFiles, readResourceFile, serveTree, writeSnapshot } from '../helpers/snapshot';
import { Client } from './client';

const ROLES = `${CONFIGURATION_PATH}/users/user-roles/user-role`;

const startCopy = async (from: NonNullable<SimulatorOptions['from']>, more: SimulatorOptions = {}) => {
  const simulator = await startTestSimulator({ from, ...more });
  const client = new Client(simulator);
  await client.login('Admin Users', `${simulator.username}:${simulator.password}`);
  return { simulator, client, gateway: gatewayFor(simulator) };
};

/** The folder of a snapshot of the simulator's own tree. */
const takeSimulatorSnapshot = async (): Promise<string> => {
  const folder = createTemporaryFolder();
  await writeSnapshot(gatewayFor(await startTestSimulator({ name: 'vpn-1' })), folder);
  return folder;
};

/** A document whose lists of links are in order: a snapshot does not keep the order of entries. */
function sortEntries(document: unknown): unknown {
  const isLink = (item: unknown): boolean => typeof item === 'object' && item !== null && 'href' in item;
  const entries: [string, unknown][] = Object.entries(Object(document) as Record<string, unknown>);
  return Object.fromEntries(
    entries.map(([key, value]) => [
      key,
      Array.isArray(value) && value.every(isLink) ? value.map((item) => JSON.stringify(item)).sort() : value,
    ]),
  );
}

const compareWith = async (gateway: AnyGateway, folder: string): Promise<unknown> =>
  (await gateway.run('snapshot.compare', { folder })).data;

describe('a copy of a configuration', () => {
  it('a simulated copy returns the same response as the original for every path of three random trees, with links', async () => {
    for (const seed of [1, 2, 3]) {
      const tree = createRandomTree(seed, Number(process.env['COPY_SIZE'] ?? 60));
      const served = Object.fromEntries([...tree].map(([path, document]) => [path.slice(CONFIGURATION_PATH.length), document]));
      const folder = createTemporaryFolder();
      await writeSnapshot(gatewayFor(await serveTree(served)), folder);
      const { client } = await startCopy(folder);
      for (const [path, document] of tree) expect(sortEntries((await client.get(path)).json), path).toEqual(sortEntries(document));
    }
  });

  it('a copy of a configuration also finds items that are identified by a field', async () => {
    const at = (path: string): string => `${CONFIGURATION_PATH}/${path}`;
    const { client } = await startCopy({
      [at('vendor/sets/set/P1')]: { name: 'P1' },
      [at('vendor/sets/set/P1/R1')]: { name: 'R1' },
      [at('vendor/sets/set/P2')]: { name: 'P2' },
    });
    expect((await client.get(at('vendor/sets/set/P1'))).json).toMatchObject({ name: 'P1' });
    expect((await client.get(at('vendor/sets/set/P1/R1'))).json).toMatchObject({ name: 'R1' });
    expect((await client.get(at('vendor/sets/set/P2'))).json).toMatchObject({ name: 'P2' });
  });

  it('a simulated copy accepts changes at paths that the simulator itself does not know', async () => {
    const at = (path: string): string => `${CONFIGURATION_PATH}/${path}`;
    const { client } = await startCopy({
      [at('vendor/options')]: { mode: 'fast', list: [], nested: [{ a: 1 }] },
      [at('vendor/rules/rule/First')]: { name: 'First', action: 'allow' },
    });
    expect((await client.get(at('vendor'))).json).toEqual({
      options: { href: at('vendor/options') },
      rules: { href: at('vendor/rules') },
    });
    expect((await client.put(at('vendor/options'), { nested: [{ b: null }], extra: 3 })).status).toBe(200);
    expect((await client.put(at('vendor/options/mode'), { mode: 'slow' })).status).toBe(200);
    expect((await client.get(at('vendor/options'))).json).toEqual({ mode: 'slow', list: [], nested: [{ b: null }], extra: 3 });
    expect((await client.post(at('vendor/rules/rule'), { name: 'Zweite/2', action: 'deny' })).status).toBe(201);
    expect((await client.get(at('vendor/rules'))).json).toEqual({
      rule: ['First', 'Zweite/2'].map((name) => ({ name, href: at(`vendor/rules/rule/${encodeURIComponent(name)}`) })),
    });
    expect((await client.post(at('vendor/options/list'), { name: 'one' })).status).toBe(201);
    expect((await client.get(at('vendor/options/list/one'))).json).toEqual({ name: 'one' });
    expect((await client.put(at('vendor/created'), { a: 1, b: 2 })).status).toBe(200);
    expect((await client.get(at('vendor/created'))).json).toEqual({ a: 1, b: 2 });
    for (const path of ['vendor/rules/rule/First', 'vendor/created', 'vendor/options/mode', 'vendor/options'])
      expect((await client.delete(at(path))).status, path).toBe(204);
    expect((await client.get(at('vendor'))).json).toEqual({ rules: { href: at('vendor/rules') } });
    for (const path of ['vendor/options', 'vendor/none/below']) expect((await client.get(at(path))).status).toBe(404);
    expect((await client.put(at('vendor/none/below'), { a: 1, b: 2 })).status).toBe(404);
  });

  it('a copy of a configuration identifies as the appliance of the snapshot, has its users, and generates sessions for them', async () => {
    const folder = await takeSimulatorSnapshot();
    const { simulator, gateway } = await startCopy(folder, { sessions: 60 });
    expect((await gateway.run('users.list', { server: 'System Local' })).data).toHaveLength(3);
    await gateway.run('users.create', { server: 'System Local', username: 'new.user', 'password-cleartext': 'a-Password-1' });
    expect((await gateway.run('users.list', { server: 'System Local' })).data).toHaveLength(4);
    const sessions = (await gateway.run('sessions.list')).data as Record<string, unknown>[];
    const contractors = sessions.filter((session) => session['authentication-realm'] === 'Contractors');
    expect(contractors.length).toBeGreaterThan(0);
    for (const session of contractors) {
      expect(['contractor1', 'jürgen.müller', 'guest 50% / #1']).toContain(session['active-user-name']);
      expect(session).toMatchObject({ 'user-roles': 'Contractors', 'primary-auth-server-name': 'System Local' });
    }
    const { appliance, 'serial-number': serial } = readResourceFile(folder, '.gateway-snapshot.json');
    expect([simulator.state.system.hostName, simulator.state.system.serialNumber]).toEqual([appliance, serial]);
  });

  it('a simulated copy does not differ from its snapshot until a flow changes it, and then differs exactly by the change', async () => {
    const folder = await takeSimulatorSnapshot();
    const { simulator, gateway } = await startCopy(folder);
    expect(await compareWith(gateway, folder)).toEqual({ equal: true, added: [], removed: [], changed: [] });
    for (let index = 0; index < 6; index++) await gateway.run('config.create', { path: ROLES, body: { name: `New ${index}` } });
    for (let index = 0; index < 6; index++)
      await gateway.run('users.create', { server: 'System Local', username: `user${index}`, 'password-cleartext': 'a-Password-1' });
    for (const name of ['Users', 'Intranet', 'Contractors', 'Partner Portal', 'Büro #1/EU & 50%', '.Administrators'])
      await gateway.run('config.update', { path: ['users', 'user-roles', 'user-role', name], body: { description: 'rehearsed' } });
    await gateway.run('config.delete', { path: ['users', 'user-roles', 'user-role', 'New 0'] });
    await gateway.run('config.create', { path: ROLES, body: { name: 'New 0' } });
    await gateway.run('config.update', { path: '/system/network/overview', body: { 'dns-domain': 'example.org' } });
    await gateway.run('config.update', { path: '/system/log/syslog', body: { server: '192.0.2.1' } });
    const saved = createTemporaryFolder();
    const { resources } = simulator.save(saved);
    expect(resources).toBe(listFiles(saved).length - 1);
    const difference = await compareWith(gateway, folder);
    expect(difference).toMatchObject({ removed: [] });
    const { added, changed } = difference as { added: string[]; changed: unknown[] };
    expect(added.length + changed.length).toBe(20);
    expect(await compareWith((await startCopy(folder)).gateway, saved)).toMatchObject({ removed: added, changed: { length: 8 } });
  });

  it('a simulated copy saves the same files as gateway-snapshot, and removes the files of deleted resources', async () => {
    const tree = createRandomTree(9, 150);
    const served = Object.fromEntries([...tree].map(([path, document]) => [path.slice(CONFIGURATION_PATH.length), document]));
    const folder = createTemporaryFolder();
    const gateway = gatewayFor(await serveTree(served));
    await writeSnapshot(gateway, folder);
    const { simulator, client } = await startCopy(folder);
    const saved = createTemporaryFolder();
    simulator.save(saved);
    expect(listFiles(saved)).toEqual(listFiles(folder));
    for (const file of listFiles(folder).filter((name) => name !== '.gateway-snapshot.json'))
      expect(readResourceFile(saved, file), file).toEqual(readResourceFile(folder, file));
    expect(readResourceFile(saved, '.gateway-snapshot.json')).toEqual(readResourceFile(folder, '.gateway-snapshot.json'));
    const [root = ''] = Object.keys((await client.get(CONFIGURATION_PATH)).json as object);
    await client.delete(`${CONFIGURATION_PATH}/${root}`);
    expect(simulator.save(saved).removed).toBeGreaterThan(0);
    expect(listFiles(saved).filter((file) => file.startsWith(root))).toEqual([]);
  });

  it('a simulated copy masks the same secrets as gateway-snapshot when it saves', async () => {
    const at = (path: string): string => `${CONFIGURATION_PATH}/${path}`;
    const secret = 'planted-secret';
    const { simulator, gateway } = await startCopy({
      [at('vendor/options')]: {
        'community-string': secret,
        authorization: secret,
        jwt: secret,
        sharedSecret: secret,
        pairs: [{ name: 'shared-secret', value: secret }],
        'allow-password': true,
      },
    });
    const [saved, taken] = [createTemporaryFolder(), createTemporaryFolder()];
    simulator.save(saved);
    await writeSnapshot(gateway, taken);
    expect(readResourceFile(saved, 'vendor/options.json')).toEqual(readResourceFile(taken, 'vendor/options.json'));
    expect(JSON.stringify(readResourceFile(saved, 'vendor/options.json'))).not.toContain(secret);
  });

  it('a simulated copy returns the configuration of its snapshot even with the profile of another appliance', async () => {
    const path = `${CONFIGURATION_PATH}/vendor/options`;
    const { profile } = await checkSimulator(await startTestSimulator({ variants: { totals: 'text' } }));
    const endpoints = [...profile.endpoints, { method: 'GET', path, status: 404, body: 'empty', keys: {}, bytes: 0 }];
    const { client } = await startCopy({ [path]: { mode: 'fast' } }, { profile: { ...profile, endpoints } });
    expect((await client.get(path)).json).toEqual({ mode: 'fast' });
    const page = (await client.get('/api/v1/system/active-users?number=1')).json;
    expect(JSON.stringify(page)).toMatch(/"total-matched-record-number":"[0-9]+"/);
  });

  it('a copy of a configuration accepts the login of its administrator until a flow locks that account out', async () => {
    const folder = await takeSimulatorSnapshot();
    const { simulator, client } = await startCopy(folder);
    expect((await client.login('Admin Users', 'api-admin:wrong')).status).toBe(401);
    expect(settingsFor(simulator).password).toBe(simulator.password);
    const account = `${CONFIGURATION_PATH}/authentication/auth-servers/auth-server/Administrators/local/users/user/api-admin`;
    expect((await client.put(`${account}/enabled`, { enabled: 'false' })).status).toBe(200);
    expect((await client.login('Admin Users', 'api-admin:simulator')).status).toBe(401);
  });

  it('a simulated copy of a file that is not a configuration fails to start, and names the file', async () => {
    const folder = createTemporaryFolder();
    await expect(startTestSimulator({ from: folder })).rejects.toThrow('is not a snapshot folder');
    await expect(startTestSimulator({ from: `${folder}/none.json` })).rejects.toThrow('none.json cannot be read');
    await expect(startTestSimulator({ from: { format: 'gateway-snapshot/1' } })).rejects.toThrow('it has no resources');
  });
});
