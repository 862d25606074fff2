import { describe, expect, it } from 'vitest';
import { isEmptyResource } from '../../../src/snapshot/resource';
import type { Snapshot } from '../../../src/snapshot/take';
import {
  listRequests,
  expectFailure,
  listRequestLines,
  startSimulatorWithGateway,
  USER_ROLES_PATH,
} from '../../helpers/simulated-appliance';
import {
  getClockValues,
  listFiles,
  getResourcePolicies,
  getUserRoles,
  readSnapshot,
  writeSnapshot,
  createTemporaryFolder,
  CONFIGURATION_PATH,
} from '../../helpers/snapshot';
import { eventually } from '../../helpers/eventually';

const POLICIES = `${CONFIGURATION_PATH}/users/resource-policies/policy-set/Set%200000/policy`;

describe('snapshot.take into a message', () => {
  it('snapshot.take contains every resource by path, without hyperlinks and secrets', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { name: 'vpn-1' });
    const snapshot = await readSnapshot(gateway);
    expect(snapshot).toMatchObject({
      format: 'gateway-snapshot/1',
      appliance: 'vpn-1',
      'serial-number': expect.stringMatching(/./) as string,
      release: expect.stringMatching(/./) as string,
      time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      path: CONFIGURATION_PATH,
    });
    const { resources } = snapshot;
    expect(resources[`${CONFIGURATION_PATH}/system/configuration/date-and-time`]).toEqual({
      'ntp-server': 'pool.ntp.org',
      'time-zone': 'Europe/Berlin',
    });
    expect(resources).toHaveProperty([`${USER_ROLES_PATH}/%2EAdministrators`]);
    expect(resources).toHaveProperty([`${USER_ROLES_PATH}/B%C3%BCro%20%231%2FEU%20%26%2050%25`]);
    // The root does not link it.
    expect(Object.keys(resources).some((path) => path.startsWith(`${CONFIGURATION_PATH}/uac/`))).toBe(true);
    expect(JSON.stringify(snapshot)).not.toContain('href');
    expect(JSON.stringify(snapshot)).not.toContain('initial-');
    expect(Object.keys(resources)).toEqual(Object.keys(resources).sort());
    expect(new Set(listRequestLines(simulator)).size).toBe(listRequests(simulator).length);
  });

  it('snapshot.take masks secrets', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    getClockValues(simulator).set('ntp-shared-secret', 'planted-secret').set('ntp-key', '');
    const { resources } = await readSnapshot(gateway, { path: 'system' });
    expect(resources[`${CONFIGURATION_PATH}/system/configuration/date-and-time`]).toMatchObject({
      'ntp-shared-secret': '***',
      'ntp-key': '',
    });
  });

  it.each([
    ['text', 'users/user-roles'],
    ['an href', `${CONFIGURATION_PATH}/users/user-roles/`],
    ['raw names', ['users', 'user-roles']],
  ])('snapshot.take reads a part of the configuration whose path is %s', async (_kind, path) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { path: root, resources } = await readSnapshot(gateway, { path });
    expect(root).toBe(`${CONFIGURATION_PATH}/users/user-roles`);
    expect(Object.keys(resources).filter((place) => !place.startsWith(`${root}/`))).toEqual([]);
    expect(Object.keys(resources).length).toBeGreaterThan(getUserRoles(simulator).items.size);
    expect(listRequestLines(simulator)).not.toContain(`GET ${CONFIGURATION_PATH}/uac`);
  });

  it.each([
    { collectionInParent: 'link' },
    { userEntries: 'username' },
    { uac: 'absent' },
    { errorBody: 'empty' },
    { errorsInSuccess: true, uac: 'absent' },
  ] as const)('snapshot.take gives the same result if the simulator has the variants %o', async (variants) => {
    const { gateway: plain } = await startSimulatorWithGateway({ variants: variants.uac ? { uac: 'absent' } : {} });
    const { gateway } = await startSimulatorWithGateway({ variants });
    // An empty list on one side only.
    const filled = ({ resources }: Snapshot) => Object.entries(resources).filter(([, resource]) => !isEmptyResource(resource));
    expect(filled(await readSnapshot(gateway))).toEqual(filled(await readSnapshot(plain)));
  });

  it.each(['none', 'text'] as const)(
    'snapshot.take gives the same result for an appliance whose collection items have no links (%s)',
    async (entryLinks) => {
      const { gateway: plain } = await startSimulatorWithGateway();
      const { simulator, gateway } = await startSimulatorWithGateway({ variants: { entryLinks } });
      for (const path of ['users', 'administrators', 'authentication/auth-servers', 'uac']) {
        const [one, other] = [await readSnapshot(gateway, { path }), await readSnapshot(plain, { path })];
        expect(one.resources).toEqual(other.resources);
      }
      // A list of texts alone is checked once and stays a list.
      simulator.fault({
        match: ({ path }) => path === `${CONFIGURATION_PATH}/system/log/events`,
        body: '{"servers":["10.0.0.1","10.0.0.2"]}',
      });
      expect((await readSnapshot(gateway, { path: 'system' })).resources).toHaveProperty([`${CONFIGURATION_PATH}/system/log/events`], {
        servers: ['10.0.0.1', '10.0.0.2'],
      });
      expect(listRequestLines(simulator).filter((line) => line.includes('10.0.0.'))).toEqual([
        `GET ${CONFIGURATION_PATH}/system/log/events/servers/10.0.0.1`,
      ]);
    },
  );

  it('snapshot.take omits ignored fields and resources', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const ignore = ['description', 'log', '/users/user-roles/user-role/*/general', '/system/configuration/date-and-time/ntp-*', '/uac/'];
    const { resources, ignore: told } = await readSnapshot(gateway, { ignore });
    const paths = Object.keys(resources);
    expect(told).toEqual([...ignore].sort());
    expect(resources[`${CONFIGURATION_PATH}/system/configuration/date-and-time`]).toEqual({ 'time-zone': 'Europe/Berlin' });
    expect(paths.filter((path) => /\/log\/|\/uac|user-role\/[^/]*\/general/.test(path))).toEqual([]);
    expect(paths.filter((path) => 'description' in (resources[path] ?? {}))).toEqual([]);
    expect(listRequestLines(simulator).filter((line) => /\/log|\/uac/.test(line))).toEqual([]);
    // A complete name does not match part of another.
    expect(paths.some((path) => path.includes('/catalog') || path.includes('admin-role'))).toBe(true);
  });

  it.each(['/', '*', '/*/*'])('snapshot.take refuses the ignore rule %s, which matches everything', async (word) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect(await expectFailure(readSnapshot(gateway, { ignore: [word] }))).toMatchObject({ code: 'BAD_INPUT' });
    expect(listRequests(simulator)).toEqual([]);
  });
});

