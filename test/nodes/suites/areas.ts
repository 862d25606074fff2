import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { NodeRedHarness, type NodeDefinition, type Message, type Runtime } from '../../helpers/node-red';
import { expectCaught, expectSuccess } from '../../helpers/expect-outcome';

const SERVER = { type: 'str', value: 'System Local' };
const SECRET = 'planted "Geheim" & 50% /1';
const CRED = { type: 'cred', value: '' };
const bundle = readFileSync(join(__dirname, '../../fixtures/device.p12'));
const BUNDLE_PASSWORD = 'Grün & "blau"';

/** What the areas ask of a node beyond what all nodes do: payloads of their own kind, secrets, and changes that meet. */
export function areasSuite(runtime: Runtime): void {
  const rig = new NodeRedHarness(runtime, { sessions: 3 });
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());

  const plan = async (node: NodeDefinition, message: Message): Promise<unknown> => {
    await rig.deploy({ nodes: [{ ...node, dryRun: true }] });
    return expectSuccess(await rig.run(message)).envelope.plan;
  };
  const refusal = async (node: NodeDefinition, message: Message): Promise<string> => {
    await rig.deploy({ nodes: [node] });
    const before = rig.sim.requests.length;
    const { error } = expectCaught(await rig.run(message));
    expect([error.code, rig.sim.requests.length]).toEqual(['BAD_INPUT', before]);
    return error.message;
  };

  describe('the payload', () => {
    const options = {
      type: 'gateway-administrators',
      operation: 'set-session-options',
      fields: { role: { type: 'str', value: '.Administrators' } },
    };
    it.each([[20], ['20'], [{ 'idle-timeout': 20 }]])('the payload %j sets the idle timeout', async (payload) => {
      expect(await plan(options, { payload })).toMatchObject([
        { path: expect.stringContaining('/%2EAdministrators/') as string, body: { 'idle-timeout': '20' } },
      ]);
    });

    it('the payload does not name a certificate if it is a number, such as the timestamp of an Inject node', async () => {
      expect(await refusal({ type: 'gateway-certificates', operation: 'delete' }, { payload: Date.now() })).toContain('subject-name');
    });

    const client = { name: 'Switch 3/1', 'location-group': 'Default' };
    const set = { type: 'gateway-policy', operation: 'set-radius-client' };
    it('the payload can be a whole RADIUS client if a field sets its name', async () => {
      const fields = { name: { type: 'msg', value: 'payload.name' } };
      expect(await plan({ ...set, fields }, { payload: client })).toMatchObject([
        { path: expect.stringMatching(/\/Switch%203%2F1$/) as string, body: client },
      ]);
    });

    it('the payload is not a whole RADIUS client without a field for the name, because it could be either', async () => {
      expect(await refusal(set, { payload: client })).toMatch(/^msg\.payload\.client /);
    });

    const users = { type: 'gateway-users', fields: { server: SERVER } };
    it('the payload can be an array of names, which are planned one by one', async () => {
      const planned = await plan({ ...users, operation: 'disable' }, { payload: ['contractor1', 'jürgen.müller'] });
      expect(planned).toMatchObject([{ path: expect.stringMatching(/contractor1\/enabled$/) as string, body: { enabled: 'false' } }, {}]);
    });

    it('the payload can be an array of users, each with a password', async () => {
      const planned = await plan({ ...users, operation: 'create' }, { payload: [{ username: 'a', 'password-cleartext': SECRET }] });
      expect(planned).toMatchObject([{ method: 'POST', body: { username: 'a' } }]);
      expect(JSON.stringify(planned)).not.toContain('Geheim');
    });

    const path = { type: 'str', value: 'totp/{{topic}}/users/x' };
    const put = { type: 'gateway-request', operation: 'put', fields: { path } };
    it('the payload is the whole body of a request, and never its query', async () => {
      const payload = { query: { operation: 'reset' }, a: true };
      const planned = [{ method: 'PUT', path: '/api/v1/totp/My%20Server/users/x', body: payload }];
      expect(await plan(put, { topic: 'My Server', payload })).toEqual(planned);
    });

    it('the payload can be the text of a body if its content type is set', async () => {
      const fields = { path, 'content-type': { type: 'str', value: 'text/plain' } };
      expect(await plan({ ...put, fields }, { topic: 'a', payload: 'text' })).toMatchObject([{ body: { bytes: 4 } }]);
    });

    it('the payload is refused as the text of a body without a content type', async () => {
      expect(await refusal(put, { topic: 'a', payload: 'text' })).toContain('content-type');
    });

    it('the payload can be a user from a form that has other fields', async () => {
      await rig.deploy({ nodes: [{ type: 'gateway-users', operation: 'create', fields: { server: SERVER } }] });
      const payload = { username: 'form.user', 'password-cleartext': SECRET, enabled: 'true', 'one-time-use': '1', submit: 'Create' };
      const message = expectSuccess(await rig.run({ payload }));
      expect(message.payload).toMatchObject({ result: { errors: [] } });
      expect(JSON.parse(rig.sim.requests.at(-1)?.body ?? '')).toEqual({
        username: 'form.user',
        'password-cleartext': SECRET,
        enabled: 'true',
        'one-time-use': 'true',
      });
      expect(rig.emitted()).not.toContain('Geheim');
    });

    it.each([[null], ['']])('the payload does not match more with the client kind %j', async (kind) => {
      for (const operation of ['list-named-users', 'remove-all-named-users']) {
        expect(await refusal({ type: 'gateway-license', operation }, { payload: { 'client-kind': kind } })).toContain('client-kind');
        await rig.reset();
      }
    });
  });

  describe('a secret of the dialog', () => {
    it.each([
      [
        'password-cleartext',
        { type: 'gateway-users', operation: 'create', fields: { server: SERVER, 'password-cleartext': CRED } },
        { username: 'cred.user' },
      ],
      [
        'cluster-password',
        { type: 'gateway-cluster', operation: 'create', fields: { 'cluster-password': CRED } },
        { 'cluster-name': 'Edge', 'member-name': 'a' },
      ],
    ])('a secret of the dialog in the field %s reaches only the appliance', async (field, node, payload) => {
      await rig.deploy({ nodes: [node], credentials: { n1: { [field]: SECRET } } });
      const { envelope } = expectSuccess(await rig.run({ payload, dryRun: true }));
      expect(envelope.plan).toMatchObject([{ body: { [field]: '••••' } }]);
      expectSuccess(await rig.run({ payload }));
      expect(JSON.parse(rig.sim.requests.at(-1)?.body ?? '')).toMatchObject({ [field]: SECRET });
      // Sent again it is refused, perhaps in the very words.
      rig.sim.fault({
        match: ({ method }) => method !== 'GET',
        status: 422,
        body: JSON.stringify({ result: { errors: [{ message: `${SECRET} is known` }] } }),
      });
      expect(expectCaught(await rig.run({ payload })).error.message).toContain('is known');
      expect(rig.emitted()).not.toContain('Geheim');
    });

    const upload = { type: 'gateway-certificates', operation: 'upload', fields: { password: CRED } };
    const credentials = { n1: { password: BUNDLE_PASSWORD } };
    it('a secret of the dialog opens a bundle in a Buffer and stays out of the plan with it', async () => {
      await rig.deploy({ nodes: [upload], credentials });
      const { envelope } = expectSuccess(await rig.run({ payload: bundle, dryRun: true }));
      expect(envelope.plan).toMatchObject([{ body: { cert: '••••', password: '••••' } }]);
      expectSuccess(await rig.run({ payload: bundle }));
      expect(rig.sim.state.certificates.device.has('vpn.example.com')).toBe(true);
    });

    it('a secret of the dialog does not open a file that a message names', async () => {
      await rig.deploy({ nodes: [upload], credentials });
      const before = rig.sim.requests.length;
      expect(expectCaught(await rig.run({ payload: { file: '/etc/hostname' } })).error.message).toContain('file is required');
      expect(rig.sim.requests).toHaveLength(before);
    });
  });

  it('gateway-groups keeps both groups when two nodes change the same catalog at once', async () => {
    const fields = { server: { type: 'str', value: 'Corp AD' }, directory: { type: 'str', value: 'ad' } };
    const add = { type: 'gateway-groups', operation: 'add', fields };
    await rig.deploy({ nodes: [add, { ...add, id: 'n2' }] });
    const group = (name: string): Message => ({ payload: [{ name, group: `CORP\\${name}` }] });
    const outcomes = await Promise.all([rig.run(group('One')), rig.run(group('Two'), 'n2'), rig.run(group('One'), 'n2')]);
    expect(outcomes.map((outcome) => expectSuccess(outcome).envelope.changed)).toEqual([true, true, false]);
    const catalog = rig.sim.state.configuration.resource(
      'authentication',
      'auth-servers',
      'auth-server',
      'Corp AD',
      'ad',
      'server-catalog',
      'groups',
    );
    const names = (catalog.values.get('ad-group') as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(['Domain Users', 'VPN Users', 'Gateway Admins', 'One', 'Two']);
  });
}

