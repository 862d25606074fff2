import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/model/json';
import type { SimulatorOptions, Simulator } from '../../../src/simulator';
import { toChildMap, Collection, Resource } from '../../../src/simulator/tree';
import { httpResponse, startRawServer } from '../../helpers/raw-server';
import {
  expectFailure,
  asBulkResult,
  gatewayFor,
  startSimulatorWithGateway,
  listWriteLines,
  type AnyGateway,
} from '../../helpers/simulated-appliance';

const ROLE = 'users/user-roles/user-role/Users';
const ROLE_PATH = `/api/v1/configuration/${ROLE}`;
const TRIAL = 'system/trial/Ä & 1';
const TRIAL_PATH = '/api/v1/configuration/system/trial/%C3%84%20%26%201';

/** A value of every kind that a body can contain, as an appliance shows it. */
const everything: JsonObject = {
  name: 'Ä & 1',
  note: 'day',
  enabled: 'true',
  switch: false,
  port: 20,
  limit: '20',
  hosts: ['a', 'b'],
  ports: ['80', '443'],
  deep: { on: 'false', inner: { text: 'x', list: [1, 2] } },
  rules: [{ name: 'r1', roles: ['A'], stop: 'true' }],
};

/** The same values as a person would write them, with parts that cannot be compared. */
const desired = {
  ...everything,
  enabled: true,
  switch: 'false',
  port: '20',
  limit: 20,
  ports: [80, 443],
  deep: { on: false, inner: { text: 'x', list: ['1', '2'] } },
  rules: [{ name: 'r1', roles: ['A'], stop: true }],
  'shared-secret': 's3cret-value',
  below: { href: '/api/v1/configuration/system' },
};

/** An appliance with a collection whose resources hold everything. */
async function trial(options: SimulatorOptions = {}): Promise<{ simulator: Simulator; gateway: AnyGateway; items: Collection }> {
  const running = await startSimulatorWithGateway(options);
  const anything = { check: () => undefined };
  const shape = { 'shared-secret': { ...anything, secret: true }, rules: anything };
  const values = { ...(everything as Record<string, never>), extra: 'kept' };
  const items = new Collection('trial', 'name', () => new Resource(values, toChildMap({ below: new Resource({ x: 'y' }) }), shape));
  const system = running.simulator.state.configuration.resource('system');
  (system.children as Map<string, Collection>).set('trial', items);
  return { ...running, items };
}

/** The write of the second person. */
const set = (simulator: Simulator, field: string, value: string, ...path: string[]): void =>
  void simulator.state.configuration.resource(...path).values.set(field, value);

