import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator } from '../../../src/simulator';
import { NodeRedHarness, type NodeDefinition, type Runtime } from '../../helpers/node-red';
import { expectCaught, expectSecondOutput, expectSuccess } from '../../helpers/expect-outcome';

/** What happens when something is not set up, and how a message chooses its appliance. */
export function configurationSuite(runtime: Runtime): void {
  const rig = new NodeRedHarness(runtime, { sessions: 3 });
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());

  const info = { type: 'gateway-system', operation: 'info' };

  /** The BAD_CONFIG that every message gets, and that the node shows from the start if it can know. */
  async function fault(node: NodeDefinition, appliance: NodeDefinition = {}, more: object = {}): Promise<string> {
    await rig.deploy({ nodes: [{ ...info, ...node }], appliance, ...more });
    const before = rig.sim.requests.length;
    for (const payload of [1, 2]) {
      const { error } = expectCaught(await rig.run({ payload }));
      expect(error).toMatchObject({ code: 'BAD_CONFIG', cause: { ok: false, code: 'BAD_CONFIG', requests: 0 } });
    }
    expect(rig.sim.requests).toHaveLength(before);
    return expectCaught(await rig.run({ payload: 3 })).error.message;
  }

  describe('an action node', () => {
    it.each([
      [{ appliance: '' }, /appliance/],
      [{ appliance: 'gone' }, /appliance/],
      [{ operation: '' }, /operation/],
      [{ operation: '${GATEWAY_TEST_UNSET}' }, /GATEWAY_TEST_UNSET/],
      [{ operationType: 'flwo' }, /operationType/],
      [{ failures: 'both' }, /failures/],
      [{ dryRun: 'yes' }, /dryRun/],
      [{ fields: [] }, /fields/],
      [{ fields: { a: 'b' } }, /fields\.a/],
      [{ output: 'envelope' }, /output/],
      [{ output: 'error.data' }, /output/],
      [{ output: '_msgid' }, /output/],
      [{ output: 'req.x' }, /output/],
      [{ output: 'msg.res' }, /output/],
      [{ output: '["parts"].x' }, /output/],
      [{ output: 'parts[0]' }, /output/],
      [{ output: '__proto__.x' }, /output/],
      [{ output: 'a..b' }, /output/],
    ])('an action node with %j is BAD_CONFIG from the start', async (node, words) => {
      expect(await fault(node)).toMatch(words);
      expect(rig.statuses()[0]).toMatchObject({ fill: 'red', shape: 'ring' });
      expect(rig.statuses()[0]?.text).toMatch(/^(?:not configured|no appliance chosen|variable not set)$/);
    });

    it.each([
      ['the operation, once it is known', { fields: { nope: { type: 'str', value: 'x' } } }, 'System information: failed (BAD_INPUT).'],
      ['the node, before', { operation: '' }, 'Gateway system: failed (BAD_CONFIG).'],
    ])('an action node names %s in the summary of a failure', async (_, node, words) => {
      await rig.deploy({ nodes: [{ ...info, ...node }] });
      expect(expectCaught(await rig.run({ payload: '' })).envelope.summary).toBe(words);
    });

    it('an action node does not lose data if the output path contains a text', async () => {
      await rig.deploy({ nodes: [{ ...info, output: 'payload.info' }] });
      const before = rig.sim.requests.length;
      expect(expectCaught(await rig.run({ payload: 'text' })).error.code).toBe('BAD_CONFIG');
      expect(rig.sim.requests).toHaveLength(before);
      expect(expectSuccess(await rig.run({ payload: { kept: 1 } })).payload).toMatchObject({ kept: 1, info: {} });
    });

    it('an action node with an unknown operation is BAD_INPUT', async () => {
      await rig.deploy({ nodes: [{ ...info, operation: 'nonsense', failures: 'output' }] });
      expect(expectSecondOutput(await rig.run({ payload: 1 })).error.code).toBe('BAD_INPUT');
    });
  });

  describe('an appliance node', () => {
    it.each([
      [{ url: '' }, /url/],
      [{ url: 'https://u:p@host' }, /url/],
      [{ url: '${GATEWAY_TEST_UNSET}' }, /url.*GATEWAY_TEST_UNSET/],
      [{ login: 'other' }, /login/],
      [{ realm: '' }, /realm/],
      [{ timeout: 'soon' }, /timeout/],
      [{ timeout: '-1' }, /timeout/],
      [{ connections: '1.5' }, /connections/],
      [{ dryRun: 'perhaps' }, /dryRun/],
      [{ permissions: 'some' }, /permissions/],
      [{ pin: ' , ' }, /pin/],
      [{ rate: '0' }, /rate/],
      [{ rate: 'slow' }, /rate/],
      [{ waiting: '-1' }, /waiting/],
      [{ tls: 'gone' }, /TLS/],
      [{ tls: 'n1' }, /TLS/],
      [{ proxy: 'gone' }, /proxy/],
      [{ proxy: 'tls1' }, /proxy/],
    ])('an appliance node with %j is BAD_CONFIG for each message', async (appliance, words) => {
      expect(await fault({}, appliance)).toMatch(words);
    });

    it('an appliance node with an invalid TLS configuration is BAD_CONFIG and does not connect without it', async () => {
      const tls2 = {
        id: 'tls2',
        type: 'tls-config',
        name: '',
        cert: '/nowhere/cert',
        key: '/nowhere/key',
        ca: '',
        verifyservercert: false,
        certType: 'files',
      };
      expect(await fault({}, { tls: 'tls2' }, { more: [tls2] })).toMatch(/TLS/);
    });

    it('an appliance node does not reveal the name of a variable that could be a password', async () => {
      const message = await fault({}, {}, { credentials: { a1: { username: 'api-admin', password: '${odd-password}' } } });
      expect(message).toMatch(/password/);
      expect(message).not.toContain('odd');
    });

    it('an appliance node names an unset variable that has the form of one', async () => {
      const credentials = { a1: { username: 'api-admin', password: '${GATEWAY_TEST_UNSET}' } };
      expect(await fault({}, {}, { credentials })).toBe(
        'password uses the environment variable GATEWAY_TEST_UNSET, which is not set. Set it where Node-RED starts.',
      );
      await rig.until(() => rig.statuses().at(-1)?.text === 'variable not set');
    });

    it('an appliance node without any credentials asks whether Node-RED could decrypt them', async () => {
      expect(await fault({}, {}, { credentials: { a1: {} } })).toMatch(/no credentials.*check credentialSecret/);
      await rig.until(() => rig.statuses().at(-1)?.text === 'credentials missing');
    });

    it('an appliance node verifies the certificate unless the TLS configuration disables it', async () => {
      await rig.deploy({ nodes: [info], appliance: { tls: '' } });
      expect(expectCaught(await rig.run({ payload: 1 })).error.code).toBe('TLS');
      await rig.reset();
      const tls2 = { id: 'tls2', type: 'tls-config', name: '', cert: '', key: '', ca: '', verifyservercert: false, certType: 'files' };
      await rig.deploy({ nodes: [info], appliance: { tls: 'tls2' }, more: [tls2] });
      expectSuccess(await rig.run({ payload: 1 }));
    });

    it('an appliance node accepts texts and variables in place of numbers', async () => {
      process.env.GATEWAY_TEST_URL = rig.sim.url;
      process.env.GATEWAY_TEST_PASSWORD = 'simulator';
      const credentials = { a1: { username: 'api-admin', password: '${GATEWAY_TEST_PASSWORD}' } };
      await rig.deploy({
        nodes: [info],
        appliance: { url: '${GATEWAY_TEST_URL}', timeout: '5', connections: '', transferTimeout: null, dryRun: 'false' },
        credentials,
      });
      expectSuccess(await rig.run({ payload: 1 }));
    });

    it('an appliance node applies its guard rails to every flow', async () => {
      await rig.deploy({ nodes: [{ ...info, type: 'gateway-sessions', operation: 'kill-all' }], appliance: { permissions: 'no-destroy' } });
      expect(expectCaught(await rig.run({ payload: 1 })).error).toMatchObject({ code: 'LIMIT', cause: { requests: 0 } });
      await rig.reset();
      await rig.deploy({ nodes: [{ ...info, type: 'gateway-sessions', operation: 'kill-all' }], appliance: { pin: 'another' } });
      expect(expectCaught(await rig.run({ payload: 1 })).error.code).toBe('BAD_CONFIG');
      expect(rig.sim.requests.filter(({ method }) => method === 'DELETE')).toEqual([]);
    });

    it('an appliance node uses its proxy except for the excluded hosts', async () => {
      const proxy = { id: 'p1', type: 'http proxy', name: '', url: 'http://127.0.0.1:1', noproxy: [] as string[] };
      await rig.deploy({ nodes: [info], appliance: { proxy: 'p1' }, more: [proxy] });
      expect(expectCaught(await rig.run({ payload: 1 })).error.code).toBe('CONNECTION');
      await rig.reset();
      await rig.deploy({ nodes: [info], appliance: { proxy: 'p1' }, more: [{ ...proxy, noproxy: ['127.0.0.1'] }] });
      expectSuccess(await rig.run({ payload: 1 }));
    });
  });

  describe('a dry run', () => {
    const kill = { type: 'gateway-sessions', operation: 'kill' };
    it.each([
      ['of the node', { dryRun: true }, {}, {}],
      ['of the message', {}, { dryRun: true }, {}],
      ['of the message in words', {}, { dryRun: 'true' }, {}],
      ['of the appliance', {}, {}, { dryRun: true }],
      ['of the node, whatever the message says', { dryRun: true }, { dryRun: false }, {}],
    ])('a dry run %s sends nothing', async (_, node, message, appliance) => {
      const id = rig.sim.state.sessions.add();
      await rig.deploy({ nodes: [{ ...kill, ...node }], appliance });
      const { envelope } = expectSuccess(await rig.run({ payload: id, ...message }));
      expect(envelope).toMatchObject({ dryRun: true, changed: null, status: null, plan: [{ method: 'DELETE' }] });
      expect(rig.sim.state.sessions.has(id)).toBe(true);
    });

    it('a dry run with an ambiguous value is BAD_INPUT', async () => {
      const id = rig.sim.state.sessions.add();
      await rig.deploy({ nodes: [kill] });
      expect(expectCaught(await rig.run({ payload: id, dryRun: 'maybe' })).error.code).toBe('BAD_INPUT');
      expect(rig.sim.state.sessions.has(id)).toBe(true);
    });
  });

  describe('the appliance of a message', () => {
    const byMessage = { ...info, appliance: '', applianceFrom: 'msg' };
    const appliance = (id: string, name: string, more = {}): NodeDefinition => ({
      id,
      type: 'gateway-appliance',
      name,
      url: rig.sim.url,
      realm: 'Admin Users',
      tls: 'tls1',
      ...more,
    });

    it('the appliance of a message is the one with that name', async () => {
      const other = await startSimulator({ name: 'gateway-2' });
      const credentials = { a2: { username: 'api-admin', password: 'simulator' }, tls2: { cadata: other.ca } };
      const tls2 = { id: 'tls2', type: 'tls-config', name: '', cert: '', key: '', ca: '', verifyservercert: true, certType: 'files' };
      await rig.deploy({ nodes: [byMessage], more: [tls2, appliance('a2', 'vpn-2', { url: other.url, tls: 'tls2' })], credentials });
      expect(expectSuccess(await rig.run({ payload: 1, appliance: 'vpn-2' })).envelope.appliance).toBe('vpn-2');
      expect(expectSuccess(await rig.run({ payload: 1, appliance: 'vpn-1' })).envelope.appliance).toBe('vpn-1');
      expect(other.requests.filter(({ path }) => path.includes('system-information'))).toHaveLength(1);
      await other.close();
    });

    it.each([['unknown'], [undefined], [''], [5], ['https://evil.example.com'], ['a1'], ['__proto__']])(
      'the appliance of a message cannot be %j, and the error lists the known names',
      async (name) => {
        await rig.deploy({ nodes: [byMessage], more: [appliance('a2', 'vpn-2')] });
        const { error } = expectCaught(await rig.run({ payload: 1, appliance: name }));
        expect(error).toMatchObject({ code: 'BAD_INPUT', cause: { ok: false } });
        expect(error.message).toContain('vpn-1, vpn-2');
      },
    );

    it('the appliance of a message is BAD_CONFIG if two appliances have the name', async () => {
      await rig.deploy({ nodes: [byMessage], more: [appliance('a2', 'vpn-1')] });
      expect(expectCaught(await rig.run({ payload: 1, appliance: 'vpn-1' })).error.code).toBe('BAD_CONFIG');
    });

    it('the appliance of a message is ignored if the dialog sets an appliance', async () => {
      await rig.deploy({ nodes: [{ ...info, applianceFrom: 'msg' }] });
      expect(expectSuccess(await rig.run({ payload: 1, appliance: 'vpn-2' })).envelope.appliance).toBe('vpn-1');
      await rig.reset();
      await rig.deploy({ nodes: [{ ...info, appliance: '' }] });
      expect(expectCaught(await rig.run({ payload: 1, appliance: 'vpn-1' })).error.code).toBe('BAD_CONFIG');
    });

    it('the appliance of a message is unknown after its node was removed', async () => {
      await rig.deploy({ nodes: [byMessage], more: [appliance('a2', 'vpn-2')] });
      await rig.redeploy({ nodes: [byMessage] });
      expect(expectCaught(await rig.run({ payload: 1, appliance: 'vpn-2' })).error.message).toMatch(
        /Set msg.appliance to one of: vpn-1\.$/,
      );
    });
  });
}
