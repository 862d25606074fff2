import { afterEach, describe, expect, it } from 'vitest';
import { type Client, messages, start, stopAll } from './client';

const C = '/api/v1/configuration';
const USERS = `${C}/authentication/auth-servers/auth-server/System%20Local/local/users/user`;
const ROLES = `${C}/users/user-roles/user-role`;
const BURO = 'B%C3%BCro%20%231%2FEU%20%26%2050%25';

afterEach(stopAll);

/** Sends a path that node's own client would refuse, and gives back the status line and body. */
const rawGet = (client: Client, path: Buffer | string): Promise<string> => {
  const auth = Buffer.from(`${client.key}:`).toString('base64');
  return client.raw(
    Buffer.concat([
      Buffer.from('GET '),
      Buffer.from(path),
      Buffer.from(` HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${auth}\r\nConnection: close\r\n\r\n`),
    ]),
  );
};

describe('reading', () => {
  it('the simulated configuration tree returns encoded hyperlinks that can be followed', async () => {
    const client = await start();
    const root = (await client.get(C)).json as Record<string, { href: string }>;
    expect(Object.keys(root)).toEqual(['administrators', 'authentication', 'system', 'users']);
    for (const { href } of Object.values(root)) expect((await client.get(href)).status).toBe(200);
    const roles = (await client.get(`${C}/users/user-roles`)).json as { 'user-role': { name: string; href: string }[] };
    expect(roles['user-role']).toContainEqual({ name: 'Büro #1/EU & 50%', href: `${ROLES}/${BURO}` });
    expect(roles['user-role']).toContainEqual({ name: '.Administrators', href: `${ROLES}/%2EAdministrators` });
    for (const { name, href } of roles['user-role']) expect((await client.get(href)).json).toMatchObject({ name });
    expect((await client.get(ROLES)).json).toEqual(roles);
    expect((await client.get(`${ROLES}/`)).json).toEqual(roles);
  });

  it('the configuration tree returns one field, and refuses an unknown path with a message', async () => {
    const client = await start();
    expect((await client.get(`${USERS}/contractor1/fullname`)).json).toEqual({ fullname: 'Carla Contractor' });
    for (const path of [
      `${USERS}/nobody`,
      `${USERS}/contractor1/shoe-size`,
      `${USERS}/contractor1/password-cleartext`,
      `${C}/elsewhere`,
      '/api/v1/elsewhere',
      '/api/v2/configuration',
    ]) {
      const answer = await client.get(path);
      expect(answer.status).toBe(404);
      expect(messages(answer, 'errors')[0]).toMatch(/does not exist/);
    }
  });

  it('the configuration tree returns collections as links, and users in the form of the variants', async () => {
    const client = await start({ variants: { collectionInParent: 'link', userEntries: 'username' } });
    expect((await client.get(`${C}/users/user-roles`)).json).toEqual({ 'user-role': { href: ROLES } });
    expect(((await client.get(USERS)).json as { user: unknown[] }).user[0]).toEqual({
      username: 'contractor1',
      href: `${USERS}/contractor1`,
    });
    client.simulator.state.variants.userEntries = 'whole';
    expect(((await client.get(USERS)).json as { user: unknown[] }).user[0]).toMatchObject({ username: 'contractor1', enabled: 'true' });
  });

  it('the configuration tree of a policy appliance serves uac, but does not list it in the root', async () => {
    const client = await start({ vendor: 'nova', variants: { uac: 'device-administration' } });
    const names = Object.keys((await client.get(`${C}/uac`)).json as object);
    expect(names).toEqual([
      'admissionControl',
      'host-enforcer',
      'nova-enforcer',
      'mac-address-realms',
      'network-access',
      'snmpEnforcement',
      'networkDeviceAdministration',
    ]);
    const gateway = await start({ variants: { uac: 'absent' } });
    expect((await gateway.get(`${C}/uac`)).status).toBe(404);
  });
});