describe('config.ensure', () => {
  it('config.ensure writes only if fields differ, reports them, and sends nothing the second time', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    set(simulator, 'description', 'night', 'users', 'user-roles', 'user-role', 'Users');
    const first = await gateway.run('config.ensure', { path: ROLE, body: { description: 'day' } });
    expect(first.data).toMatchObject({ name: 'Users', description: 'day' });
    expect(first.envelope).toMatchObject({
      ok: true,
      changed: true,
      request: { method: 'PUT', path: ROLE_PATH },
      diff: [{ path: ROLE_PATH, field: '/description', before: 'night', after: 'day' }],
      notCompared: [],
    });
    const putRequest = simulator.requests.find(({ method }) => method === 'PUT');
    expect(JSON.parse(putRequest?.body ?? '')).toMatchObject({ name: 'Users', description: 'day' });
    simulator.requests.length = 0;
    const second = await gateway.run('config.ensure', { path: ROLE, body: { description: 'day' } });
    expect(second.envelope).toMatchObject({ ok: true, changed: false, requests: 1, diff: [] });
    expect(second.data).toEqual(first.data);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it.each([true, false])(
    'config.ensure sends nothing the second time for any body, even if the appliance merges a PUT: %s',
    async (putMerges) => {
      const { simulator, gateway, items } = await trial({ variants: { putMerges } });
      // A new resource is written as given, with booleans as text.
      const fresh = Object.entries(everything).filter(([, value]) => typeof value !== 'boolean');
      const body = { ...Object.fromEntries(fresh), 'shared-secret': 's3cret-value', below: desired.below };
      const created = await gateway.run('config.ensure', { path: TRIAL, body });
      expect(created.envelope).toMatchObject({ changed: true });
      expect(created.envelope.notCompared).toEqual(['/shared-secret', '/below'].map((field) => ({ path: TRIAL_PATH, field })));
      expect(items.items.get('Ä & 1')?.values.get('shared-secret')).toBe('s3cret-value');
      simulator.requests.length = 0;
      expect((await gateway.run('config.ensure', { path: TRIAL, body: desired })).envelope).toMatchObject({ changed: false, diff: [] });
      expect(listWriteLines(simulator)).toEqual([]);
      const other = {
        ...desired,
        note: 'night',
        port: 21,
        switch: true,
        deep: { inner: { list: [2, 1] } },
        rules: [],
        hosts: ['b', 'a'],
        ports: [81],
      };
      const changed = await gateway.run('config.ensure', { path: TRIAL, body: other });
      expect((changed.envelope.diff as { field: string }[]).map(({ field }) => field)).toEqual([
        '/note',
        '/switch',
        '/port',
        '/hosts',
        '/ports',
        '/deep/inner/list',
        '/rules',
      ]);
      expect(JSON.stringify(changed)).not.toContain('s3cret');
      expect(changed.data).toMatchObject({
        extra: 'kept',
        switch: true,
        port: 21,
        ports: ['81'],
        deep: { on: 'false', inner: { text: 'x' } },
      });
      simulator.requests.length = 0;
      expect((await gateway.run('config.ensure', { path: TRIAL, body: other })).envelope.changed).toBe(false);
      expect(listWriteLines(simulator)).toEqual([]);
    },
  );

  it.each(['Users', 'New'])(
    'config.ensure writes linked parts together with their resource, whether the resource exists or not (%s)',
    async (name) => {
      const { simulator, gateway } = await startSimulatorWithGateway();
      const options = { 'idle-timeout': '33' };
      const input = { path: `users/user-roles/user-role/${name}`, body: { description: 'x', general: { 'session-options': options } } };
      const { envelope, data } = await gateway.run('config.ensure', input);
      expect(envelope.changed).toBe(true);
      expect(data).toMatchObject(input.body);
      const role = simulator.state.configuration.resource('users', 'user-roles', 'user-role', name, 'general', 'session-options');
      expect(role.values.get('idle-timeout')).toBe('33');
      simulator.requests.length = 0;
      expect((await gateway.run('config.ensure', input)).envelope).toMatchObject({ changed: false, diff: [] });
      expect((await gateway.run('config.ensure-all', { resources: [input] })).envelope).toMatchObject({ changed: false, diff: [] });
      expect(listWriteLines(simulator)).toEqual([]);
    },
  );

  it('a dry run of config.ensure reports what would change', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const run = (description: string) =>
      gateway.run('config.ensure', { path: ROLE, body: { description, password: 's3cret-x' } }, { dryRun: true });
    const { data, envelope } = await run('x');
    expect(envelope).toMatchObject({ changed: null, wouldChange: true, dryRun: true, status: null });
    expect(envelope.diff).toEqual([{ path: ROLE_PATH, field: '/description', before: '', after: 'x' }]);
    expect(envelope.plan).toMatchObject([{ method: 'PUT', path: ROLE_PATH, body: { description: 'x' } }]);
    expect(JSON.stringify(envelope)).not.toContain('s3cret');
    expect(data).toEqual({ result: { info: [], warnings: [], errors: [] } });
    expect((await run('')).envelope).toMatchObject({ changed: null, wouldChange: false, plan: [], diff: [] });
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it.each([
    ['another value', (simulator: Simulator) => set(simulator, 'description', 'theirs', 'users', 'user-roles', 'user-role', 'Users')],
    [
      'nothing',
      (simulator: Simulator) => void simulator.state.configuration.collection('users', 'user-roles', 'user-role').items.delete('Users'),
    ],
  ])('config.ensure writes nothing if somebody else changed the resource in between: %s', async (_what, meanwhile) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ method, path }) => method === 'GET' && path === ROLE_PATH, sideEffect: () => meanwhile(simulator) });
    const error = await expectFailure(gateway.run('config.ensure', { path: ROLE, body: { description: 'ours' } }));
    expect(error).toMatchObject({ code: 'CONFLICT', cause: { ok: false, changed: false } });
    expect(error.cause?.diff).toHaveLength(1);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('config.ensure throws CONFLICT if the resource still differs after the write', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({
      match: ({ method }) => method === 'PUT',
      sideEffect: () => set(simulator, 'description', 'theirs', 'users', 'user-roles', 'user-role', 'Users'),
    });
    const error = await expectFailure(gateway.run('config.ensure', { path: ROLE, body: { description: 'ours' } }));
    expect(error).toMatchObject({
      code: 'CONFLICT',
      cause: { changed: true, diff: [{ path: ROLE_PATH, field: '/description', before: 'theirs', after: 'ours' }] },
    });
  });

  it('config.ensure reports what the appliance changed in addition, and a value that the appliance ignored', async () => {
    const { gateway, items } = await trial({ variants: { changesField: 'extra' } });
    items.add(everything as Record<string, never>);
    items.items.get('Ä & 1')?.values.set('extra', 'kept');
    const { envelope } = await gateway.run('config.ensure', { path: TRIAL, body: { note: 'night' } });
    expect(envelope).toMatchObject({
      changed: true,
      diff: [{ field: '/note', before: 'day', after: 'night' }],
      implicit: [{ field: '/extra', before: 'kept', after: 'set by the appliance' }],
      result: { warnings: [{ message: expect.stringContaining('implicitly changed') as string }] },
    });
    const error = await expectFailure(gateway.run('config.ensure', { path: TRIAL, body: { extra: 'mine' } }));
    expect(error).toMatchObject({
      code: 'CONFLICT',
      cause: { diff: [{ field: '/extra', before: 'set by the appliance', after: 'mine' }] },
    });
  });

  it('config.ensure runs only once at a time for each path', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const texts = ['a', 'b', 'c', 'd'];
    const runs = await Promise.all(texts.map((description) => gateway.run('config.ensure', { path: ROLE, body: { description } })));
    expect(runs.map(({ data }) => (data as { description: string }).description)).toEqual(texts);
    expect(listWriteLines(simulator)).toHaveLength(4);
  });

  it.each([{ path: '/', body: {} }, { path: 'users/user-roles/user-role/', body: { name: 'x' } }, { path: ROLE }])(
    'config.ensure refuses %j and writes nothing',
    async (input) => {
      const { simulator, gateway } = await startSimulatorWithGateway();
      expect((await expectFailure(gateway.run('config.ensure', input))).code).toBe('BAD_INPUT');
      expect(listWriteLines(simulator)).toEqual([]);
    },
  );
});

