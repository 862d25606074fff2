import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import helper from 'node-red-node-test-helper';
import { loginAttemptLimit } from '../../nodes/admin/login-attempt-limit';
import { issueCertificate, selfSigned, startSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator';
import { startProxy } from '../helpers/proxy';
import { NodeRedHarness } from '../helpers/node-red';

const PASSWORD = 'planted "pass word" + /1';

interface Answer {
  ok: boolean;
  code?: string;
  message?: string;
  shown?: {
    chain: { subject: string; issuer: string; fingerprint256: string; days: number }[];
    trust?: { pem: string; itself: boolean; servername?: string };
    hinders?: string;
  };
}

describe('an untrusted appliance', () => {
  const rig = new NodeRedHarness('node-red', { password: PASSWORD });
  const others: Simulator[] = [];
  beforeAll(() => rig.start());
  afterEach(async () => {
    loginAttemptLimit.refusedAt = [];
    await rig.reset();
    await Promise.all(others.splice(0).map((sim) => sim.close()));
  });
  afterAll(() => rig.stop());

  const deployed = { nodes: [], credentials: { a1: { username: 'api-admin', password: PASSWORD } } };
  const draft = (url: string, more: object = {}): object => {
    const credentials = { username: 'api-admin', password: PASSWORD };
    return { id: 'new', url, login: 'realm', realm: 'Admin Users', tls: '', credentials, ...more };
  };
  const made = (tls: object): object => ({ tls: 'new-tls', nodes: { tls: { id: 'new-tls', verifyservercert: true, ...tls } } });
  const trusting = ({ pem, servername }: { pem: string; servername?: string }): object =>
    made({ servername: servername ?? '', credentials: { cadata: pem } });

  async function appliance(options: SimulatorOptions): Promise<Simulator> {
    const sim = await startSimulator({ password: PASSWORD, ...options });
    others.push(sim);
    return sim;
  }

  async function ask(body: object): Promise<Answer> {
    const response = await helper.request().post('/gateway-appliance/test').send(body);
    expect(response.status).toBe(200);
    expect(response.text).not.toContain('planted');
    return response.body as Answer;
  }

  it('an untrusted appliance gets no request until its certificate is trusted', async () => {
    await rig.deploy(deployed);
    const { shown, code } = await ask(draft(rig.sim.url));
    expect(code).toBe('TLS');
    expect(rig.sim.requests).toHaveLength(0);
    expect(shown?.chain).toEqual([
      expect.objectContaining({ issuer: shown?.chain[0]?.subject, fingerprint256: expect.stringMatching(/^([0-9A-F]{2}:){31}/) as string }),
    ]);
    expect(shown?.trust).toMatchObject({ itself: true, pem: rig.sim.ca.replace(/\n$/, '') + '\n' });
    expect(await ask(draft(rig.sim.url, trusting(shown?.trust ?? { pem: '' })))).toMatchObject({ ok: true });
  });

  it('the proposal to trust an appliance contains the CA certificate that it sends, or else its own certificate', async () => {
    await rig.deploy(deployed);
    const authority = selfSigned();
    const device = issueCertificate(authority);
    const whole = await appliance({ tls: { key: device.key, cert: device.cert + authority.cert } });
    const alone = await appliance({ tls: device });
    const shown = [(await ask(draft(whole.url))).shown, (await ask(draft(alone.url))).shown];
    expect(shown.map((one) => [one?.chain.length, one?.trust?.itself])).toEqual([
      [2, false],
      [1, true],
    ]);
    for (const [index, sim] of [whole, alone].entries()) {
      const trust = shown[index]?.trust ?? { pem: '' };
      expect(await ask(draft(sim.url, trusting(trust)))).toMatchObject({ ok: true });
      // Another device of the same authority is another one.
      expect((await ask(draft(rig.sim.url, trusting(trust)))).code).toBe('TLS');
    }
    const other = await appliance({ tls: issueCertificate(authority) });
    expect((await ask(draft(other.url, trusting(shown[1]?.trust ?? { pem: '' })))).code).toBe('TLS');
  });

  it('an untrusted appliance whose certificate has another name is verified under that name once it is trusted', async () => {
    await rig.deploy(deployed);
    const sim = await appliance({ host: '127.0.0.2', tls: selfSigned() });
    const { shown } = await ask(draft(sim.url));
    expect(shown?.trust).toMatchObject({ servername: 'localhost' });
    expect(await ask(draft(sim.url, trusting(shown?.trust ?? { pem: '' })))).toMatchObject({ ok: true });
    expect((await ask(draft(sim.url, trusting({ pem: shown?.trust?.pem ?? '' })))).code).toBe('TLS');
  });

  it('an untrusted appliance with an expired certificate cannot be trusted', async () => {
    await rig.deploy(deployed);
    const authority = selfSigned();
    const device = issueCertificate(authority, { days: -0.5 });
    const sim = await appliance({ tls: { key: device.key, cert: device.cert + authority.cert } });
    const { shown } = await ask(draft(sim.url));
    expect(shown).toMatchObject({ hinders: 'dates' });
    expect(shown).not.toHaveProperty('trust');
    expect(shown?.chain[0]?.days).toBeLessThan(0);
  });

  describe('an undeployed TLS configuration or proxy', () => {
    it('an undeployed TLS configuration or proxy is used as edited, with its stored secrets if they are unchanged', async () => {
      await rig.deploy(deployed);
      const untouched = { tls: { id: 'tls1', verifyservercert: true, credentials: {} } };
      expect(await ask(draft(rig.sim.url, { tls: 'tls1', nodes: untouched }))).toMatchObject({ ok: true });
      const emptied = { tls: { id: 'tls1', verifyservercert: true, credentials: { cadata: '' } } };
      expect(await ask(draft(rig.sim.url, { tls: 'tls1', nodes: emptied }))).toMatchObject({ code: 'TLS' });
      // Another node than the one that is chosen says nothing.
      expect(await ask(draft(rig.sim.url, { tls: 'tls1', nodes: { tls: { id: 'x', verifyservercert: false } } }))).toMatchObject({
        ok: true,
      });
    });

    it.each([
      ['a file', { ca: '/etc/passwd' }],
      ['a variable', { certType: 'env', caEnv: 'HOME' }],
      ['a variable in its credentials', { credentials: { cadata: '${HOME}' } }],
      ['a variable as its name', { servername: '${HOME}' }],
    ])('a dialog with an undeployed TLS configuration or proxy does not read %s', async (_what, tls) => {
      await rig.deploy(deployed);
      const before = rig.sim.totalConnections;
      const answer = await ask(draft(rig.sim.url, made(tls)));
      expect(answer).toMatchObject({ code: 'BAD_CONFIG', message: expect.stringMatching(/Deploy first/) as string });
      expect(rig.sim.totalConnections).toBe(before);
    });

    it('an undeployed proxy never receives the stored password of the appliance', async () => {
      const other = await startProxy();
      const before = rig.sim.logins;
      const deployedProxy = { id: 'p1', type: 'http proxy', name: '', url: 'http://127.0.0.1:9', noproxy: [] };
      await rig.deploy({ ...deployed, more: [deployedProxy] });
      const nodes = { tls: { id: 'tls1', verifyservercert: false }, proxy: { ...deployedProxy, url: other.url, credentials: {} } };
      const through = (more: object): Promise<Answer> => ask(draft(rig.sim.url, { id: 'a1', tls: 'tls1', proxy: 'p1', nodes, ...more }));
      const stored = { username: 'api-admin', password: '__PWRD__' };
      expect(await through({ credentials: stored })).toMatchObject({
        code: 'BAD_CONFIG',
        message: expect.stringMatching(/proxy.*password again/) as string,
      });
      expect(await through({ proxy: 'new', nodes: { ...nodes, proxy: { ...nodes.proxy, id: 'new' } }, credentials: stored })).toMatchObject(
        { code: 'BAD_CONFIG' },
      );
      expect([other.tunnels, rig.sim.logins]).toEqual([[], before]);
      expect(await through({})).toMatchObject({ ok: true });
      expect(other.tunnels).toHaveLength(1);
      // As it is deployed it is no other one.
      const same = { ...nodes, proxy: { ...deployedProxy, credentials: {} } };
      expect(await through({ credentials: stored, nodes: same })).toMatchObject({ code: 'CONNECTION' });
    });

    it('an undeployed proxy with another address never receives the stored proxy password', async () => {
      const proxy = { id: 'p1', type: 'http proxy', name: '', url: 'http://127.0.0.1:9', noproxy: [] };
      const credentials = { ...deployed.credentials, p1: { username: 'u', password: PASSWORD } };
      await rig.deploy({ ...deployed, credentials, more: [proxy] });
      const through = (url: string): Promise<Answer> =>
        ask(draft(rig.sim.url, { tls: 'tls1', proxy: 'p1', nodes: { proxy: { ...proxy, url, credentials: {} } } }));
      expect(await through('http://127.0.0.1:10')).toMatchObject({
        code: 'BAD_CONFIG',
        message: expect.stringMatching(/password/) as string,
      });
      expect(await through('http://127.0.0.1:9')).toMatchObject({ code: 'CONNECTION' });
    });
  });

  describe('after a successful test', () => {
    async function account(body: object = {}): Promise<Record<string, unknown>> {
      const response = await helper
        .request()
        .post('/gateway-appliance/account')
        .send({ appliance: draft(rig.sim.url, { tls: 'tls1', ...body }) });
      expect(response.text).not.toContain('planted');
      return response.body as Record<string, unknown>;
    }

    it('the connection test reports clock, role, permissions and idle timeout of the account, and writes nothing', async () => {
      await rig.deploy(deployed);
      rig.sim.state.variants.clockAhead = 90;
      const role = ['administrators', 'admin-roles', 'admin-role'];
      rig.sim.state.configuration
        .collection(...role)
        .items.get('.Administrators')
        ?.resource('general', 'session-options')
        .values.set('idle-timeout', '7');
      const answer = await account();
      expect(answer).toMatchObject({ ok: true, role: '.Administrators', writes: true, idle: 7, denied: [] });
      expect(answer.reads).toEqual(expect.arrayContaining(['users', 'sessions', 'license']));
      expect(Math.abs(Number(answer.clock) - 90)).toBeLessThanOrEqual(2);
      const written = rig.sim.requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/realm_auth'));
      expect(written).toEqual([]);
      rig.sim.state.variants.clockAhead = 0;
    });

    it('the connection test uses the existing login', async () => {
      await rig.deploy(deployed);
      const before = rig.sim.logins;
      expect(await ask(draft(rig.sim.url, { tls: 'tls1' }))).toMatchObject({ ok: true });
      expect(await account()).toMatchObject({ ok: true, role: '.Administrators' });
      expect(rig.sim.logins).toBe(before + 1);
      // A test proves a login each time.
      expect(await ask(draft(rig.sim.url, { tls: 'tls1' }))).toMatchObject({ ok: true });
      expect(rig.sim.logins).toBe(before + 2);
    });

    it('the connection test reports what the account may not read', async () => {
      await rig.deploy(deployed);
      rig.sim.state.variants.forbiddenBranch = 'administrators';
      const answer = await account();
      rig.sim.state.variants.forbiddenBranch = '';
      expect(answer).toMatchObject({ ok: true, denied: ['administrators'] });
      expect(answer).not.toHaveProperty('role');
    });

    it('the connection test finds the role in its own session if the realm rules do not show it', async () => {
      await rig.deploy(deployed);
      rig.sim.state.variants.forbiddenBranch = 'administrators';
      rig.sim.state.variants.ownSession = true;
      rig.sim.expireKeys();
      const answer = await account();
      rig.sim.state.variants.forbiddenBranch = '';
      rig.sim.state.variants.ownSession = false;
      expect(answer).toMatchObject({ ok: true, role: '.Administrators', writes: true });
    });
  });
});
