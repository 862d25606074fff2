import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import helper from 'node-red-node-test-helper';
import { NodeRedHarness } from '../helpers/node-red';

interface Answer {
  ok: boolean;
  code?: string;
  message?: Record<string, unknown> | string;
  operation?: string;
  reads?: boolean;
  plan?: { method: string; path: string; body?: unknown }[];
}

/** What a preview knows of the node that runs: the last message, and values that are this machine's. */
describe('the preview of a deployed node', () => {
  const rig = new NodeRedHarness('node-red', { sessions: 5 });
  let from = 0;
  beforeAll(() => rig.start());
  beforeEach(() => {
    from = rig.sim.requests.length;
  });
  afterEach(async () => {
    delete process.env.GATEWAY_PREVIEW;
    await rig.reset();
  });
  afterAll(() => rig.stop());

  const str = (value: string): object => ({ type: 'str', value });
  const users = { type: 'gateway-users', operation: 'disable', operationType: 'op' };
  const ask = async (route: string, body: object): Promise<Answer> => {
    const response = await helper.request().post(`/gateway-appliance/${route}`).send(body);
    expect(response.status).toBe(200);
    return response.body as Answer;
  };
  const preview = (node: object, more: object = {}): Promise<Answer> =>
    ask('preview', { id: 'n1', appliance: { id: 'a1' }, message: {}, ...node, ...more });
  const writes = (): string[] =>
    rig.sim.requests
      .slice(from)
      .filter(({ method, path }) => method !== 'GET' && !path.endsWith('/realm_auth'))
      .map(({ path }) => path);

  it('the preview of a deployed node contains the last message, shortened and without secrets', async () => {
    await rig.deploy({ nodes: [{ ...users, operation: 'create' }] });
    expect(await ask('last', { id: 'n1' })).toEqual({ ok: true });
    const payload = { server: 'System Local', username: 'new.one', 'password-cleartext': 'planted', more: { deep: [1, { x: true }] } };
    await rig.run({ topic: 't', payload, big: 'x'.repeat(30_000), late: 'y', req: {} });
    const last = await ask('last', { id: 'n1' });
    expect(last.message).toEqual({ topic: 't', payload: { ...payload, 'password-cleartext': '••••' } });
    expect(JSON.stringify(last)).not.toContain('planted');
    expect(await ask('last', { id: 'gone' })).toEqual({ ok: true });
    expect(await ask('last', { id: 'a1' })).toEqual({ ok: true });
  });

  it('the preview of a deployed node ignores a message that it cannot read, but the node still processes the message', async () => {
    await rig.deploy({ nodes: [{ ...users, fields: { server: str('System Local'), username: str('contractor1') } }] });
    const message = Object.defineProperty({ topic: 't' }, 'odd', {
      enumerable: true,
      get: () => {
        throw new Error('odd');
      },
    });
    helper.getNode('n1').receive(message);
    await rig.until(() => writes().length > 0);
    expect((await ask('last', { id: 'n1' })).message).toEqual({ topic: 't' });
  });

  const user = (name: string): object => ({
    plan: [expect.objectContaining({ path: expect.stringContaining(`/user/${name}`) as string })],
  });

  it.each([
    ['env', 'GATEWAY_PREVIEW', 'contractor1'],
    ['jsonata', '"contractor" & "1"', 'contractor1'],
    ['global', 'person', 'contractor1'],
    ['flow', 'person', 'contractor1'],
    ['str', '${GATEWAY_PREVIEW}', 'contractor1'],
  ])('the preview reads files and variables only as they are deployed: %s %s', async (type, value, wanted) => {
    process.env.GATEWAY_PREVIEW = 'contractor1';
    const fields = { server: str('System Local'), username: { type, value } };
    await rig.deploy({ nodes: [{ ...users, fields }] });
    const context = rig.node().context();
    (type === 'global' ? context.global : context.flow).set('person', wanted);
    expect(await preview({ ...users, fields })).toMatchObject({ ok: true, ...user(wanted) });
    const draft = { id: 'a1', url: rig.sim.url, login: 'realm', realm: 'Admin Users', tls: 'tls1' };
    for (const more of [
      { appliance: draft },
      { id: 'n2' },
      { fields: { ...fields, username: { type, value: type === 'str' ? '${PATH}' : type === 'jsonata' ? '$env("PATH")' : 'PATH' } } },
    ]) {
      const refused = await preview({ ...users, fields }, more);
      expect(refused).toMatchObject({ ok: false, code: 'BAD_INPUT', message: expect.stringMatching(/deploy/) as string });
    }
    expect(writes()).toEqual([]);
  });

  it('the preview of a deployed node shows which operation the message selects', async () => {
    const dynamic = {
      type: 'gateway-users',
      operation: 'payload.operation',
      operationType: 'msg',
      fields: { server: str('System Local') },
    };
    await rig.deploy({ nodes: [dynamic] });
    const payload = { operation: 'disable', username: 'contractor1' };
    expect(await preview(dynamic, { message: { payload } })).toMatchObject({ operation: 'users.disable', ...user('contractor1') });
    const destroys = { message: { payload: { ...payload, operation: 'delete' } } };
    expect(await preview(dynamic, destroys)).toMatchObject({ ok: false, code: 'BAD_INPUT' });
    expect(await preview(dynamic, { ...destroys, allowDestroy: true })).toMatchObject({ operation: 'users.delete' });
    expect(await preview(dynamic, { operation: 'nowhere', operationType: 'env' })).toMatchObject({ ok: false, code: 'BAD_INPUT' });
    expect(writes()).toEqual([]);
  });

  it('the preview of a read shows its request and sends nothing', async () => {
    await rig.deploy({ nodes: [] });
    const before = rig.sim.requests.length;
    const get = { type: 'gateway-config', operation: 'get', operationType: 'op', fields: { path: str('users/{{payload.kind}}') } };
    expect(await preview(get, { message: { payload: { kind: 'user-roles' } } })).toMatchObject({
      reads: true,
      plan: [{ method: 'GET', path: '/api/v1/configuration/users/user-roles' }],
    });
    expect(rig.sim.requests.length).toBe(before);
  });
});
