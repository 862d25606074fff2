import { describe, expect, it } from 'vitest';
import { isBare } from '../src/snapshot/resource';
import type { Snapshot } from '../src/snapshot/take';
import { calls, failure, lines, pair, ROLES } from './library/appliance';
import { clock, filesIn, policies, roles, take, takeInto, temporaryFolder, TREE } from './library/snapshot';
import { eventually } from './support/eventually';

const POLICIES = `${TREE}/users/resource-policies/policy-set/Set%200000/policy`;

describe('a snapshot in a message', () => {
  it('holds every resource of the tree under its path, without hyperlinks and secrets', async () => {
    const { simulator, gateway } = await pair({}, { name: 'vpn-1' });
    const snapshot = await take(gateway);
    expect(snapshot).toMatchObject({
      format: 'gateway-snapshot/1',
      appliance: 'vpn-1',
      'serial-number': expect.stringMatching(/./) as string,
      release: expect.stringMatching(/./) as string,
      time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      path: TREE,
    });
    const { resources } = snapshot;
    expect(resources[`${TREE}/system/configuration/date-and-time`]).toEqual({ 'ntp-server': 'pool.ntp.org', 'time-zone': 'Europe/Berlin' });
    expect(resources).toHaveProperty([`${ROLES}/%2EAdministrators`]);
    expect(resources).toHaveProperty([`${ROLES}/B%C3%BCro%20%231%2FEU%20%26%2050%25`]);
    // The root does not link it.
    expect(Object.keys(resources).some((path) => path.startsWith(`${TREE}/uac/`))).toBe(true);
    expect(JSON.stringify(snapshot)).not.toContain('href');
    expect(JSON.stringify(snapshot)).not.toContain('initial-');
    expect(Object.keys(resources)).toEqual(Object.keys(resources).sort());
    expect(new Set(lines(simulator)).size).toBe(calls(simulator).length);
  });

  it('replaces secrets', async () => {
    const { simulator, gateway } = await pair();
    clock(simulator).set('ntp-shared-secret', 'planted-secret').set('ntp-key', '');
    const { resources } = await take(gateway, { path: 'system' });
    expect(resources[`${TREE}/system/configuration/date-and-time`]).toMatchObject({ 'ntp-shared-secret': '***', 'ntp-key': '' });
  });

  it.each([
    ['text', 'users/user-roles'],
    ['an href', `${TREE}/users/user-roles/`],
    ['raw names', ['users', 'user-roles']],
  ])('is of a part, named by %s', async (_kind, path) => {
    const { simulator, gateway } = await pair();
    const { path: root, resources } = await take(gateway, { path });
    expect(root).toBe(`${TREE}/users/user-roles`);
    expect(Object.keys(resources).filter((place) => !place.startsWith(`${root}/`))).toEqual([]);
    expect(Object.keys(resources).length).toBeGreaterThan(roles(simulator).items.size);
    expect(lines(simulator)).not.toContain(`GET ${TREE}/uac`);
  });

  it.each([
    { collectionInParent: 'link' },
    { userEntries: 'username' },
    { uac: 'absent' },
    { errorBody: 'empty' },
    { errorsInSuccess: true, uac: 'absent' },
  ] as const)('is the same where an appliance has %o', async (variants) => {
    const { gateway: plain } = await pair({ variants: variants.uac ? { uac: 'absent' } : {} });
    const { gateway } = await pair({ variants });
    // A list with nothing in it stands here or there.
    const filled = ({ resources }: Snapshot) => Object.entries(resources).filter(([, resource]) => !isBare(resource));
    expect(filled(await take(gateway))).toEqual(filled(await take(plain)));
  });

  it.each(['none', 'text'] as const)('is the same where entries of a collection have no links (%s)', async (entryLinks) => {
    const { gateway: plain } = await pair();
    const { simulator, gateway } = await pair({ variants: { entryLinks } });
    for (const path of ['users', 'administrators', 'authentication/auth-servers', 'uac']) {
      const [one, other] = [await take(gateway, { path }), await take(plain, { path })];
      expect(one.resources).toEqual(other.resources);
    }
    // What is a list of texts and nothing else is asked for once, and stays one.
    simulator.fault({ match: ({ path }) => path === `${TREE}/system/log/events`, body: '{"servers":["10.0.0.1","10.0.0.2"]}' });
    expect((await take(gateway, { path: 'system' })).resources).toHaveProperty([`${TREE}/system/log/events`], {
      servers: ['10.0.0.1', '10.0.0.2'],
    });
    expect(lines(simulator).filter((line) => line.includes('10.0.0.'))).toEqual([`GET ${TREE}/system/log/events/servers/10.0.0.1`]);
  });

  it('leaves out what does not count', async () => {
    const { simulator, gateway } = await pair();
    const ignore = ['description', 'log', '/users/user-roles/user-role/*/general', '/system/configuration/date-and-time/ntp-*', '/uac/'];
    const { resources, ignore: told } = await take(gateway, { ignore });
    const paths = Object.keys(resources);
    expect(told).toEqual([...ignore].sort());
    expect(resources[`${TREE}/system/configuration/date-and-time`]).toEqual({ 'time-zone': 'Europe/Berlin' });
    expect(paths.filter((path) => /\/log\/|\/uac|user-role\/[^/]*\/general/.test(path))).toEqual([]);
    expect(paths.filter((path) => 'description' in (resources[path] ?? {}))).toEqual([]);
    expect(lines(simulator).filter((line) => /\/log|\/uac/.test(line))).toEqual([]);
    // A name that is told whole is no part of another.
    expect(paths.some((path) => path.includes('/catalog') || path.includes('admin-role'))).toBe(true);
  });

  it.each(['/', '*', '/*/*'])('refuses to ignore %s, which is everything', async (word) => {
    const { simulator, gateway } = await pair();
    expect(await failure(take(gateway, { ignore: [word] }))).toMatchObject({ code: 'BAD_INPUT' });
    expect(calls(simulator)).toEqual([]);
  });
});

