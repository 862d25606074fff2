import { describe, expect, it } from 'vitest';
import {
  listRequests,
  expectFailure,
  listRequestLines,
  listWriteLines,
  startSimulatorWithGateway,
  USER_ROLES_PATH,
} from '../../helpers/simulated-appliance';

const roles = 'users/user-roles/user-role';

describe('config.get and config.list', () => {
  it('config.get and config.list read the root, a resource, a field and a collection', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const get = async (path: unknown): Promise<unknown> => (await gateway.run('config.get', { path })).data;
    expect(Object.keys((await get('/')) as object)).toEqual(['administrators', 'authentication', 'system', 'users']);
    expect(await get(`${roles}/Users`)).toMatchObject({ name: 'Users' });
    expect(await get(`${roles}/Users/description`)).toEqual({ description: '' });
    expect(await get(`${roles}/`)).toMatchObject({ 'user-role': expect.any(Array) as unknown[] });
    expect(listRequestLines(simulator)).toEqual([
      'GET /api/v1/configuration',
      `GET ${USER_ROLES_PATH}/Users`,
      `GET ${USER_ROLES_PATH}/Users/description`,
      `GET ${USER_ROLES_PATH}/`,
    ]);
  });

  it('config.get and config.list list hyperlinks and the entries of collections', async () => {
    const { gateway } = await startSimulatorWithGateway();
    expect((await gateway.run('config.list', { path: '/' })).data).toEqual(
      ['administrators', 'authentication', 'system', 'users'].map((name) => ({ name, href: `/api/v1/configuration/${name}` })),
    );
    for (const path of [roles, 'users/user-roles']) {
      expect((await gateway.run('config.list', { path })).data).toContainEqual({
        name: '.Administrators',
        href: `${USER_ROLES_PATH}/%2EAdministrators`,
      });
    }
  });

  it.each(['none', 'text'] as const)(
    'config.get and config.list list entries without href by their name (entryLinks: %s)',
    async (entryLinks) => {
      const { simulator, gateway } = await startSimulatorWithGateway({ variants: { entryLinks } });
      const names = [...simulator.state.configuration.collection('users', 'user-roles', 'user-role').items.keys()];
      const { data } = await gateway.run('config.list', { path: roles });
      expect(data).toEqual(names.map((name) => ({ name, href: null })));
    },
  );

  it('config.list lists users by name, but not the values of fields', async () => {
    const { gateway } = await startSimulatorWithGateway({ variants: { userEntries: 'username' } });
    const list = async (path: string): Promise<unknown> => (await gateway.run('config.list', { path })).data;
    const server = 'authentication/auth-servers/auth-server/System Local';
    expect(await list(`${server}/local/users/user`)).toContainEqual({
      name: 'contractor1',
      href: '/api/v1/configuration/authentication/auth-servers/auth-server/System%20Local/local/users/user/contractor1',
    });
    expect(await list('uac/acme-enforcer/connections/acme-enforcer/fw-core-1')).toEqual([]);
    expect(await list(`${server}`)).toEqual([{ name: 'local', href: expect.stringMatching(/local$/) as string }]);
  });

  it('config.get accepts a link from config.list unchanged', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data } = await gateway.run('config.list', { path: roles });
    for (const { name, href } of data as { name: string; href: string }[]) {
      simulator.requests.length = 0;
      expect((await gateway.run('config.get', { path: href })).data).toMatchObject({ name });
      expect(listRequestLines(simulator)).toEqual([`GET ${href}`]);
    }
  });

  it('config.get and config.list send flags and values in the query', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const query = { expand: true, page: 7, 'a b': 'ü&' };
    await expectFailure(gateway.run('config.get', { path: 'users', query }));
    expect(listRequestLines(simulator)).toEqual(['GET /api/v1/configuration/users?expand&page=7&a%20b=%C3%BC%26']);
    for (const bad of [{ expand: false }, { a: null }, { a: ['x'] }, { a: {} }]) {
      expect((await expectFailure(gateway.run('config.get', { path: 'users', query: bad }))).code).toBe('BAD_INPUT');
    }
  });

  it('config.get and config.list reject a resource that does not exist with NOT_FOUND', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('config.get', { path: `${roles}/Nobody` }));
    expect(error).toMatchObject({
      code: 'NOT_FOUND',
      cause: {
        ok: false,
        operation: 'config.get',
        request: { method: 'GET', path: `${USER_ROLES_PATH}/Nobody` },
        status: 404,
        changed: null,
      },
    });
    expect(error.message).toMatch(/404.*Nobody does not exist/);
  });
});