/** A login that somebody completes by message, and what waits for it. */
export function loginSuite(runtime: Runtime): void {
  const CODE = '246810';
  const rig = new NodeRedHarness(runtime, { secondFactor: { password: CODE } });
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());

  const nodes = [
    { type: 'gateway-login', operation: 'login' },
    { id: 'n2', type: 'gateway-login', operation: 'resume' },
    { id: 'n3', type: 'gateway-system', operation: 'info', failures: 'output' },
    { id: 'n4', type: 'gateway-sessions', operation: 'list' },
  ];
  const pending = async (): Promise<string> => {
    await rig.deploy({ nodes, appliance: { secondFactor: 'flow' } });
    const { payload } = expectSuccess(await rig.run({ payload: 'start' }));
    expect(payload).toEqual({ state: 'pending', resumeId: expect.any(String) as string });
    return (payload as { resumeId: string }).resumeId;
  };

  it('gateway-login waits for the code, fails other messages with the pending id, and lets the same message succeed afterwards', async () => {
    await rig.deploy({ nodes, appliance: { secondFactor: 'flow' } });
    const logins = rig.sim.logins;
    const early = expectCaught(await rig.run({ payload: 1 }, 'n4')).error;
    expect([early.code, early.cause.resumeId, rig.sim.logins]).toEqual(['SECOND_FACTOR_REQUIRED', undefined, logins]);
    const resumeId = await rig.reset().then(pending);

    const waiting = (await rig.run({ payload: 'kept', topic: 't' }, 'n3')).failed[0] as Message & {
      error: { code: string; cause: { resumeId: string } };
    };
    expect([waiting.error.code, waiting.error.cause.resumeId, waiting.payload]).toEqual(['SECOND_FACTOR_REQUIRED', resumeId, 'kept']);
    expect(expectSuccess(await rig.run({ payload: 'again' })).payload).toEqual({ state: 'pending', resumeId });
    expect(rig.sim.logins).toBe(logins + 1);

    expect(expectSuccess(await rig.run({ payload: { code: CODE, resumeId } }, 'n2')).payload).toEqual({ state: 'ready' });
    const { _msgid, ...same } = waiting;
    const done = expectSuccess(await rig.run(same, 'n3'));
    expect(done).toMatchObject({ topic: 't', payload: { 'system-information': {} } });
    expect(done).not.toHaveProperty('error');
    expect(expectSuccess(await rig.run({ payload: {} }, 'n4')).payload).toHaveLength(25);
    expect(rig.emitted()).not.toContain(CODE);
    expect(typeof _msgid).toBe('string');
  });

  it('gateway-login accepts the code only as text; a wrong code ends the step and is not sent again', async () => {
    await pending();
    expect(expectCaught(await rig.run({ payload: 'wrong-code' }, 'n2')).error.code).toBe('LOGIN_REJECTED');
    const before = rig.sim.requests.length;
    expect(expectCaught(await rig.run({ payload: 'wrong-code' }, 'n2')).error.code).toBe('BAD_INPUT');
    expect(expectCaught(await rig.run({ payload: 1 }, 'n4')).error).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED' });
    expect(rig.sim.requests).toHaveLength(before);
    // The payload stays as it came; nothing else holds the code.
    const { message, cause } = expectCaught(await rig.run({ payload: 'wrong-code' }, 'n2')).error;
    expect(JSON.stringify([message, cause])).not.toContain('wrong-code');
  });

  it('gateway-login rejects a number as the code, because it loses leading zeros', async () => {
    await pending();
    expect(expectCaught(await rig.run({ payload: 246810 }, 'n2')).error.code).toBe('BAD_INPUT');
    expect(expectSuccess(await rig.run({ payload: CODE }, 'n2')).payload).toEqual({ state: 'ready' });
  });
}
