import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import helper from 'node-red-node-test-helper';
import { loginAttemptLimit } from '../../nodes/admin/login-attempt-limit';
import { NodeRedHarness } from '../helpers/node-red';

const PASSWORD = 'planted "pass word" + /1';

interface Answer {
  ok: boolean;
  code?: string;
  message?: string;
  entries?: { value: string }[];
  found?: number;
  total?: number;
  unknown?: string[];
  resource?: Record<string, unknown>;
  links?: { name: string }[];
}

describe('the lookup routes', () => {
  const rig = new NodeRedHarness('node-red', { password: PASSWORD, sessions: 400 });
  beforeAll(() => rig.start());
  afterEach(async () => {
    loginAttemptLimit.refusedAt = [];
    await rig.reset();
  });
  afterAll(() => rig.stop());

  const deployed = { nodes: [], credentials: { a1: { username: 'api-admin', password: PASSWORD } } };
  const draft = (more: object = {}): object => ({
    id: 'new',
    url: rig.sim.url,
    login: 'realm',
    realm: 'Admin Users',
    tls: 'tls1',
    ...more,
  });
  const typed = { credentials: { username: 'api-admin', password: PASSWORD } };

  async function ask(route: string, body: object): Promise<Answer> {
    const response = await helper.request().post(`/gateway-appliance/${route}`).send(body);
    expect(response.status).toBe(200);
    expect(response.text).not.toContain('planted');
    return response.body as Answer;
  }
  const list = (body: object): Promise<Answer> => ask('list', { given: {}, search: '', ...body });

  it('the lookup routes work for deployed and for undeployed nodes', async () => {
    await rig.deploy(deployed);
    const wanted = { ok: true, entries: expect.arrayContaining([{ value: 'System Local', note: 'local' }]) as unknown };
    expect(await list({ kind: 'local-server', appliance: { id: 'a1' } })).toMatchObject(wanted);
    expect(await list({ kind: 'local-server', appliance: draft(typed) })).toMatchObject(wanted);
  });

  it('the lookup routes return the first sessions after a single request to the appliance, and all sessions afterwards', async () => {
    await rig.deploy(deployed);
    const pages = (): number => rig.sim.requests.filter(({ path }) => path.includes('active-users')).length;
    const first = await list({ kind: 'session', appliance: { id: 'a1' }, first: true });
    expect([first.total, pages()]).toEqual([200, 1]);
    expect(await list({ kind: 'session', appliance: { id: 'a1' } })).toMatchObject({ total: 400 });
    // The whole list is cached, so the first entries come from it.
    expect(await list({ kind: 'session', appliance: { id: 'a1' }, first: true })).toMatchObject({ total: 400 });
  });

  it('the lookup routes count the sessions that currently match a filter', async () => {
    await rig.deploy(deployed);
    const count = (filter: unknown): Promise<Answer> => ask('count', { appliance: { id: 'a1' }, filter });
    expect(await count({ 'active-user-name': '*.*' })).toMatchObject({ ok: true, total: 400 });
    expect(await count({ 'active-user-name': 'nobody.here' })).toMatchObject({ ok: true, matching: 0 });
    expect(await count({ 'active-user-name': '' })).toMatchObject({ ok: false, code: 'BAD_INPUT' });
    expect(await count('all')).toMatchObject({ ok: false, code: 'BAD_INPUT' });
  });

  it('the lookup routes read the sessions once for all conditions of a filter and their count', async () => {
    await rig.deploy(deployed);
    const appliance = { id: 'a1' };
    await ask('count', { appliance, filter: { 'agent-type': '*a*' } });
    const before = rig.sim.requests.length;
    const agents = await list({ kind: 'session-value', given: { field: 'agent-type' }, appliance });
    expect(agents.entries).toContainEqual({ value: expect.stringMatching(/\w/) as string, sessions: expect.any(Number) as number });
    await list({ kind: 'session-value', given: { field: 'source-ip' }, appliance });
    await list({ kind: 'session-user', appliance });
    expect(rig.sim.requests.length).toBe(before);
  });

  it('the lookup routes list the other appliances for a field that takes an appliance name', async () => {
    await rig.deploy(deployed);
    expect(await list({ kind: 'appliance', appliance: { id: 'a1' } })).toMatchObject({ entries: [{ value: 'vpn-1', note: rig.sim.url }] });
  });

  it('the lookup routes list the appliances of an inventory', async () => {
    const entries = [{ name: 'vpn-eu-1', url: 'https://vpn-eu-1.example.com' }];
    const inventory = {
      id: 'inv1',
      type: 'gateway-inventory',
      name: 'ours',
      source: 'list',
      list: JSON.stringify(entries),
      defaults: '{"realm": "Admin Users"}',
    };
    await rig.deploy({ nodes: [], more: [inventory], credentials: { ...deployed.credentials, inv1: deployed.credentials.a1 } });
    const names = async (): Promise<string[]> =>
      ((await list({ kind: 'appliance', appliance: { id: 'a1' } })).entries ?? []).map(({ value }) => value);
    await expect.poll(names).toEqual(['vpn-1', 'vpn-eu-1']);
  });

  it('the lookup routes list the writes that a journal can contain', async () => {
    await rig.deploy(deployed);
    const { entries = [] } = await list({ kind: 'operation', appliance: { id: 'a1' }, search: 'users.' });
    expect(entries.map(({ value }) => value)).toEqual(expect.arrayContaining(['users.disable', 'users.create']));
    expect(entries).not.toContainEqual({ value: 'users.list' });
  });

  it('the lookup routes return part of a long list, search it on the server, and report values that no longer exist', async () => {
    await rig.deploy(deployed);
    const appliance = { id: 'a1' };
    const all = await list({ kind: 'session', appliance });
    expect(all).toMatchObject({ found: 400, total: 400 });
    expect(all.entries).toHaveLength(100);
    const one = all.entries?.at(-1)?.value ?? '';
    const requests = rig.sim.requests.length;
    const found = await list({ kind: 'session', appliance, search: ` ${one.toUpperCase()} `, values: [one, 'sidgone'] });
    expect(found).toMatchObject({ entries: [expect.objectContaining({ value: one })], found: 1, unknown: ['sidgone'] });
    // Each letter that is typed must not fetch every session anew.
    expect(rig.sim.requests.length).toBe(requests);
    await list({ kind: 'session', appliance, again: true });
    expect(rig.sim.requests.length).toBeGreaterThan(requests);
  });

  it('the lookup routes return a resource with its children and masked secrets', async () => {
    await rig.deploy(deployed);
    const appliance = { id: 'a1' };
    const root = await ask('read', { appliance, path: '/' });
    expect(root.links?.map(({ name }) => name)).toContain('users');
    const user = ['authentication', 'auth-servers', 'auth-server', 'System Local', 'local', 'users', 'user', 'contractor1'];
    const read = await ask('read', { appliance, path: user });
    expect(read.resource).toMatchObject({ username: 'contractor1' });
    expect(rig.sim.requests.every(({ method, path }) => method === 'GET' || path.endsWith('/realm_auth'))).toBe(true);
  });

  it('the lookup routes return only links, never content, for an undeployed address', async () => {
    await rig.deploy(deployed);
    const path = 'authentication/auth-servers/auth-server/System Local/local/users/user/contractor1';
    const users = path.slice(0, path.lastIndexOf('/'));
    for (const root of ['config', 'request']) {
      const full = root === 'config' ? path : `configuration/${path}`;
      const elsewhere = await ask('read', { appliance: draft(typed), path: full, root });
      expect(elsewhere).toEqual({ ok: true, links: [], path: expect.stringContaining('contractor1') as string });
    }
    expect((await ask('read', { appliance: draft(typed), path: users })).links).toContainEqual(
      expect.objectContaining({ name: 'contractor1' }),
    );
    // Changed settings for the deployed address still show the resource.
    const changed = draft({ id: 'a1', timeout: '9', credentials: { username: 'api-admin', password: '__PWRD__' } });
    expect((await ask('read', { appliance: changed, path })).resource).toMatchObject({ username: 'contractor1' });
    const ensure = { type: 'gateway-config', operation: 'ensure', fields: {}, message: { payload: { path, body: { fullname: 'New' } } } };
    const plans = [];
    for (const appliance of [draft(typed), changed])
      plans.push(((await ask('preview', { appliance, ...ensure })) as { plan?: unknown }).plan);
    expect(plans).toMatchObject([[{ method: 'PUT' }], [{ method: 'PUT', body: { fullname: 'New', username: 'contractor1' } }]]);
    expect(plans[0]).not.toMatchObject([{ body: expect.anything() as unknown }]);
  });

  it('the lookup routes never send a stored password to an address that it was not deployed for', async () => {
    await rig.deploy(deployed);
    const elsewhere = draft({ id: 'a1', url: 'https://127.0.0.1:9', credentials: { username: 'api-admin', password: '__PWRD__' } });
    expect(await list({ kind: 'local-server', appliance: elsewhere })).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
  });

  it.each([
    ['an unknown kind', 'list', { kind: 'constructor', appliance: { id: 'a1' } }, 'BAD_INPUT'],
    ['a field that is missing', 'list', { kind: 'local-user', appliance: { id: 'a1' } }, 'BAD_INPUT'],
    ['a node that is not deployed', 'list', { kind: 'session', appliance: { id: 'gone' } }, 'BAD_CONFIG'],
    ['no appliance', 'read', { path: '/' }, 'BAD_CONFIG'],
    ['no path', 'read', { appliance: { id: 'a1' } }, 'BAD_INPUT'],
    ['a path that leaves the tree', 'read', { appliance: { id: 'a1' }, path: '../realm_auth' }, 'BAD_INPUT'],
  ])('the lookup routes report an error for %s', async (_what, route, body, code) => {
    await rig.deploy(deployed);
    expect(await ask(route, { given: {}, ...body })).toMatchObject({ ok: false, code, message: expect.stringMatching(/\w/) as string });
  });

  it('the lookup routes report that no appliance answers', async () => {
    await rig.deploy(deployed);
    const nobody = draft({ url: 'https://127.0.0.1:9', ...typed });
    expect(await list({ kind: 'session', appliance: nobody })).toMatchObject({ ok: false, code: 'CONNECTION', reason: 'ECONNREFUSED' });
  });

  describe('the preview', () => {
    type Preview = Answer & { plan?: unknown[]; items?: unknown[] };
    const preview = async (type: string, operation: string, fields: object, message: object = {}): Promise<Preview> => {
      await rig.deploy(deployed);
      return ask('preview', { appliance: { id: 'a1' }, type, operation, fields, message });
    };
    const str = (value: string): object => ({ type: 'str', value });
    const writes = (): string[] =>
      rig.sim.requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/realm_auth')).map(({ path }) => path);

    it('the preview shows what would be sent for a sample message, masks secrets, and sends nothing', async () => {
      const fields = { server: str('System Local'), 'password-cleartext': { type: 'cred', value: '' } };
      const answer = await preview('gateway-users', 'create', fields, { payload: { username: 'new.one' } });
      const body = { username: 'new.one', 'password-cleartext': '••••' };
      expect(answer).toMatchObject({ ok: true, plan: [{ method: 'POST', body }] });
      expect(writes()).toEqual([]);
    });

    it('the preview lists the sessions that would end', async () => {
      const [one] = (await rig.deploy(deployed), await list({ kind: 'session-user', appliance: { id: 'a1' } })).entries ?? [];
      await rig.reset();
      const answer = await preview('gateway-sessions', 'kill-user', { name: str(one?.value ?? ''), max: { type: 'num', value: '400' } });
      expect(answer.total).toBeGreaterThan(0);
      expect(answer.items?.[0]).toMatchObject({ 'active-user-name': one?.value });
      await rig.reset();
      expect(await preview('gateway-sessions', 'kill-all', {})).toMatchObject({ ok: true, total: 400 });
      expect(writes()).toEqual([]);
    });

    it.each([
      ['gateway-login', 'login', {}],
      ['gateway-users', 'disable', { server: { type: 'env', value: 'PATH' } }],
      ['gateway-certificates', 'upload', { file: { type: 'str', value: '/etc/passwd' }, password: { type: 'str', value: 'x' } }],
      ['gateway-users', 'explode', {}],
    ])('the preview of %s %s is refused with a reason', async (type, operation, fields) => {
      expect(await preview(type, operation, fields)).toMatchObject({ ok: false, code: 'BAD_INPUT' });
      expect(writes()).toEqual([]);
    });

    it('the preview of a read says that the node would read, and sends no request', async () => {
      const before = rig.sim.requests.length;
      expect(await preview('gateway-config', 'get', { path: str('users') })).toMatchObject({ ok: true, reads: true });
      expect(rig.sim.requests.length).toBe(before);
    });
  });

  it.each(['LOGIN_REJECTED', 'FORBIDDEN'])(
    'the lookup routes limit password guesses if a wrong password is answered with %s',
    async (code) => {
      await rig.deploy(deployed);
      if (code === 'FORBIDDEN') rig.sim.fault({ match: ({ path }) => path.includes('auth'), status: 403, body: '{}', times: Infinity });
      const codes = [];
      for (const guess of ['a', 'b', 'c', 'd']) {
        const credentials = { username: `${guess} of ${code}`, password: `planted ${guess}` };
        codes.push((await list({ kind: 'local-server', appliance: draft({ credentials }) })).code);
      }
      expect(codes).toEqual([code, code, code, 'LOGIN_PAUSED']);
      const minute = performance.now() + 60_000;
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => minute + 1);
      onTestFinished(() => clock.mockRestore());
      expect(() => loginAttemptLimit.assertAllowed()).not.toThrow();
    },
  );

  it('the lookup routes do not count a 403 for missing permissions as a wrong password', async () => {
    await rig.deploy(deployed);
    rig.sim.fault({ match: ({ path }) => path.includes('auth-servers'), status: 403, body: '{}', times: Infinity });
    for (let times = 0; times < 4; times++)
      expect(await list({ kind: 'local-server', appliance: draft(typed) })).toMatchObject({ code: 'FORBIDDEN' });
    expect(() => loginAttemptLimit.assertAllowed()).not.toThrow();
  });

  it('the lookup routes reject requests from pages of other origins', async () => {
    await rig.deploy(deployed);
    const before = rig.sim.requests.length;
    for (const route of ['list', 'read', 'preview']) {
      const response = await helper
        .request()
        .post(`/gateway-appliance/${route}`)
        .set('Origin', 'https://evil.example')
        .send({ appliance: { id: 'a1' }, kind: 'session', path: '/' });
      expect(response.status).toBe(403);
    }
    expect(rig.sim.requests.length).toBe(before);
  });

  const tryNow = (more: object): Promise<Record<string, unknown>> =>
    ask('try', { id: 'new', appliance: { id: 'a1' }, operationType: 'op', fields: {}, message: {}, ...more }) as never;

  it('the lookup routes run a read for a dialog and return its first entries', async () => {
    await rig.deploy(deployed);
    const listed = await tryNow({ type: 'gateway-sessions', operation: 'list' });
    expect(listed).toMatchObject({ ok: true, operation: 'sessions.list', total: 400 });
    expect(listed.data).toHaveLength(100);
    const fields = { server: { type: 'str', value: 'System Local' } };
    expect(await tryNow({ type: 'gateway-users', operation: 'list', fields })).toMatchObject({
      ok: true,
      data: expect.any(Array) as unknown,
    });
    expect(await tryNow({ type: 'gateway-transfer', operation: 'export-xml' })).toMatchObject({
      ok: true,
      bytes: expect.any(Number) as unknown,
    });
  });

  it('the lookup routes run no write, open no file and use no secret for a dialog', async () => {
    await rig.deploy(deployed);
    const from = rig.sim.requests.length;
    const folder = { type: 'str', value: '/etc' };
    const refused: [object, RegExp][] = [
      [{ type: 'gateway-sessions', operation: 'kill-all' }, /Only an operation that reads/],
      [{ type: 'gateway-backup', operation: 'list', fields: { folder } }, /folder leads to the Node-RED machine/],
      [{ type: 'gateway-audit', operation: 'run', fields: { rules: folder } }, /rules leads to the Node-RED machine/],
      [{ type: 'gateway-transfer', operation: 'export-binary', fields: { password: { type: 'cred', value: '' } } }, /password is a secret/],
      [{ type: 'gateway-login', operation: 'login' }, /no preview/],
    ];
    for (const [body, message] of refused)
      expect(await tryNow(body)).toMatchObject({ ok: false, code: 'BAD_INPUT', message: expect.stringMatching(message) as unknown });
    const undeployed = { type: 'gateway-sessions', operation: 'list', appliance: draft(typed) };
    expect(await tryNow(undeployed)).toMatchObject({ ok: false, message: expect.stringContaining('Deploy it first') as unknown });
    expect(rig.sim.requests.length).toBe(from);
  });
});
