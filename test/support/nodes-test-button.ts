import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import helper from 'node-red-node-test-helper';
import { processCoordination } from '../../src/model/process-coordination';
import { startSimulator } from '../../src/simulator';
import { Rig, type Runtime } from './node-red';

const PASSWORD = 'planted "pass word" + /1';

/** `POST /gateway-appliance/test`: what the button in the dialog asks. */
export function testButton(runtime: Runtime): void {
  const rig = new Rig(runtime, { password: PASSWORD });
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
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

  it('answers with the system of the appliance, with stored or typed credentials', async () => {
    await rig.deploy(deployed);
    const wanted = { ok: true, ms: expect.any(Number) as number, system: expect.objectContaining({ 'host-name': 'gateway-1' }) as object };
    expect(await ask(body())).toEqual(wanted);
    expect(await ask(body({ credentials: { username: 'api-admin' } }))).toEqual(wanted);
    expect(await ask(body({ id: 'new', credentials: { username: 'api-admin', password: PASSWORD } }))).toEqual(wanted);
  });

  it('closes its connections', async () => {
    await rig.deploy(deployed);
    await ask(body());
    await rig.until(() => rig.sim.openConnections === 0);
  });

  it('resolves variables', async () => {
    process.env.GATEWAY_TEST_URL = rig.sim.url;
    process.env.GATEWAY_TEST_PASSWORD = PASSWORD;
    await rig.deploy(deployed);
    expect(await ask(body({ url: '${GATEWAY_TEST_URL}' }))).toMatchObject({ ok: true });
    expect(await ask(body({ credentials: { username: 'api-admin', password: '${GATEWAY_TEST_PASSWORD}' } }))).toMatchObject({ ok: true });
    expect(await ask(body({ url: '${GATEWAY_TEST_UNSET}' }))).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
  });

  it('says what is wrong', async () => {
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

  it('refuses what is no object', async () => {
    await rig.deploy(deployed);
    await helper.request().post('/gateway-appliance/test').send([1]).expect(400);
  });

  describe('with another address than the deployed one', () => {
    it('does not send the stored password there, under whatever name the field came', async () => {
      const other = await startSimulator({ password: PASSWORD });
      await rig.deploy({ ...deployed, credentials: { ...deployed.credentials, tls1: { cadata: other.ca } } });
      for (const credentials of [stored, { username: 'api-admin' }, { username: 'api-admin', password: null }, undefined]) {
        expect(await ask(body({ url: other.url, credentials }))).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
      }
      expect(other.requests).toHaveLength(0);
      expect(other.totalConnections).toBe(0);
      expect((await ask(body({ url: other.url }))).message).toMatch(/type the password again/);
      expect(await ask(body({ url: other.url, credentials: { ...stored, password: PASSWORD } }))).toMatchObject({ ok: true });
      await other.close();
    });

    it('does not mind a stored secret that is not used', async () => {
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