describe('an ensure with concurrent changes', () => {
  const roles = ({ state }: Simulator) => state.configuration.collection('users', 'user-roles', 'user-role');
  const absent = (gateway: AnyGateway, more: object = {}) =>
    gateway.run(
      'config.ensure-all',
      { resources: [{ path: 'users/user-roles/user-role/Unused', absent: true }], 'allow-absent': true },
      more,
    );
  const unused = `/api/v1/configuration/users/user-roles/user-role/Unused`;
  const errorOf = (data: unknown): { code?: string; message?: string } =>
    (asBulkResult(data).results[0] as { error?: { code: string; message: string } }).error ?? {};
  const isPut = ({ method }: { method: string }): boolean => method === 'PUT';

  it('an ensure whose resource is changed meanwhile reports what was sent and what was not', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const theirs = (): void => set(simulator, 'description', 'theirs', 'users', 'user-roles', 'user-role', 'Users');
    simulator.fault({ match: ({ method, path }) => method === 'GET' && path === ROLE_PATH, sideEffect: theirs });
    const before = await expectFailure(gateway.run('config.ensure', { path: ROLE, body: { description: 'ours' } }));
    expect(before.message).toBe('Somebody else changed the resource during the comparison. Nothing was written. Run it again.');
    expect(before.details.sent).toBe(false);
    simulator.fault({ match: isPut, sideEffect: theirs });
    const after = await expectFailure(gateway.run('config.ensure', { path: ROLE, body: { description: 'ours' } }));
    expect(after.message).toBe(
      'The resource was written, but still differs: somebody else changed it meanwhile, or the appliance ignored a part. The difference is in cause.diff.',
    );
    const created = { path: 'users/user-roles/user-role/New', body: { description: 'x', 'shared-secret': 's3cret-x' } };
    simulator.fault({
      match: ({ method, path }) => method === 'GET' && path.endsWith('/New'),
      sideEffect: () => roles(simulator).add({ name: 'New', description: 'theirs' }),
    });
    const reappearedError = await expectFailure(gateway.run('config.ensure', created));
    expect(reappearedError.cause?.diff).toMatchObject([{ field: '', before: null, after: { name: 'New', description: 'theirs' } }]);
  });

  it('config.ensure throws CONFLICT if the resource is deleted meanwhile or reappears after a deletion', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({
      match: ({ method, path }) => method === 'GET' && path === unused,
      skip: 1,
      sideEffect: () => void roles(simulator).items.delete('Unused'),
    });
    const goneError = await absent(gateway);
    expect(asBulkResult(goneError.data)).toMatchObject({ ok: 1 });
    expect(goneError.envelope).toMatchObject({
      changed: false,
      diff: [{ path: unused, field: '', before: { name: 'Unused' }, after: null }],
    });
    roles(simulator).add({ name: 'Unused' });
    simulator.fault({ match: ({ method }) => method === 'DELETE', sideEffect: () => roles(simulator).add({ name: 'Unused' }) });
    const again = await expectFailure(absent(gateway));
    expect(again).toMatchObject({ code: 'CONFLICT', cause: { changed: true } });
    expect(again.message).toContain('The resource was deleted, but exists again: somebody else created it meanwhile.');
  });

  it('config.ensure reports a write that happened even if the resource cannot be read back', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const reads = ({ method, path }: { method: string; path: string }): boolean => method === 'GET' && path === ROLE_PATH;
    simulator.fault({ match: reads, skip: 2, status: 403, times: Infinity });
    const error = await expectFailure(gateway.run('config.ensure', { path: ROLE, body: { description: 'x' } }));
    expect(error).toMatchObject({
      code: 'FORBIDDEN',
      cause: { changed: true },
      details: { sent: true, status: 403, extra: { changed: true } },
    });
    expect(error.message).toContain('The resource was written, but could not be read back to check it: ');
    expect(listWriteLines(simulator)).toEqual([`PUT ${ROLE_PATH}`]);
  });

  it('a dry run of config.ensure plans a deletion without sending it', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { envelope } = await absent(gateway, { dryRun: true });
    expect(envelope).toMatchObject({ wouldChange: true, changed: null, plan: [{ method: 'DELETE', path: unused }], notCompared: [] });
    expect(envelope).not.toHaveProperty('implicit');
    expect([listWriteLines(simulator), roles(simulator).items.has('Unused')]).toEqual([[], true]);
  });

  it('config.ensure stops waiting when it is canceled', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    let release = (): void => undefined;
    simulator.fault({ match: isPut, until: new Promise<void>((resolve) => (release = resolve)) });
    const first = gateway.run('config.ensure', { path: ROLE, body: { description: 'a' } });
    await expect.poll(() => simulator.requests.some(isPut)).toBe(true);
    const stop = new AbortController();
    const second = expectFailure(gateway.run('config.ensure', { path: ROLE, body: { description: 'b' } }, stop.signal));
    setImmediate(() => stop.abort());
    const error = await second;
    expect([error.code, error.message]).toEqual([
      'ABORTED',
      'Canceled while waiting for another change of this resource. Nothing was sent.',
    ]);
    release();
    expect((await first).envelope.changed).toBe(true);
  });

  it('config.ensure refuses a collection before anything is written', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const body of [{ name: 'x' }, {}]) {
      const error = await expectFailure(gateway.run('config.ensure', { path: 'users/user-roles/user-role', body }));
      expect([error.code, error.message]).toEqual([
        'BAD_INPUT',
        'path is the path of a collection. Enter the path of one resource, with its name at the end. Nothing was sent.',
      ]);
    }
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('config.ensure-all writes in the given order, however long each comparison takes', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => (release = resolve));
    simulator.fault({ match: ({ method, path }) => method === 'GET' && path.endsWith('/One'), until });
    const resources = ['One', 'Two'].map((name) => ({ path: `users/user-roles/user-role/${name}`, body: { description: 'x' } }));
    const quiet = { path: ROLE, body: { name: 'Users' }, absent: false };
    const run = gateway.run('config.ensure-all', { resources: [...resources, quiet] });
    await expect.poll(() => simulator.requests.filter(({ path }) => path.endsWith('/Two') || path === ROLE_PATH).length).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(listWriteLines(simulator)).toEqual([]);
    release();
    const { data, envelope } = await run;
    expect(asBulkResult(data)).toMatchObject({ ok: 3 });
    expect(listWriteLines(simulator).map((line) => line.slice(-4))).toEqual(['/One', '/Two']);
    expect((envelope.diff as { path: string }[]).map(({ path }) => path.slice(-4))).toEqual(['/One', '/Two']);
    expect(envelope).not.toHaveProperty('implicit');
  });

  it('config.ensure sends nothing for an absent resource that does not exist, and writes a body with additional fields', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const none = { path: 'users/user-roles/user-role/Nobody', absent: true };
    const { envelope } = await gateway.run('config.ensure-all', { resources: [none], 'allow-absent': true });
    expect(envelope).toMatchObject({ changed: false, diff: [], notCompared: [], requests: 1 });
    simulator.fault({ match: ({ method }) => method === 'DELETE', status: 422 });
    expect(
      errorOf(
        (
          await gateway.run('config.ensure-all', {
            resources: [
              { path: 'users/user-roles/user-role/Unused', absent: true },
              { path: ROLE, body: {} },
            ],
            'allow-absent': true,
          })
        ).data,
      ),
    ).toMatchObject({ code: 'REJECTED' });
  });
});

