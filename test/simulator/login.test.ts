import { afterEach, describe, expect, it, vi } from 'vitest';
import type { startSimulator } from '../../src/simulator/index';
import { computeTotpCode } from '../../src/simulator/index';
import type { Client } from './client';
import { messages, start, stopAll } from './client';

const INFO = '/api/v1/system/system-information';
const REALM = '/api/v1/configuration/administrators/admin-realms/realm/Admin%20Users';

afterEach(async () => {
  vi.useRealTimers();
  await stopAll();
});

describe('realm login', () => {
  it('the realm login issues a new key at each login, and earlier keys stay valid', async () => {
    const client = await start();
    const first = client.key;
    await client.login();
    expect(first).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    expect(client.key).not.toBe(first);
    expect((await client.send('GET', INFO, { auth: `${first}:` })).status).toBe(200);
    expect((await client.get(INFO)).status).toBe(200);
    expect(client.simulator.logins).toBe(2);
  });

  it.each([
    ['a wrong password', 'Admin Users', 'api-admin:wrong'],
    ['an unknown user', 'Admin Users', 'nobody:simulator'],
    ['an unknown realm', 'Nowhere', 'api-admin:simulator'],
    ['a SAML realm', 'SAML Admins', 'api-admin:simulator'],
  ])('the realm login refuses %s with 401 and an envelope', async (_, realm, auth) => {
    const client = await start();
    const answer = await client.login(realm, auth);
    expect(answer.status).toBe(401);
    expect(messages(answer, 'errors')).toHaveLength(1);
  });

  it.each([[{}], [{ realm: 1 }], [{ realm: 'Admin Users', resume_id: 'x' }], [{ realm: 'Admin Users', extra: '' }]])(
    'the realm login refuses the body %j with 400',
    async (body) => {
      const client = await start();
      expect((await client.send('POST', '/api/v1/realm_auth', { body, auth: 'api-admin:simulator' })).status).toBe(400);
    },
  );

  it('the realm login accepts credentials in UTF-8 and realm names in any writing system', async () => {
    const client = await start({ username: 'jürgen 管理', password: 'pä:ss:wörd', realm: 'Büro 東京' });
    expect((await client.get(INFO)).status).toBe(200);
    expect((await client.login('Büro 東京', 'jürgen 管理:pä')).status).toBe(401);
  });

  it('the realm login of the simulator returns neither id nor key with the variant loginAnswer', async () => {
    const client = await start({ variants: { loginAnswer: 'neither' } });
    expect((await client.login()).json).toEqual({});
  });

  it('the realm login refuses with 403 while REST access is off', async () => {
    const client = await start({ variants: { restAccess: false } });
    expect((await client.login()).status).toBe(403);
  });

  it('the simulator answers every request like the user portal with the variants redirect and page', async () => {
    const redirect = await start({ variants: { loginAnswer: 'redirect' } });
    for (const answer of [await redirect.login('Nowhere', 'nobody:wrong'), await redirect.send('POST', '/api/v1/auth', { auth: 'a:b' })]) {
      expect([answer.status, answer.headers.location]).toEqual([302, '/portal/sign-in']);
    }
    const page = await start({ variants: { loginAnswer: 'page' } });
    const answer = await page.login('Nowhere', 'nobody:wrong');
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html']);
    // The client's own try to begin with is one of them.
    expect([redirect.simulator.logins, page.simulator.logins]).toEqual([3, 2]);
  });

  it('the realm login refuses wrong credentials with 403 with the variant for it', async () => {
    const client = await start({ variants: { wrongPasswordStatus: 403 } });
    expect((await client.login('Admin Users', 'api-admin:wrong')).status).toBe(403);
    expect((await client.login()).status).toBe(200);
  });

  it('the realm login locks the account after wrong passwords, also for the right password', async () => {
    const client = await start({ variants: { lockAfter: 2 } });
    await client.login('Admin Users', 'api-admin:one');
    await client.login('Admin Users', 'api-admin:two');
    const answer = await client.login();
    expect(answer.status).toBe(401);
    expect(messages(answer, 'errors')[0]).toMatch(/locked/);
    client.simulator.state.login.failures.clear();
    expect((await client.login()).status).toBe(200);
  });
});