describe('the crawl', () => {
  it('a crawl reports what the account cannot read, and reads the rest', async () => {
    const { gateway } = await startSimulatorWithGateway({ variants: { forbiddenBranch: 'users/user-roles' } });
    const { data, envelope } = await gateway.run('snapshot.take');
    expect(envelope).toMatchObject({ ok: true, forbidden: [`${CONFIGURATION_PATH}/users/user-roles`] });
    expect(
      Object.keys((data as { resources: object }).resources).some((path) => path.startsWith(`${CONFIGURATION_PATH}/users/user-realms/`)),
    ).toBe(true);
    expect(await expectFailure(readSnapshot(gateway, { path: 'users/user-roles/user-role' }))).toMatchObject({ code: 'FORBIDDEN' });
  });

  it('a crawl reads a list again if its linked resources are gone, and finds the new items', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { largeTree: 60, vanishing: 7 } });
    const folder = createTemporaryFolder();
    const { envelope, data } = await gateway.run('snapshot.take', { path: 'users/resource-policies', folder });
    const remaining = [...getResourcePolicies(simulator).items.keys()];
    expect(remaining).toHaveLength(59 - 8);
    expect(data).toMatchObject({ resources: remaining.length + 1 });
    expect(envelope).not.toHaveProperty('missing');
    const set = `${CONFIGURATION_PATH}/users/resource-policies/policy-set/Set%200000`;
    // Once for all of them.
    expect(listRequestLines(simulator).filter((line) => line === `GET ${set}`)).toHaveLength(2);

    // One resource appears while another vanishes.
    simulator.state.variants.vanishing = 0;
    simulator.fault({
      match: ({ path }) => path.endsWith('Policy%20000001'),
      body: () => {
        getResourcePolicies(simulator).items.delete('Policy 000001');
        getResourcePolicies(simulator).add({ name: 'Late', description: 'came late' });
        return '{"result":{"errors":[{"message":"It does not exist."}]}}';
      },
    });
    expect(await writeSnapshot(gateway, folder, { path: 'users/resource-policies' })).toMatchObject({ added: 1, removed: 1, changed: 0 });
  });

  it('a crawl lists resources that are linked but do not exist', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { largeTree: 3 } });
    const notFound = { match: ({ path }: { path: string }) => path.endsWith('Policy%20000001'), status: 404, times: 99 };
    simulator.fault(notFound);
    const { envelope } = await gateway.run('snapshot.take', { path: 'users/resource-policies' });
    expect(envelope).toMatchObject({ ok: true, missing: [`${POLICIES}/Policy%20000001`] });
    expect(listRequestLines(simulator).length).toBeLessThan(20);
  });

  it('a crawl drops a resource that is deleted during the crawl', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    const inner = `${USER_ROLES_PATH}/Users/general`;
    simulator.fault({
      match: ({ path }) => path === inner,
      body: () => {
        getUserRoles(simulator).items.delete('Users');
        return '{"result":{"errors":[{"message":"It does not exist."}]}}';
      },
    });
    const { data, envelope } = await gateway.run('snapshot.take', { path: 'users/user-roles', folder });
    expect(listFiles(folder).filter((name) => name.includes('/Users'))).toEqual([]);
    expect(data).toMatchObject({ resources: listFiles(folder).length - 1, removed: 0 });
    expect(envelope.ok).toBe(true);
  });

  it('a crawl does not follow loops or links to other places', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const links = [
      `${CONFIGURATION_PATH}/system`,
      CONFIGURATION_PATH,
      `${CONFIGURATION_PATH}/users`,
      'https://other.example.com/api/v1/configuration/system/log',
      '/api/v1/system/system-information',
      `${CONFIGURATION_PATH}/system/../users`,
      `${CONFIGURATION_PATH}/system/%2e%2e/users`,
      '/elsewhere',
    ];
    const body = JSON.stringify({ kept: 'yes', ...Object.fromEntries(links.map((href, index) => [`link-${index}`, { href }])) });
    simulator.fault({ match: ({ path }) => path === `${CONFIGURATION_PATH}/system/log/events`, body });
    const { data, envelope } = await gateway.run('snapshot.take', { path: 'system' });
    expect(envelope.refused).toEqual([links[3], links[4], links[5], links[6], links[7]]);
    expect((data as { resources: object }).resources).toHaveProperty([`${CONFIGURATION_PATH}/system/log/events`], { kept: 'yes' });
    expect(new Set(listRequestLines(simulator)).size).toBe(listRequests(simulator).length);
    expect(
      listRequestLines(simulator).filter((line) => !line.includes(`${CONFIGURATION_PATH}/system`) && !line.endsWith('system-information')),
    ).toEqual([]);
  });

  it('a crawl stops at an endless chain of links', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const body = (): string => JSON.stringify({ next: { href: `${CONFIGURATION_PATH}/system/${'a/'.repeat(++depth)}a` } });
    let depth = 0;
    simulator.fault({ match: ({ path }) => path.endsWith('/log/events') || path.endsWith('/a'), body, status: 200, times: 1000 });
    const { envelope } = await gateway.run('snapshot.take', { path: 'system' });
    expect(envelope.refused).toHaveLength(1);
    expect(depth).toBeLessThan(80);
  });

  it('a crawl fails with the path of a resource that cannot be read', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    const before = listFiles(folder);
    getUserRoles(simulator).items.delete('Unused');
    simulator.fault({ match: ({ path }) => path.endsWith('/log/events'), body: '<html>' });
    const error = await expectFailure(writeSnapshot(gateway, folder));
    expect(error).toMatchObject({ code: 'BAD_RESPONSE' });
    expect(error.message).toContain(`${CONFIGURATION_PATH}/system/log/events`);
    expect(error.cause).toMatchObject({ path: `${CONFIGURATION_PATH}/system/log/events` });
    expect(listFiles(folder)).toEqual(before);
  });

  it('a crawl uses all allowed connections at the same time', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { largeTree: 100 } }, { connections: 5 });
    const isPolicy = ({ path }: { path: string }): boolean => path.includes('Policy%20');
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => (release = resolve));
    simulator.fault({ match: isPolicy, times: 5, until });
    const taking = readSnapshot(gateway, { path: 'users/resource-policies' });
    await eventually(() => expect(simulator.requests.filter(isPolicy)).toHaveLength(5));
    expect(simulator.openConnections).toBe(5);
    release();
    expect(Object.keys((await taking).resources)).toHaveLength(100);
    expect(simulator.totalConnections).toBe(5);
  });

  it('a crawl can be canceled', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { largeTree: 500 } });
    const stop = new AbortController();
    simulator.fault({ match: ({ path }) => path.includes('Policy%20'), body: (answer) => (stop.abort(), answer) });
    expect(await expectFailure(gateway.run('snapshot.take', {}, stop.signal))).toMatchObject({ code: 'ABORTED' });
    expect(listRequests(simulator).length).toBeLessThan(400);
  });
});