describe('config.ensure-all', () => {
  const roles = '/api/v1/configuration/users/user-roles/user-role';
  const resources = [
    { path: 'users/user-roles/user-role/New', body: { description: 'new' } },
    { path: ROLE, body: { name: 'Users' } },
    { path: ['users', 'user-roles', 'user-role', 'Unused'], absent: true },
    { path: 'authentication/auth-servers/auth-server/Extra', body: { 'auth-server-type': 'local' } },
    { path: 'authentication/auth-servers/auth-server/Extra/local/settings', body: { 'password-minimum-length': '12' } },
  ];

  it('config.ensure-all writes in order, deletes only if deletion is allowed, and sends nothing the second time', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data, envelope } = await gateway.run('config.ensure-all', { resources, 'allow-absent': true });
    expect(asBulkResult(data)).toMatchObject({ total: 5, ok: 5, failed: 0 });
    expect(asBulkResult(data).results.map(({ item }) => item)).toEqual([
      'users/user-roles/user-role/New',
      ROLE,
      `${roles}/Unused`,
      ...resources.slice(3).map(({ path }) => path),
    ]);
    expect(listWriteLines(simulator)).toEqual([
      `PUT ${roles}/New`,
      `DELETE ${roles}/Unused`,
      'PUT /api/v1/configuration/authentication/auth-servers/auth-server/Extra',
      'PUT /api/v1/configuration/authentication/auth-servers/auth-server/Extra/local/settings',
    ]);
    expect(envelope).toMatchObject({ changed: true });
    expect((envelope.diff as { path: string; field: string }[]).map(({ path, field }) => `${path.split('/').at(-1)}${field}`)).toEqual([
      'New/description',
      'Unused',
      'Extra/auth-server-type',
      'settings/password-minimum-length',
    ]);
    simulator.requests.length = 0;
    const again = await gateway.run('config.ensure-all', { resources, 'allow-absent': true });
    expect(again.envelope).toMatchObject({ changed: false, diff: [], requests: 5 });
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('config.ensure-all plans all items, and continues after a failed item', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const planned = await gateway.run('config.ensure-all', { resources: resources.slice(0, 3), 'allow-absent': true }, { dryRun: true });
    expect(planned.envelope).toMatchObject({ wouldChange: true, changed: null });
    expect(planned.envelope.plan?.map(({ method }) => method).sort()).toEqual(['DELETE', 'PUT']);
    expect(listWriteLines(simulator)).toEqual([]);
    const bad = { path: 'users/nowhere/x', body: { a: 1 } };
    const { data, envelope } = await gateway.run('config.ensure-all', { resources: [bad, resources[0]] });
    expect(asBulkResult(data).results).toMatchObject([{ item: bad.path, ok: false, error: { code: 'NOT_FOUND' } }, { ok: true }]);
    expect(envelope).toMatchObject({ ok: false, changed: true });
  });

  it.each<[string, unknown[]]>([
    ['May delete', [{ path: ROLE, absent: true }]],
    ['resources[0].absent must be true', [{ path: ROLE, absent: true, body: {} }]],
    ['resources[0].absent', [{ path: ROLE, absent: 'true' }]],
    [
      'same path',
      [
        { path: ROLE, body: {} },
        { path: `${ROLE_PATH}/`, body: {} },
      ],
    ],
    [
      'resources[1] has "boddy"',
      [
        { path: ROLE, body: {} },
        { path: `${ROLE}2`, boddy: {} },
      ],
    ],
    ['resources[0].body', [{ path: ROLE }]],
    ['resources[0].path must be text or an array, but is nothing. Nothing was sent.', [{ body: {} }]],
    ['resources[0].body must be an object, but is text. Nothing was sent.', [{ path: ROLE, body: 'x' }]],
    ['resources[0].absent must be true, and body must be missing. Nothing was sent.', [{ path: ROLE, absent: true, body: {} }]],
    [
      'resources[1] has absent: true, which needs allow-absent (May delete). Nothing was sent.',
      [
        { path: `${ROLE}2`, body: {} },
        { path: ROLE, absent: true },
      ],
    ],
    [
      'resources[0] and resources[2] have the same path. Nothing was sent.',
      [
        { path: ROLE, body: {} },
        { path: `${ROLE}2`, body: {} },
        { path: ROLE, body: {} },
      ],
    ],
    [
      'resources[0] has "x", which is unknown. The known keys are path, body and absent. Nothing was sent.',
      [{ path: ROLE, body: {}, x: 1 }],
    ],
    ['path is the root of the configuration, which can only be read.', [{ path: '/', body: {} }]],
    ['resources[0] must be an object', [ROLE]],
  ])('config.ensure-all refuses invalid items before anything is sent: %s', async (words, given) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('config.ensure-all', { resources: given }));
    expect(error.code).toBe('BAD_INPUT');
    expect(error.message).toContain(words);
    expect(simulator.requests).toEqual([]);
  });
});