describe('second factor', () => {
  async function pending(options: Parameters<typeof startSimulator>[0]): Promise<{ client: Client; id: string }> {
    const client = await start(options);
    const { resume_id: id } = (await client.login()).json as { resume_id: string };
    return { client, id };
  }
  const resume = (client: Client, id: string, code: string) =>
    client.send('POST', '/api/v1/realm_auth', { body: { resume_id: id }, auth: `other-name:${code}` });

  it('the second login step asks for a code once, accepts another user name, and accepts each login id once', async () => {
    const { client, id } = await pending({ secondFactor: { password: 'zwei' } });
    const answer = await resume(client, id, 'zwei');
    expect(answer.json).toHaveProperty('api_key');
    expect((await resume(client, id, 'zwei')).status).toBe(401);
  });

  it('the second login step refuses a wrong second password, and then the same login id', async () => {
    const { client, id } = await pending({ secondFactor: { password: 'zwei' } });
    expect((await resume(client, id, 'drei')).status).toBe(401);
    expect((await resume(client, id, 'zwei')).status).toBe(401);
  });

  it('the second login step asks as often as the option steps says', async () => {
    const twice = await pending({ secondFactor: { password: 'zwei', steps: 2 } });
    const second = (await resume(twice.client, twice.id, 'zwei')).json as { resume_id: string };
    expect((await resume(twice.client, second.resume_id, 'zwei')).json).toHaveProperty('api_key');
    const endless = await pending({ secondFactor: { password: 'zwei', steps: Infinity } });
    let { id } = endless;
    for (let round = 0; round < 5; round++) ({ resume_id: id } = (await resume(endless.client, id, 'zwei')).json as { resume_id: string });
    expect(id).toMatch(/^[0-9a-f]{32}$/);
  });

  it('the second login step accepts each RFC 6238 code once', async () => {
    const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    expect(computeTotpCode(rfcSecret, Math.floor(59 / 30))).toBe('287082');
    expect(computeTotpCode(rfcSecret, Math.floor(1111111109 / 30))).toBe('081804');
    const { client, id } = await pending({ secondFactor: { totpSecret: rfcSecret } });
    const code = computeTotpCode(rfcSecret, Math.floor(Date.now() / 30_000));
    expect((await resume(client, id, code)).status).toBe(200);
    const again = (await client.login()).json as { resume_id: string };
    expect((await resume(client, again.resume_id, code)).status).toBe(401);
  });
});

describe('legacy login', () => {
  const legacy = (client: Client, method: string) => client.send(method, '/api/v1/auth', { auth: 'api-admin:simulator' });

  it.each([
    ['post', 200, 400],
    ['get', 400, 200],
    ['both', 200, 200],
    ['unsupported', 404, 404],
  ] as const)('the legacy login with the variant %s answers POST %i and GET %i', async (legacyLogin, post, get) => {
    const client = await start({ variants: { legacyLogin } });
    expect((await legacy(client, 'POST')).status).toBe(post);
    expect((await legacy(client, 'GET')).status).toBe(get);
  });

  it('the legacy login of the simulator issues a valid key', async () => {
    const client = await start();
    client.key = ((await legacy(client, 'POST')).json as { api_key: string }).api_key;
    expect((await client.get(INFO)).status).toBe(200);
  });
});