describe('the crawl', () => {
  it('tells what the account may not read, and reads the rest', async () => {
    const { gateway } = await pair({ variants: { forbiddenBranch: 'users/user-roles' } });
    const { data, envelope } = await gateway.run('snapshot.take');
    expect(envelope).toMatchObject({ ok: true, forbidden: [`${TREE}/users/user-roles`] });
    expect(Object.keys((data as { resources: object }).resources).some((path) => path.startsWith(`${TREE}/users/user-realms/`))).toBe(true);
    expect(await failure(take(gateway, { path: 'users/user-roles/user-role' }))).toMatchObject({ code: 'FORBIDDEN' });
  });

  it('reads a list again when links of it are gone, and takes what has come meanwhile', async () => {
    const { simulator, gateway } = await pair({ variants: { largeTree: 60, vanishing: 7 } });
    const folder = temporaryFolder();
    const { envelope, data } = await gateway.run('snapshot.take', { path: 'users/resource-policies', folder });
    const left = [...policies(simulator).items.keys()];
    expect(left).toHaveLength(59 - 8);
    expect(data).toMatchObject({ resources: left.length + 1 });
    expect(envelope).not.toHaveProperty('missing');
    const set = `${TREE}/users/resource-policies/policy-set/Set%200000`;
    // Once for all of them.
    expect(lines(simulator).filter((line) => line === `GET ${set}`)).toHaveLength(2);

    // One that comes while another one goes.
    simulator.state.variants.vanishing = 0;
    simulator.fault({
      match: ({ path }) => path.endsWith('Policy%20000001'),
      body: () => {
        policies(simulator).items.delete('Policy 000001');
        policies(simulator).add({ name: 'Late', description: 'came late' });
        return '{"result":{"errors":[{"message":"It does not exist."}]}}';
      },
    });
    expect(await takeInto(gateway, folder, { path: 'users/resource-policies' })).toMatchObject({ added: 1, removed: 1, changed: 0 });
  });

  it('names what is linked, but not there', async () => {
    const { simulator, gateway } = await pair({ variants: { largeTree: 3 } });
    const gone = { match: ({ path }: { path: string }) => path.endsWith('Policy%20000001'), status: 404, times: 99 };
    simulator.fault(gone);
    const { envelope } = await gateway.run('snapshot.take', { path: 'users/resource-policies' });
    expect(envelope).toMatchObject({ ok: true, missing: [`${POLICIES}/Policy%20000001`] });
    expect(lines(simulator).length).toBeLessThan(20);
  });

  it('takes back what it has of a resource that goes while it is read', async () => {
    const { simulator, gateway } = await pair();
    const folder = temporaryFolder();
    const inner = `${ROLES}/Users/general`;
    simulator.fault({
      match: ({ path }) => path === inner,
      body: () => {
        roles(simulator).items.delete('Users');
        return '{"result":{"errors":[{"message":"It does not exist."}]}}';
      },
    });
    const { data, envelope } = await gateway.run('snapshot.take', { path: 'users/user-roles', folder });
    expect(filesIn(folder).filter((name) => name.includes('/Users'))).toEqual([]);
    expect(data).toMatchObject({ resources: filesIn(folder).length - 1, removed: 0 });
    expect(envelope.ok).toBe(true);
  });

  it('follows no link in circles, and none that leads elsewhere', async () => {
    const { simulator, gateway } = await pair();
    const links = [
      `${TREE}/system`,
      TREE,
      `${TREE}/users`,
      'https://other.example.com/api/v1/configuration/system/log',
      '/api/v1/system/system-information',
      `${TREE}/system/../users`,
      `${TREE}/system/%2e%2e/users`,
      '/elsewhere',
    ];
    const body = JSON.stringify({ kept: 'yes', ...Object.fromEntries(links.map((href, index) => [`link-${index}`, { href }])) });
    simulator.fault({ match: ({ path }) => path === `${TREE}/system/log/events`, body });
    const { data, envelope } = await gateway.run('snapshot.take', { path: 'system' });
    expect(envelope.refused).toEqual([links[3], links[4], links[5], links[6], links[7]]);
    expect((data as { resources: object }).resources).toHaveProperty([`${TREE}/system/log/events`], { kept: 'yes' });
    expect(new Set(lines(simulator)).size).toBe(calls(simulator).length);
    expect(lines(simulator).filter((line) => !line.includes(`${TREE}/system`) && !line.endsWith('system-information'))).toEqual([]);
  });

  it('ends where links lead on and on', async () => {
    const { simulator, gateway } = await pair();
    const body = (): string => JSON.stringify({ next: { href: `${TREE}/system/${'a/'.repeat(++depth)}a` } });
    let depth = 0;
    simulator.fault({ match: ({ path }) => path.endsWith('/log/events') || path.endsWith('/a'), body, status: 200, times: 1000 });
    const { envelope } = await gateway.run('snapshot.take', { path: 'system' });
    expect(envelope.refused).toHaveLength(1);
    expect(depth).toBeLessThan(80);
  });

  it('fails as a whole, and says by which resource, when one cannot be read', async () => {
    const { simulator, gateway } = await pair();
    const folder = temporaryFolder();
    await takeInto(gateway, folder);
    const before = filesIn(folder);
    roles(simulator).items.delete('Unused');
    simulator.fault({ match: ({ path }) => path.endsWith('/log/events'), body: '<html>' });
    const error = await failure(takeInto(gateway, folder));
    expect(error).toMatchObject({ code: 'BAD_RESPONSE' });
    expect(error.message).toContain(`${TREE}/system/log/events`);
    expect(error.cause).toMatchObject({ path: `${TREE}/system/log/events` });
    expect(filesIn(folder)).toEqual(before);
  });

  it('keeps all connections at work', async () => {
    const { simulator, gateway } = await pair({ variants: { largeTree: 100 } }, { connections: 5 });
    const isPolicy = ({ path }: { path: string }): boolean => path.includes('Policy%20');
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => (release = resolve));
    simulator.fault({ match: isPolicy, times: 5, until });
    const taking = take(gateway, { path: 'users/resource-policies' });
    await eventually(() => expect(simulator.requests.filter(isPolicy)).toHaveLength(5));
    expect(simulator.openConnections).toBe(5);
    release();
    expect(Object.keys((await taking).resources)).toHaveLength(100);
    expect(simulator.totalConnections).toBe(5);
  });

  it('can be cancelled', async () => {
    const { simulator, gateway } = await pair({ variants: { largeTree: 500 } });
    const stop = new AbortController();
    simulator.fault({ match: ({ path }) => path.includes('Policy%20'), body: (answer) => (stop.abort(), answer) });
    expect(await failure(gateway.run('snapshot.take', {}, stop.signal))).toMatchObject({ code: 'ABORTED' });
    expect(calls(simulator).length).toBeLessThan(400);
  });
});