describe('users.ensure', () => {
  const user = { server: 'System Local', username: 'j.doe', 'password-cleartext': 's3cret-word', fullname: 'Jane', enabled: true };
  const passwordOf = ({ state }: Simulator): unknown =>
    state.configuration
      .collection('authentication', 'auth-servers', 'auth-server', 'System Local', 'local', 'users', 'user')
      .items.get('j.doe')
      ?.values.get('password-cleartext');

  it('users.ensure creates or updates a user, sends nothing if equal, and sends the password only with set-password', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const created = await gateway.run('users.ensure', user);
    expect(created.data).toMatchObject({ username: 'j.doe', fullname: 'Jane', enabled: 'true' });
    expect(created.envelope).toMatchObject({ changed: true, notCompared: [{ field: '/password-cleartext' }] });
    expect(JSON.stringify(created)).not.toContain('s3cret');
    simulator.requests.length = 0;
    expect((await gateway.run('users.ensure', { ...user, 'password-cleartext': 's3cret-other' })).envelope.changed).toBe(false);
    expect(listWriteLines(simulator)).toEqual([]);
    const changed = await gateway.run('users.ensure', { ...user, enabled: 'false', 'password-cleartext': 's3cret-other' });
    expect(changed.envelope.diff).toMatchObject([{ field: '/enabled', before: 'true', after: 'false' }]);
    expect(passwordOf(simulator)).toBe('s3cret-word');
    const set = await gateway.run('users.ensure', { ...user, enabled: false, 'password-cleartext': 's3cret-other', 'set-password': true });
    expect(set.envelope).toMatchObject({ changed: true, diff: [] });
    expect(passwordOf(simulator)).toBe('s3cret-other');
  });

  it('users.ensure accepts several users and names those that cannot be created', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const input = { server: 'System Local', username: ['contractor1', 'nobody'], enabled: true };
    const { data } = await gateway.run('users.ensure', input);
    expect(asBulkResult(data).results).toMatchObject([{ ok: true }, { ok: false, error: { code: 'BAD_INPUT' } }]);
    expect(listWriteLines(simulator)).toEqual([]);
    const run = gateway.run('users.ensure', { server: 'System Local', username: 'contractor1', 'set-password': true });
    expect((await expectFailure(run)).message).toContain('set-password');
    expect((await expectFailure(gateway.run('users.ensure', { ...user, server: 'Nowhere' }))).message).toContain(
      '"Nowhere" does not exist',
    );
  });
});

