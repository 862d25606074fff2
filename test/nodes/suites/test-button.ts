import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import helper from 'node-red-node-test-helper';
import { processCoordination } from '../../../src/model/process-coordination';
import { startSimulator } from '../../../src/simulator';
import { loginAttemptLimit } from '../../../nodes/admin/login-attempt-limit';
import { NodeRedHarness, type Runtime } from '../../helpers/node-red';

const PASSWORD = 'planted "pass word" + /1';

/** `POST /gateway-appliance/test`: what the button in the dialog asks. */
export function testButtonSuite(runtime: Runtime): void {
  const rig = new NodeRedHarness(runtime, { password: PASSWORD });
  beforeAll(() => rig.start());
  afterEach(async () => {
    loginAttemptLimit.refusedAt = [];
    await rig.reset();
  });
  afterAll(() => rig.stop());

  const deployed = { nodes: [], credentials: { a1: { username: 'api-admin', password: PASSWORD } } };
  const stored = { username: 'api-admin', password: '__PWRD__' };
  const body = (more: object = {}): object => ({
    id: 'a1',
    url: rig.sim.url,
    login: 'realm',
    realm: 'Admin Users',
    tls: 'tls1',
    credentials: stored,
    ...more,
  });

  async function ask(settings: unknown): Promise<Record<string, unknown>> {
    const response = await helper
      .request()
      .post('/gateway-appliance/test')
      .send(settings as object);
    expect(response.status).toBe(200);
    expect(response.text).not.toContain('planted');
    expect(response.text).not.toContain(Buffer.from(`api-admin:${PASSWORD}`).toString('base64'));
    return response.body as Record<string, unknown>;
  }

  it('the connection test returns the system of the appliance with stored or typed credentials', async () => {
    await rig.deploy(deployed);
    const wanted = { ok: true, ms: expect.any(Number) as number, system: expect.objectContaining({ 'host-name': 'gateway-1' }) as object };
    expect(await ask(body())).toEqual(wanted);
    expect(await ask(body({ credentials: { username: 'api-admin' } }))).toEqual(wanted);
    expect(await ask(body({ id: 'new', credentials: { username: 'api-admin', password: PASSWORD } }))).toEqual(wanted);
  });

  it('the connection test closes its connections', async () => {
    await rig.deploy(deployed);
    await ask(body());
    await rig.until(() => rig.sim.openConnections === 0);
  });

  describe('a variable', () => {
    const VARIABLE = '${GATEWAY_TEST_PASSWORD}';
    const typed = { username: 'api-admin', password: VARIABLE };
    const withVariables = {
      ...deployed,
      appliance: { url: '${GATEWAY_TEST_URL}', realm: '${GATEWAY_TEST_REALM}' },
      credentials: { a1: { username: 'api-admin', password: VARIABLE } },
    };
    beforeAll(() => {
      Object.assign(process.env, { GATEWAY_TEST_URL: rig.sim.url, GATEWAY_TEST_REALM: 'Admin Users', GATEWAY_TEST_PASSWORD: PASSWORD });
    });

    it('a variable has the value of the deployed node', async () => {
      await rig.deploy(withVariables);
      const same = { realm: '${GATEWAY_TEST_REALM}', credentials: typed };
      expect(await ask(body({ ...same, url: '${GATEWAY_TEST_URL}' }))).toMatchObject({ ok: true });
      expect(await ask(body(same))).toMatchObject({ ok: true });
      expect(await ask(body({ ...same, credentials: stored, url: '${GATEWAY_TEST_URL}' }))).toMatchObject({ ok: true });
    });

    it.each([
      ['for another address', withVariables, { credentials: typed }, true],
      ['in another property', withVariables, { realm: VARIABLE }, false],
      ['in another credential', withVariables, { credentials: { username: VARIABLE, password: PASSWORD } }, false],
      ['that is not the deployed one', withVariables, { realm: '${GATEWAY_TEST_URL}' }, false],
      ['where a plain value is deployed', deployed, { credentials: typed }, false],
      ['as the address where a plain one is deployed', deployed, { url: '${GATEWAY_TEST_URL}' }, false],
      ['in a node that is not deployed', withVariables, { id: 'new', credentials: typed }, false],
    ])('a variable is not read %s', async (_, flow, settings, elsewhere) => {
      const other = await startSimulator({ password: PASSWORD });
      await rig.deploy({ ...flow, credentials: { ...flow.credentials, tls1: { cadata: elsewhere ? other.ca : rig.sim.ca } } });
      const before = rig.sim.requests.length;
      const answer = await ask(body({ ...(elsewhere && { url: other.url }), ...settings }));
      expect(answer).toMatchObject({ ok: false, code: 'BAD_CONFIG', message: expect.stringMatching(/environment variable/) as string });
      expect(answer.message).not.toMatch(/GATEWAY_TEST/);
      expect(other.requests).toHaveLength(0);
      expect(rig.sim.requests).toHaveLength(before);
      await other.close();
    });

    it('a variable that is not set is an error', async () => {
      await rig.deploy({ ...deployed, appliance: { realm: '${GATEWAY_TEST_UNSET}' } });
      expect(await ask(body({ realm: '${GATEWAY_TEST_UNSET}' }))).toMatchObject({
        ok: false,
        code: 'BAD_CONFIG',
        message: expect.stringMatching(/not set/) as string,
      });
    });
  });

  it('the connection test reports what is wrong', async () => {
    await rig.deploy(deployed);
    expect(await ask(body({ credentials: { username: 'api-admin', password: 'planted but wrong' } }))).toMatchObject({
      ok: false,
      code: 'LOGIN_REJECTED',
    });
    expect(await ask(body({ tls: '' }))).toMatchObject({
      ok: false,
      code: 'TLS',
      reason: expect.stringMatching(/SELF_SIGNED|LEAF/) as string,
    });
    expect(await ask(body({ tls: 'not-deployed' }))).toMatchObject({
      ok: false,
      code: 'BAD_CONFIG',
      message: expect.stringMatching(/deploy/) as string,
    });
    expect(await ask(body({ proxy: 'not-deployed' }))).toMatchObject({
      ok: false,
      code: 'BAD_CONFIG',
      message: expect.stringMatching(/deploy/) as string,
    });
    expect(await ask(body({ realm: '' }))).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
    expect(await ask(body({ credentials: { username: 'api-admin', password: '' } }))).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
    expect(await ask(body({ url: 'https://127.0.0.1:1', credentials: { username: 'u', password: 'planted' } }))).toMatchObject({
      ok: false,
      code: 'CONNECTION',
      reason: 'ECONNREFUSED',
    });
    expect(await ask(body({ url: `no address ${PASSWORD}`, credentials: { username: 'u', password: PASSWORD } }))).toMatchObject({
      ok: false,
      code: 'BAD_CONFIG',
    });
    expect(await ask({})).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
  });

  describe('the route', () => {
    const post = (headers: Record<string, string>): ReturnType<ReturnType<typeof helper.request>['post']> => {
      const request = helper.request().post('/gateway-appliance/test').set('content-type', 'application/json');
      return request.set(headers).send(JSON.stringify(body()));
    };

    it('the route rejects a body that is not an object', async () => {
      await rig.deploy(deployed);
      await helper.request().post('/gateway-appliance/test').send([1]).expect(400);
    });

    it.each([
      [{ 'content-type': 'application/x-www-form-urlencoded' }, 415],
      [{ 'content-type': 'text/plain; application/json' }, 415],
      [{ origin: 'https://evil.example' }, 403],
      [{ origin: 'null' }, 403],
      [{ origin: 'http://own.example:1881', host: 'own.example:1880' }, 403],
      [{ 'sec-fetch-site': 'cross-site' }, 403],
      [{ 'sec-fetch-site': 'same-site', origin: 'http://own.example', host: 'own.example' }, 403],
    ])('the route rejects a request that a page of another origin can send: %j', async (headers, status) => {
      await rig.deploy(deployed);
      const before = rig.sim.totalConnections;
      const response = await post(headers);
      expect(response.status).toBe(status);
      expect(response.body).toMatchObject({ ok: false, message: expect.any(String) as string });
      expect(rig.sim.totalConnections).toBe(before);
    });

    it.each([
      { origin: 'http://own.example:1880', host: 'own.example:1880' },
      { origin: 'https://Own.example', host: 'own.example', 'content-type': 'application/json; charset=utf-8' },
      { origin: 'https://public.example', host: '127.0.0.1:1880', 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
    ])('the route accepts a request of its own origin: %j', async (headers) => {
      await rig.deploy(deployed);
      expect((await post(headers as Record<string, string>)).body).toMatchObject({ ok: true });
    });

    it('the route rejects a third request while two run, and accepts one afterwards', async () => {
      await rig.deploy(deployed);
      rig.sim.fault({ match: ({ path }) => !path.includes('auth'), hang: true, times: 2 });
      const before = rig.sim.requests.length;
      const open = [post({}), post({})];
      for (const request of open) request.end(() => undefined);
      await rig.until(() => rig.sim.requests.slice(before).filter(({ path }) => !path.includes('auth')).length === 2);
      expect((await post({})).status).toBe(429);
      for (const request of open) request.abort();
      await rig.until(() => rig.sim.openConnections === 0);
      expect((await post({})).body).toMatchObject({ ok: true });
    });

    it('the route limits guesses of passwords', async () => {
      await rig.deploy(deployed);
      const codes = [];
      for (const guess of ['a', 'b', 'c', 'd', 'e']) {
        codes.push((await ask(body({ credentials: { username: `user-${guess}`, password: `planted ${guess}` } }))).code);
      }
      expect(codes).toEqual(['LOGIN_REJECTED', 'LOGIN_REJECTED', 'LOGIN_REJECTED', 'LOGIN_PAUSED', 'LOGIN_PAUSED']);
    });

    it('the route limits guesses also if wrong ones are answered with 403', async () => {
      await rig.deploy(deployed);
      rig.sim.fault({ match: ({ path }) => path.includes('auth'), status: 403, times: 9 });
      const codes = [];
      for (const guess of ['a', 'b', 'c', 'd']) {
        codes.push((await ask(body({ credentials: { username: `user-${guess}`, password: `planted ${guess}` } }))).code);
      }
      expect(codes).toEqual(['FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN', 'LOGIN_PAUSED']);
    });
  });

  describe('with an address that differs from the deployed one', () => {
    it('the connection test at another address does not send the stored password, under any field name', async () => {
      const other = await startSimulator({ password: PASSWORD });
      await rig.deploy({ ...deployed, credentials: { ...deployed.credentials, tls1: { cadata: other.ca } } });
      for (const credentials of [stored, { username: 'api-admin' }, { username: 'api-admin', password: null }, undefined]) {
        expect(await ask(body({ url: other.url, credentials }))).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
      }
      expect(other.requests).toHaveLength(0);
      expect(other.totalConnections).toBe(0);
      expect((await ask(body({ url: other.url }))).message).toMatch(/Type the password again/);
      expect(await ask(body({ url: other.url, credentials: { ...stored, password: PASSWORD } }))).toMatchObject({ ok: true });
      await other.close();
    });

    it('the connection test at another address does not send the stored user name', async () => {
      const other = await startSimulator({ password: PASSWORD });
      await rig.deploy({ ...deployed, credentials: { ...deployed.credentials, tls1: { cadata: other.ca } } });
      expect(await ask(body({ url: other.url, credentials: { password: PASSWORD } }))).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
      expect(other.totalConnections).toBe(0);
      await other.close();
    });

    it('the connection test at another address accepts a stored secret that the login does not use', async () => {
      const other = await startSimulator({ password: PASSWORD });
      await rig.deploy({ ...deployed, credentials: { ...deployed.credentials, tls1: { cadata: other.ca } } });
      const credentials = { username: 'api-admin', password: PASSWORD, totpSecret: '__PWRD__', apiKey: '__PWRD__' };
      expect(await ask(body({ url: other.url, credentials }))).toMatchObject({ ok: true });
      expect(await ask(body({ url: other.url, credentials, secondFactor: 'totp' }))).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
      await other.close();
      processCoordination.clear();
    });
  });
}