describe('API keys end', () => {
  it('expireKeys ends all API keys, and a request without a valid key is refused', async () => {
    const client = await start();
    expect((await client.send('GET', INFO, { auth: null })).status).toBe(401);
    expect((await client.send('GET', INFO, { auth: `${client.key}:password` })).status).toBe(401);
    expect((await client.send('GET', INFO, { auth: 'api-admin:simulator' })).status).toBe(401);
    client.simulator.expireKeys();
    expect((await client.get(INFO)).status).toBe(401);
  });

  it('an API key of the simulator expires after keyLifetimeMs', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const client = await start({ keyLifetimeMs: 1000 });
    vi.setSystemTime(Date.now() + 900);
    expect((await client.get(INFO)).status).toBe(200);
    vi.setSystemTime(Date.now() + 200);
    expect((await client.get(INFO)).status).toBe(401);
  });

  it('an API key of the simulator expires after the idle timeout of the role of its account', async () => {
    const client = await start();
    const options = '/api/v1/configuration/administrators/admin-roles/admin-role/%2EAdministrators/general/session-options';
    expect((await client.put(options, { 'idle-timeout': '10' })).status).toBe(200);
    const start10 = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: start10 + 9 * 60_000 });
    expect((await client.get(INFO)).status).toBe(200);
    vi.setSystemTime(start10 + 18 * 60_000);
    expect((await client.get(INFO)).status).toBe(200);
    vi.setSystemTime(start10 + 29 * 60_000);
    expect((await client.get(INFO)).status).toBe(401);
  });

  it('an API key of the simulator becomes invalid when its account is disabled or deleted', async () => {
    const client = await start();
    const account = '/api/v1/configuration/authentication/auth-servers/auth-server/Administrators/local/users/user/api-admin';
    expect((await client.put(`${account}/enabled`, { enabled: 'false' })).status).toBe(200);
    expect((await client.get(INFO)).status).toBe(401);
    expect((await client.login()).status).toBe(401);
    const other = await start();
    expect((await other.delete(account)).status).toBe(204);
    expect((await other.get(INFO)).status).toBe(401);
  });
});

describe('realm settings', () => {
  it('the simulated realm allows a login only from listed addresses with selected-ip', async () => {
    const client = await start();
    await client.post(`${REALM}/authentication-policy/source-ip/ips/ip`, {
      access: 'allow',
      address: '127.0.0.2',
      netmask: '255.255.255.255',
    });
    await client.put(`${REALM}/authentication-policy/source-ip/customized`, { customized: 'selected-ip' });
    const login = (localAddress: string) =>
      client.send('POST', '/api/v1/realm_auth', { body: { realm: 'Admin Users' }, auth: 'api-admin:simulator', localAddress });
    expect((await login('127.0.0.1')).status).toBe(403);
    expect((await login('127.0.0.2')).status).toBe(200);
    await client.post(`${REALM}/authentication-policy/source-ip/ips/ip`, { access: 'allow', address: '127.0.0.0', netmask: '255.0.0.0' });
    await client.post(`${REALM}/authentication-policy/source-ip/ips/ip`, {
      access: 'deny',
      address: '127.0.0.1',
      netmask: '255.255.255.255',
    });
    expect([(await login('127.0.0.1')).status, (await login('127.0.0.3')).status]).toEqual([403, 200]);
    expect((await client.get(INFO)).status).toBe(200);
    client.simulator.state.variants.sourceIpEveryRequest = true;
    expect((await client.get(INFO)).status).toBe(403);
  });

  it('the simulated realm refuses a login that matches no role-mapping rule', async () => {
    const client = await start();
    const rule = {
      name: 'only me',
      roles: ['Helpdesk'],
      'stop-rules-processing': 'true',
      'user-name': { test: 'is', 'user-names': ['somebody'] },
    };
    expect((await client.put(`${REALM}/role-mapping-rules`, { rule: [rule] })).status).toBe(200);
    expect((await client.login()).status).toBe(403);
    const wrong = await client.put(`${REALM}/role-mapping-rules`, { rule: [{ ...rule, roles: ['Nobody'] }] });
    expect(wrong.status).toBe(422);
    expect(messages(wrong, 'errors')[0]).toMatch(/Nobody does not exist/);
    client.simulator.state.login.groups.set('api-admin', new Set(['Helpers']));
    await client.put(`${REALM}/role-mapping-rules`, { rule: [{ name: 'g', roles: ['Helpdesk'], group: { 'group-names': ['Helpers'] } }] });
    expect((await client.login()).status).toBe(200);
  });
});