describe('groups.ensure', () => {
  const catalog = { server: 'Corp AD', directory: 'ad' };
  const names = (data: unknown): string[] => (data as { name: string }[]).map(({ name }) => name);

  it('groups.ensure writes exactly the given list in any order, and sends nothing the second time', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const group = (name: string) => ({ name, group: `CORP\\${name}` });
    const groups = [group('Staff'), group('vpn users')];
    const before = (await gateway.run('groups.list', catalog)).data as { name: string; sid: string }[];
    const dry = await gateway.run('groups.ensure', { ...catalog, groups }, { dryRun: true });
    expect(dry.envelope).toMatchObject({ wouldChange: true, diff: [{ field: '/ad-group' }] });
    expect(listWriteLines(simulator)).toEqual([]);
    const { data, envelope } = await gateway.run('groups.ensure', { ...catalog, groups });
    expect(names(data)).toEqual(['Staff', 'vpn users']);
    expect(envelope).toMatchObject({ changed: true });
    // The id from the directory stays.
    expect((data as { sid: string }[])[1]?.sid).toBe(before.find(({ name }) => name === 'VPN Users')?.sid);
    simulator.requests.length = 0;
    expect((await gateway.run('groups.ensure', { ...catalog, groups: groups.reverse() })).envelope.changed).toBe(false);
    expect(listWriteLines(simulator)).toEqual([]);
    expect((await expectFailure(gateway.run('groups.ensure', { ...catalog, groups: [] }))).code).toBe('BAD_INPUT');
    const nowhere = gateway.run('groups.ensure', { ...catalog, server: 'Nowhere', groups });
    expect((await expectFailure(nowhere)).code).toBe('NOT_FOUND');
    expect(listWriteLines(simulator)).toEqual([]);
    // One of them already exists.
    const other = await gateway.run('groups.ensure', { ...catalog, groups: [group('Staff'), group('Other')] });
    expect([names(other.data), other.envelope.changed]).toEqual([['Staff', 'Other'], true]);
  });
});