describe('config.create, config.update and config.delete', () => {
  it('config operations create, change and delete a resource, and update accepts the path from a get', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const name = 'Nacht #2/Süd & 100%';
    const created = await gateway.run('config.create', { path: roles, body: { name, description: 'new' } });
    expect(created.envelope).toMatchObject({ ok: true, changed: true, status: 201, request: { method: 'POST', path: USER_ROLES_PATH } });
    const read = await gateway.run('config.get', { path: ['users', 'user-roles', 'user-role', name] });
    expect(read.data).toMatchObject({ name, description: 'new' });
    const path = read.envelope.request?.path;
    await gateway.run('config.update', { path, body: { description: 'changed' } });
    await gateway.run('config.update', { path: `${path}/description`, body: { description: 'changed again' } });
    expect((await gateway.run('config.get', { path })).data).toMatchObject({ name, description: 'changed again' });
    expect((await gateway.run('config.delete', { path: `${path}/` })).envelope).toMatchObject({ status: 204, changed: true });
    expect((await expectFailure(gateway.run('config.get', { path }))).code).toBe('NOT_FOUND');
    expect(listRequests(simulator).map(({ body }) => body)).toContain(JSON.stringify({ name, description: 'new' }));
    expect(new Set(listRequests(simulator).map(({ headers }) => headers['content-type']))).toEqual(
      new Set(['application/json', undefined]),
    );
  });

  it('config.update accepts the whole resource that a get returned', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { data } = await gateway.run('config.get', { path: `${roles}/Users` });
    const body = { ...(data as object), description: 'changed' };
    expect((await gateway.run('config.update', { path: `${roles}/Users`, body })).envelope.ok).toBe(true);
  });

  it('config.create, config.update and config.delete send booleans as text and leave all other values unchanged', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const body = { enabled: true, deep: { off: [false, 0, 'x', null] }, at: new Date(0) };
    await expectFailure(gateway.run('config.update', { path: `${roles}/Users`, body }));
    expect(JSON.parse(listRequests(simulator)[0]?.body ?? '')).toEqual({
      enabled: 'true',
      deep: { off: ['false', 0, 'x', null] },
      at: '1970-01-01T00:00:00.000Z',
    });
    expect(body.enabled).toBe(true);
  });

  it.each([
    ['config.create', { path: '/', body: {} }],
    ['config.update', { path: '/api/v1/configuration', body: {} }],
    ['config.delete', { path: '/' }],
    ['config.delete', { path: '' }],
    ['config.delete', { path: [] }],
    ['config.delete', {}],
    ['config.update', { path: roles }],
    ['config.update', { path: roles, body: '' }],
    ['config.update', { path: roles, body: [] }],
    ['config.update', { body: {} }],
  ])('the operation %s rejects %j before sending anything', async (operation, input) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect((await expectFailure(gateway.run(operation, input))).code).toBe('BAD_INPUT');
    expect(simulator.requests).toEqual([]);
  });
});

describe('dry run', () => {
  const inputs: [string, Record<string, unknown>][] = [
    ['config.create', { path: roles, body: { name: 'Büro #3' } }],
    ['config.update', { path: `${roles}/Users`, body: { description: 'changed' } }],
    ['config.delete', { path: `${roles}/Unused` }],
    ['sessions.kill-matching', { filter: { 'session-id': '*00000003' } }],
    ['sessions.kill-user', { name: 'admin' }],
    ['sessions.kill-all', {}],
  ];

  it.each(inputs)('a dry run of %s sends no write and plans the same request that a real run sends', async (operation, input) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const before = simulator.state.sessions.count;
    const { data, envelope } = await gateway.run(operation, input, { dryRun: true });
    const planned = (envelope.plan ?? []).map(({ method, path, query, body }) => ({ line: `${method} ${path}`, query, body }));
    expect(planned.length).toBeGreaterThan(0);
    expect(envelope).toMatchObject({ ok: true, dryRun: true, status: null, changed: null });
    expect(listRequests(simulator).every(({ method }) => method === 'GET')).toBe(true);
    expect(simulator.state.sessions.count).toBe(before);
    if (operation.startsWith('sessions.kill-') && operation !== 'sessions.kill-all') {
      expect(data).toMatchObject({ total: planned.length, ok: 0, failed: 0, results: planned.map(() => ({ planned: true })) });
    } else expect(data).toEqual({ result: { info: [], warnings: [], errors: [] } });
    simulator.requests.length = 0;
    await gateway.run(operation, input);
    const sent = listRequests(simulator).filter(({ method }) => method !== 'GET');
    expect(sent.map(({ method, path }) => `${method} ${path.split('?')[0]}`)).toEqual(planned.map(({ line }) => line));
    expect(sent.map(({ path }) => path.includes('?'))).toEqual(planned.map(({ query }) => query !== undefined));
    expect(sent.map(({ body }) => (body ? (JSON.parse(body) as unknown) : undefined))).toEqual(planned.map(({ body }) => body));
  });

  it('the dry run of an appliance cannot be turned off by a message', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { dryRun: true });
    await gateway.run('sessions.kill-all', {}, { dryRun: false });
    await gateway.run('config.delete', { path: `${roles}/Unused` }, { dryRun: false });
    expect(listWriteLines(simulator)).toEqual([]);
    const { envelope } = await gateway.run('system.info');
    expect(envelope).toMatchObject({ dryRun: true, status: 200 });
    expect(envelope).not.toHaveProperty('plan');
  });

  it('a dry run applies the guards', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 30 });
    const run = gateway.run('sessions.kill-matching', { filter: { 'login-node': 'gateway-1' } }, { dryRun: true });
    expect((await expectFailure(run)).code).toBe('LIMIT');
  });
});