describe('URL rules', () => {
  it.each([
    ['/.Administrators', /leading dot must be sent as %2E/],
    ['/a&b', /%26/],
    ['/a@b', /%40/],
    ['/a$b', /%24/],
    ['/a*b', /%2A/],
    ['/50%', /percent-encoding/],
    ['/%zz', /percent-encoding/],
    ['/%FF', /UTF-8/],
    ['/%00', /Control/],
    ['//x', /Empty/],
  ])('the simulator refuses %s', async (tail, reason) => {
    const client = await start();
    const answer = await client.get(ROLES + tail);
    expect(answer.status).toBe(400);
    expect(messages(answer, 'errors')[0]).toMatch(reason);
  });

  it.each([['"quoted"'], ['back\\slash'], ['<x>'], ['a|b'], ['a^b'], ['Büro']])(
    'the simulator refuses a path that contains the name %s without encoding',
    async (name) => {
      const client = await start();
      const answer = await rawGet(client, `${ROLES}/${name}`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toMatch(/must be sent as %|US-ASCII/);
      expect(client.simulator.requests.at(-1)?.status).toBe(400);
    },
  );

  it('the simulator treats quotation marks as part of a name, and logs the raw path', async () => {
    const client = await start();
    expect((await client.get(`${ROLES}/'Users'`)).status).toBe(404);
    expect(client.simulator.requests.at(-1)).toMatchObject({
      method: 'GET',
      path: `${ROLES}/'Users'`,
      body: '',
      status: 404,
      connection: 1,
    });
  });

  it('the simulator refuses unknown queries, bodies, and methods', async () => {
    const client = await start();
    expect((await client.get(`${C}?expand`)).status).toBe(400);
    expect((await client.send('GET', C, { body: {} })).status).toBe(400);
    expect((await client.send('DELETE', `${USERS}/contractor1`, { body: {} })).status).toBe(400);
    expect((await client.send('PUT', `${USERS}/contractor1`)).status).toBe(400);
    expect((await client.send('PATCH', C, { body: {} })).status).toBe(400);
    expect((await client.send('HEAD', C)).status).toBe(400);
    client.simulator.state.variants.wrongMethodStatus = 405;
    expect((await client.send('OPTIONS', C)).status).toBe(405);
  });

  it.each([['{"a":'], ['[]'], ['"text"'], ['null']])('the simulator refuses the body %s with 400', async (body) => {
    const client = await start();
    expect((await client.put(`${USERS}/contractor1`, body)).status).toBe(400);
  });

  it('the simulator requires the content type JSON', async () => {
    const client = await start();
    expect((await client.put(`${USERS}/contractor1`, '{"fullname":"x"}', { 'content-type': 'text/plain' })).status).toBe(400);
  });
});

const ADA = { username: 'ada', fullname: 'Ada Löve', 'password-cleartext': 'secret-1', enabled: 'true', 'console-access': 'false' };

describe('local users', () => {
  it('users on the simulator can be created, read without the password, changed, and deleted', async () => {
    const client = await start();
    const created = await client.post(USERS, ADA);
    expect(created.status).toBe(201);
    expect(messages(created, 'info')[0]).toMatch(/succeeded without warning or error/);
    const { 'password-cleartext': password, ...shown } = ADA;
    expect((await client.get(`${USERS}/ada`)).text).not.toContain(password);
    expect((await client.get(`${USERS}/ada`)).json).toEqual({ ...shown, 'change-password-at-signin': 'false', 'one-time-use': 'false' });
    expect((await client.put(`${USERS}/ada/fullname`, { fullname: 'Ada' })).status).toBe(200);
    expect((await client.put(`${USERS}/ada`, { enabled: 'false' })).status).toBe(200);
    expect((await client.put(USERS, { username: 'ada', 'console-access': 'true' })).status).toBe(200);
    expect((await client.get(`${USERS}/ada`)).json).toMatchObject({ fullname: 'Ada', enabled: 'false', 'console-access': 'true' });
    expect((await client.delete(`${USERS}/ada/`)).status).toBe(204);
    expect((await client.get(`${USERS}/ada`)).status).toBe(404);
    expect((await client.delete(`${USERS}/ada`)).status).toBe(404);
  });

  it('the simulator creates a user by a PUT to a new path, completely or not at all', async () => {
    const client = await start();
    expect((await client.put(`${USERS}/bob`, { fullname: 'Bob' })).status).toBe(422);
    expect((await client.get(`${USERS}/bob`)).status).toBe(404);
    expect((await client.put(`${USERS}/bob`, { fullname: 'Bob', 'password-cleartext': 'x' })).status).toBe(200);
    expect((await client.get(`${USERS}/bob`)).json).toMatchObject({ username: 'bob', fullname: 'Bob' });
  });

  it.each([
    ['a missing name', { ...ADA, username: undefined }, /username/],
    ['a missing password', { ...ADA, 'password-cleartext': undefined }, /password-cleartext is missing/],
    ['a boolean', { ...ADA, enabled: true }, /enabled must be/],
    ['another word', { ...ADA, enabled: 'yes' }, /enabled must be/],
    ['an unknown field', { ...ADA, age: '3' }, /age is not a field/],
    ['an existing name', { ...ADA, username: 'contractor1' }, /already exists/],
  ])('the simulator refuses the user %s with 422', async (_, body, reason) => {
    const client = await start();
    const answer = await client.post(USERS, body);
    expect(answer.status).toBe(422);
    expect(messages(answer, 'errors')[0]).toMatch(reason);
    expect((await client.get(`${USERS}/ada`)).status).toBe(404);
  });

  it('the simulator refuses to rename a user, and rejects a partly invalid change as a whole', async () => {
    const client = await start();
    expect((await client.put(`${USERS}/contractor1`, { username: 'other' })).status).toBe(422);
    expect((await client.put(`${USERS}/contractor1`, { fullname: 'New', enabled: 'maybe' })).status).toBe(422);
    expect((await client.put(`${USERS}/contractor1/fullname`, { enabled: 'true' })).status).toBe(422);
    expect((await client.get(`${USERS}/contractor1/fullname`)).json).toEqual({ fullname: 'Carla Contractor' });
  });
});

describe('statuses and envelopes', () => {
  it('the status codes and envelopes of the simulator follow the variants', async () => {
    const client = await start({ variants: { createStatus: 200, updateStatus: 204, deleteStatus: 200, allLists: true } });
    const created = await client.post(USERS, ADA);
    expect(created.status).toBe(200);
    expect((created.json as { result: object }).result).toMatchObject({ warnings: [], errors: [] });
    const updated = await client.put(`${USERS}/ada`, { enabled: 'false' });
    expect([updated.status, updated.text, updated.headers['content-type']]).toEqual([204, '', 'application/json']);
    client.simulator.state.variants.warningsOnly = true;
    client.simulator.state.variants.allLists = false;
    expect(Object.keys(((await client.delete(`${USERS}/ada`)).json as { result: object }).result)).toEqual(['warnings']);
    client.simulator.state.variants.errorsInSuccess = true;
    const refused = await client.delete(`${USERS}/ada`);
    expect([refused.status, messages(refused, 'errors').length]).toEqual([200, 1]);
    expect((await client.get(`${USERS}/ada`)).status).toBe(404);
  });

  it('the simulator can send empty or HTML responses, also while the server restarts', async () => {
    const client = await start({ variants: { errorBody: 'empty' } });
    expect(await client.get(`${C}/x`)).toMatchObject({ status: 404, text: '' });
    client.simulator.state.variants.errorBody = 'html';
    expect((await client.get(`${C}/x`)).text).toMatch(/^<html>/);
    client.simulator.state.variants.restarting = true;
    expect((await client.get(C)).status).toBe(500);
  });
});

describe('references', () => {
  it('the simulator refuses to delete roles and auth servers that are in use', async () => {
    const client = await start();
    const used = await client.delete(`${ROLES}/${BURO}`);
    expect(used.status).toBe(422);
    expect(messages(used, 'errors')[0]).toMatch(/used by the realm Büro #1 \/ EU/);
    expect((await client.delete(`${ROLES}/Unused`)).status).toBe(204);
    expect((await client.delete(`${C}/authentication/auth-servers/auth-server/Corp%20AD`)).status).toBe(422);
    expect((await client.put(`${C}/users/user-realms/realm/Employees`, { 'authentication-server': 'Nowhere' })).status).toBe(422);
  });

  it('the simulated tree allows DELETE only for items and POST only for collections', async () => {
    const client = await start();
    for (const path of [C, `${C}/users`, ROLES, `${USERS}/contractor1/fullname`]) expect((await client.delete(path)).status).toBe(400);
    for (const path of [C, `${C}/users/user-roles`, `${USERS}/contractor1`])
      expect((await client.post(path, { name: 'x' })).status).toBe(400);
  });

  it('the simulated configuration tree accepts a resource with its links, and a new role with its parts', async () => {
    const client = await start();
    const role = (await client.get(`${ROLES}/Users`)).json as object;
    expect((await client.put(`${ROLES}/Users`, { ...role, description: 'changed' })).status).toBe(200);
    expect((await client.get(`${ROLES}/Users/description`)).json).toEqual({ description: 'changed' });
    const name = '.neu/ä &';
    expect((await client.post(ROLES, { name, general: { overview: { web: 'disabled' } } })).status).toBe(201);
    const path = `${ROLES}/%2Eneu%2F%C3%A4%20%26`;
    expect((await client.get(`${path}/general/overview`)).json).toMatchObject({ web: 'disabled', files: 'disabled' });
    expect((await client.put(`${path}/general/overview`, { web: 'true' })).status).toBe(422);
    expect((await client.put(`${path}/general/session-options`, { 'split-tunnel': 'x' })).status).toBe(422);
  });
});

describe('administrators, catalogs, policy, ESAP', () => {
  it('the simulator validates session options and source addresses', async () => {
    const client = await start({ variants: { sessionOptionsExtra: false } });
    const options = `${C}/administrators/admin-roles/admin-role/Helpdesk/general/session-options`;
    expect((await client.get(options)).json).toEqual({ 'idle-timeout': '60' });
    expect((await client.put(options, { 'idle-timeout': 10 })).status).toBe(422);
    expect((await client.put(options, { 'max-timeout': '10' })).status).toBe(422);
    const ips = `${C}/administrators/admin-realms/realm/Admin%20Users/authentication-policy/source-ip/ips/ip`;
    for (const wrong of [{ netmask: '255.0.255.0' }, { address: '10.0.0' }, { access: 'perhaps' }])
      expect((await client.post(ips, { access: 'allow', address: '10.0.0.0', netmask: '255.0.0.0', ...wrong })).status).toBe(422);
    expect((await client.post(ips, { access: 'allow', address: '10.0.0.0', netmask: '255.0.0.0' })).status).toBe(201);
    expect((await client.get(`${ips}/10.0.0.0`)).json).toEqual({ access: 'allow', address: '10.0.0.0', netmask: '255.0.0.0' });
  });

  it('the simulator assigns a missing AD sid, keeps a given sid, and accepts an empty list', async () => {
    const client = await start();
    const groups = `${C}/authentication/auth-servers/auth-server/Corp%20AD/ad/server-catalog/groups`;
    const had = ((await client.get(groups)).json as { 'ad-group': object[] })['ad-group'];
    await client.put(groups, {
      'ad-group': [...had, { group: 'CORP\\Own', name: 'Own', sid: 'S-1-5-own' }, { group: 'CORP\\New', name: 'New' }],
    });
    const now = ((await client.get(groups)).json as { 'ad-group': { sid: string }[] })['ad-group'];
    expect(now.slice(0, -2)).toEqual(had);
    expect(now.at(-2)?.sid).toBe('S-1-5-own');
    expect(now.at(-1)?.sid).toMatch(/^S-1-5-21-/);
    expect((await client.put(groups, { 'ad-group': [{ name: 'no group' }] })).status).toBe(422);
    expect((await client.put(groups, {})).status).toBe(422);
    expect((await client.put(groups, { 'ad-group': [] })).status).toBe(200);
    expect((await client.get(groups)).json).toEqual({ 'ad-group': [] });
    expect((await client.get(groups.replace('/ad/', '/ldap/'))).status).toBe(404);
  });

  it('the simulator replaces the whole LDAP list', async () => {
    const client = await start();
    const groups = `${C}/authentication/auth-servers/auth-server/Partner%20LDAP/ldap/server-catalog/groups`;
    const only = { 'user-group': [{ dn: 'cn=x', 'group-type': 'static', name: 'x' }] };
    await client.put(groups, only);
    expect((await client.get(groups)).json).toEqual(only);
  });

  it('the simulator serves enforcers, RADIUS clients, and SNMP clients', async () => {
    const client = await start();
    const connections = `${C}/uac/acme-enforcer/connections/acme-enforcer`;
    const enforcer = {
      name: 'fw 2',
      'serial-number': ['S1'],
      'severity-filter': 'low',
      'use-idp': 'true',
      acmeos: { 'location-group': 'A', 'password-encrypted': 'x' },
    };
    expect((await client.post(`${connections}/`, enforcer)).status).toBe(201);
    expect((await client.get(`${connections}/fw%202`)).json).toEqual(enforcer);
    expect((await client.post(`${connections}/`, { ...enforcer, name: 'fw3', 'serial-number': 'S1' })).status).toBe(422);
    const radius = `${C}/uac/network-access/radius-clients/radius-client/WLAN%20B%C3%BCro%2FEU%20%232`;
    await client.put(radius, { 'location-group': 'Other' });
    expect((await client.get(radius)).json).toEqual({ name: 'WLAN Büro/EU #2', 'location-group': 'Other' });
    expect((await client.delete(`${C}/uac/snmpEnforcement/clients/client/access%20switch%202`)).status).toBe(204);
  });

  it('the simulator expands ESAP packages, excludes bundled ones, and refuses a wrong brand', async () => {
    const client = await start();
    const esaps = `${C}/authentication/endpoint/host-checker/esaps`;
    type List = { esap: Record<string, string>[] };
    const whole = (await client.get(`${esaps}?expand`)).json as List;
    const links = (await client.get(esaps)).json as List;
    expect(Object.keys(whole.esap[0] ?? {}).sort()).toEqual(['esap-version', 'last-activated-time', 'upload-time']);
    expect(Object.keys(links.esap[0] ?? {})).toEqual(['name', 'href']);
    expect(((await client.get(`${esaps}?expand&&excludeApexPackages`)).json as List).esap).toHaveLength(whole.esap.length - 1);
    for (const query of ['expand&&excludeAcmePackages', 'expand=true', 'excludeapexPackages'])
      expect((await client.get(`${esaps}?${query}`)).status).toBe(400);
  });

  it('the simulator serves system information and health', async () => {
    const client = await start({ name: 'vpn-7', variants: { clusterNode: true } });
    expect((await client.get('/api/v1/system/system-information')).json).toMatchObject({
      'system-information': { 'host-name': 'vpn-7', 'cluster-node': { name: 'vpn-7' } },
    });
    const health = '/api/v1/system/healthcheck';
    expect(Object.keys((await client.get(health)).json as object)).toEqual(['message']);
    expect(Object.keys((await client.get(`${health}?status=all`)).json as object)).toHaveLength(7);
    expect((await client.get(`${health}?status=sbr`)).json).toEqual({ 'SBR-AVAILABLE': 1 });
    expect((await client.get(`${health}?status=some`)).status).toBe(400);
    expect((await client.send('GET', health, { auth: null })).status).toBe(401);
    Object.assign(client.simulator.state.variants, { healthNeedsKey: false, cpuKey: 'CPU-UTILIZATION', healthNumbers: 'text' });
    const open = await client.send('GET', `${health}?status=all`, { auth: null });
    expect(open.json).toMatchObject({ 'CPU-UTILIZATION': '7', 'DISK-UTILIZATION': '-1' });
  });
});