describe('policy.ensure-radius-client', () => {
  it('policy.ensure-radius-client creates a client, sends nothing if equal, and writes differences', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const run = (group: string) => gateway.run('policy.ensure-radius-client', { name: 'Switch 3/1', client: { 'location-group': group } });
    expect((await run('Default')).envelope.changed).toBe(true);
    expect((await run('Default')).envelope.changed).toBe(false);
    const { data, envelope } = await run('Guest');
    expect(data).toEqual({ name: 'Switch 3/1', 'location-group': 'Guest' });
    expect(envelope.diff).toMatchObject([{ field: '/location-group', before: 'Default', after: 'Guest' }]);
    expect(listWriteLines(simulator)).toHaveLength(2);
  });
});

describe('missing-ok of an operation', () => {
  const missing: [string, Record<string, unknown>][] = [
    ['config.delete', { path: 'users/user-roles/user-role/Nobody' }],
    ['users.delete', { server: 'System Local', username: 'nobody' }],
    ['policy.delete-snmp-client', { name: 'nobody' }],
    ['certificates.delete', { 'subject-name': 'nobody.example.com' }],
    ['cluster.remove-member', { 'member-name': 'nobody' }],
    ['request.delete', { path: 'configuration/users/user-roles/user-role/Nobody' }],
    ['request.delete', { path: 'system/certificates/device-certificates/nobody.example.com' }],
  ];

  it.each(missing)('missing-ok lets %s of a missing resource succeed, which fails without it', async (operation, input) => {
    const { gateway } = await startSimulatorWithGateway({ cluster: 'active-active' });
    expect((await expectFailure(gateway.run(operation, input))).code).toBe('NOT_FOUND');
    const { envelope, data } = await gateway.run(operation, { ...input, 'missing-ok': true });
    expect(envelope).toMatchObject({ ok: true, changed: false });
    expect(data).toEqual({ result: { info: [], warnings: [], errors: [] } });
  });

  it('missing-ok plans no deletion of a missing resource, but a missing server is still an error', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const path = 'users/user-roles/user-role';
    const dry = async (name: string) =>
      (await gateway.run('config.delete', { path: `${path}/${name}`, 'missing-ok': true }, { dryRun: true })).envelope;
    const input = { path: `configuration/${path}/Nobody`, 'missing-ok': true };
    expect((await gateway.run('request.delete', input, { dryRun: true })).envelope).toMatchObject({ plan: [], wouldChange: false });
    expect(await dry('Nobody')).toMatchObject({ plan: [], wouldChange: false });
    expect(await dry('Unused')).toMatchObject({ plan: [{ method: 'DELETE' }], wouldChange: true });
    const run = gateway.run('users.delete', { server: 'Nowhere', username: 'nobody', 'missing-ok': true });
    expect((await expectFailure(run)).message).toContain('"Nowhere" does not exist');
    expect(listWriteLines(simulator).filter((line) => !line.includes('Nowhere'))).toEqual([]);
  });
});

describe('arrays of objects in an ensure', () => {
  /** Starts an appliance with one resource that is replaced by each PUT. */
  async function startWithResource(initial: JsonObject, store = (body: JsonObject): JsonObject => body) {
    let resource = initial;
    const puts: JsonObject[] = [];
    const server = await startRawServer(({ method, path, body }) => {
      if (!path.endsWith('/users/a')) return httpResponse(404);
      if (method === 'PUT') {
        puts.push(JSON.parse(body) as JsonObject);
        resource = store(JSON.parse(body) as JsonObject);
      }
      return httpResponse(200, JSON.stringify(method === 'GET' ? resource : { result: { info: [], warnings: [], errors: [] } }));
    });
    return { gateway: gatewayFor(server), puts };
  }

  const rules = [
    { name: 'first', action: 'allow', note: 'kept 1' },
    { name: 'second', action: 'allow', note: 'kept 2' },
  ];

  it('config.ensure keeps the other fields of list items with the same name, and shows the result in the difference', async () => {
    const { gateway, puts } = await startWithResource({ rules, owner: 'x' });
    const input = {
      path: 'users/a',
      body: {
        rules: [
          { name: 'second', action: 'deny' },
          { name: 'third', action: 'deny' },
        ],
      },
    };
    const expected = [
      { name: 'second', action: 'deny', note: 'kept 2' },
      { name: 'third', action: 'deny' },
    ];
    const planned = (await gateway.run('config.ensure', input, { dryRun: true })).envelope;
    expect(planned).toMatchObject({ diff: [{ field: '/rules', before: rules, after: expected }] });
    await gateway.run('config.ensure', input);
    expect(puts).toEqual([{ rules: expected, owner: 'x' }]);
    expect((await gateway.run('config.ensure', input)).envelope.changed).toBe(false);
  });

  it('config.ensure keeps the other fields of list items without a name, compared by index', async () => {
    const { gateway, puts } = await startWithResource({ servers: [{ host: 'a', port: '1' }] });
    await gateway.run('config.ensure', { path: 'users/a', body: { servers: [{ host: 'b' }] } });
    expect(puts).toEqual([{ servers: [{ host: 'b', port: '1' }] }]);
  });

  it('config.ensure changes a resource whose only field is an array of texts, and an empty resource', async () => {
    for (const initial of [{ servers: ['a'] }, { servers: [] }, {}]) {
      const { gateway, puts } = await startWithResource(initial);
      await gateway.run('config.ensure', { path: 'users/a', body: { note: 'b' } });
      expect(puts).toEqual([{ ...initial, note: 'b' }]);
    }
  });

  it.each([
    ['1.0', '1'],
    [' text ', 'text'],
    ['TEXT', 'text'],
  ])('config.ensure reports that %j will be written at every run if the appliance stores it as %j', async (sent, stored) => {
    const { gateway } = await startWithResource({ value: 'old' }, () => ({ value: stored }));
    const error = await expectFailure(gateway.run('config.ensure', { path: 'users/a', body: { value: sent } }));
    expect(error).toMatchObject({ code: 'CONFLICT', cause: { changed: true } });
    expect(error.message).toContain(`the appliance made ${JSON.stringify(stored)} of ${JSON.stringify(sent)} in /value.`);
    expect(error.message).toContain('The same value will be written at every run');
  });

  it('config.ensure-all refuses a list that deletes a parent and sets its child, before anything is sent', async () => {
    const { gateway, puts } = await startWithResource({});
    const resources = [
      { path: 'users/a', absent: true },
      { path: 'users/a/b/c', body: { x: '1' } },
    ];
    const error = await expectFailure(gateway.run('config.ensure-all', { resources, 'allow-absent': true }));
    expect(error.code).toBe('BAD_INPUT');
    expect(error.message).toContain('resources[0] has absent: true, but resources[1] is below it and must exist.');
    expect(puts).toEqual([]);
  });
});
