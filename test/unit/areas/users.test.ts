import { describe, expect, it } from 'vitest';
import type { Simulator } from '../../../src/simulator';
import {
  listRequests,
  expectFailure,
  gatewayFor,
  listRequestLines,
  asBulkResult,
  startSimulatorWithGateway,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const SERVER = 'System Local';
const AUTH_SERVERS = '/api/v1/configuration/authentication/auth-servers/auth-server';
const USER = '/api/v1/configuration/authentication/auth-servers/auth-server/System%20Local/local/users/user';

/** What the appliance itself has of a user. */
function stored(simulator: Simulator, username: string): Record<string, unknown> {
  const servers = simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server');
  const user = servers.items.get(SERVER)?.collection('local', 'users', 'user').items.get(username);
  return Object.fromEntries(user?.values ?? []);
}

const bodies = (simulator: Simulator): unknown[] =>
  listRequests(simulator).map(({ body }) => (body === '' ? undefined : (JSON.parse(body) as unknown)));

describe('local users', () => {
  it('local users are created with booleans as text, and read back', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const input = {
      server: SERVER,
      username: 'Büro #1/EU',
      'password-cleartext': 'Start "1" & go',
      enabled: true,
      'one-time-use': 1,
      fullname: 'New',
    };
    const { envelope } = await gateway.run('users.create', input);
    expect(envelope).toMatchObject({ ok: true, changed: true });
    expect(JSON.parse(listRequests(simulator)[0]?.body ?? '')).toEqual({
      username: 'Büro #1/EU',
      'password-cleartext': 'Start "1" & go',
      enabled: 'true',
      'one-time-use': 'true',
      fullname: 'New',
    });
    const { data } = await gateway.run('users.get', { server: SERVER, username: 'Büro #1/EU' });
    expect(data).toMatchObject({ username: 'Büro #1/EU', enabled: 'true', 'one-time-use': 'true' });
    expect(listRequestLines(simulator).at(-1)).toBe(`GET ${USER}/B%C3%BCro%20%231%2FEU`);
  });

  it('local users keep the fields that an update does not name', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const before = await gateway.run('users.get', { server: SERVER, username: 'contractor1' });
    await gateway.run('users.update', { server: SERVER, username: 'contractor1', fullname: '', 'console-access': 'true' });
    const after = await gateway.run('users.get', { server: SERVER, username: 'contractor1' });
    expect(after.data).toEqual({ ...(before.data as object), fullname: '', 'console-access': 'true' });
  });

  it('local users stay unchanged after an empty update or one that is canceled while it waits', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const where = { server: SERVER, username: 'contractor1' };
    expect((await gateway.run('users.update', where)).envelope.changed).toBe(false);
    simulator.fault({ match: ({ method }) => method === 'PUT', delayMs: 200 });
    const cancel = new AbortController();
    const first = gateway.run('users.disable', where);
    const waiting = expectFailure(gateway.run('users.update', { ...where, fullname: 'Nobody' }, cancel.signal));
    cancel.abort();
    expect(await waiting).toMatchObject({ code: 'ABORTED', message: 'Canceled while it waited for another change of this user.' });
    await first;
    expect(listWriteLines(simulator)).toEqual([`PUT ${USER}/contractor1/enabled`]);
  });

  it.each(['update', 'enable', 'disable'])('%s never creates a local user', async (operation) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run(`users.${operation}`, { server: SERVER, username: 'nobody' }));
    expect(error.code).toBe('NOT_FOUND');
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('local users are disabled, enabled and deleted', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const where = { server: SERVER, username: 'jürgen.müller' };
    await gateway.run('users.disable', where);
    expect((await gateway.run('users.get', where)).data).toMatchObject({ enabled: 'false' });
    await gateway.run('users.enable', where);
    expect((await gateway.run('users.get', where)).data).toMatchObject({ enabled: 'true' });
    await gateway.run('users.delete', where);
    expect((await expectFailure(gateway.run('users.get', where))).code).toBe('NOT_FOUND');
  });

  it('local users are listed as an array, also when there is none', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { data } = await gateway.run('users.list', { server: SERVER });
    expect((data as unknown[]).length).toBe(3);
    for (const username of ['contractor1', 'jürgen.müller', 'guest 50% / #1'])
      await gateway.run('users.delete', { server: SERVER, username });
    expect((await gateway.run('users.list', { server: SERVER })).data).toEqual([]);
  });

  it('the fields of a local user are checked before anything is sent', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const wrong: [Record<string, unknown>, string][] = [
      [{ server: SERVER, username: 'a' }, 'password-cleartext'],
      [{ server: SERVER, username: 'a', 'password-cleartext': 'p', enabled: 'yes' }, 'enabled'],
      [{ server: SERVER, username: {}, 'password-cleartext': 'p' }, 'username'],
      [{ server: '', username: 'a', 'password-cleartext': 'p' }, 'server'],
      [{ server: SERVER, username: 'a', 'password-cleartext': 'p', color: 'red' }, 'color'],
    ];
    for (const [input, field] of wrong) {
      const error = await expectFailure(gateway.run('users.create', input));
      expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining(field)]);
    }
    expect(simulator.requests).toEqual([]);
  });

  it('a local user operation never shows the password, even if the appliance quotes it', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const secret = 'grün & "geheim"';
    await gateway.run('system.info');
    simulator.fault({ status: 422, body: JSON.stringify({ result: { errors: [{ message: `password ${secret} is too weak` }] } }) });
    const error = await expectFailure(gateway.run('users.create', { server: SERVER, username: 'a', 'password-cleartext': secret }));
    expect(error.code).toBe('REJECTED');
    expect(error.message).toContain('is too weak');
    expect(JSON.stringify([error.message, error.cause])).not.toContain('geheim');
    const planned = await gateway.run('users.create', { server: SERVER, username: 'a', 'password-cleartext': secret }, { dryRun: true });
    expect(planned.envelope.plan).toHaveLength(1);
    expect(JSON.stringify(planned)).not.toContain('geheim');
  });
});

describe.each([true, false])('policy appliance whose PUT merges: %s', (putMerges) => {
  const table = { department: 'Sales', rooms: ['1', '2'], nested: { a: 1 } };
  const variants = { userFields: 'policy', putMerges } as const;
  const where = { server: SERVER, username: 'contractor1' };
  const further = { 'user-timezone': 'Europe/Berlin', guestcreatedby: 'front desk', 'attributes-table': table };

  it('users.update of one field keeps all other fields, because it writes to the path of that field', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants });
    await gateway.run('users.update', { ...where, more: further });
    const before = stored(simulator, 'contractor1');
    simulator.requests.length = 0;
    await gateway.run('users.disable', where);
    await gateway.run('users.update', { ...where, fullname: 'Carla' });
    await gateway.run('users.update', { ...where, more: { guestcreatedby: 'nobody' } });
    await gateway.run('users.update', { ...where, 'password-cleartext': 'another one' });
    await gateway.run('users.enable', where);
    const path = `${USER}/contractor1`;
    expect(listWriteLines(simulator)).toEqual(
      ['enabled', 'fullname', 'guestcreatedby', 'password-cleartext', 'enabled'].map((field) => `PUT ${path}/${field}`),
    );
    expect(listRequestLines(simulator).filter((line) => line === `GET ${path}`)).toHaveLength(5);
    expect(bodies(simulator)[1]).toEqual({ enabled: 'false' });
    expect(stored(simulator, 'contractor1')).toEqual({
      ...before,
      fullname: 'Carla',
      guestcreatedby: 'nobody',
      'password-cleartext': 'another one',
    });
  });

  it('users.update of several fields keeps all other fields, because it writes the whole user', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants });
    await gateway.run('users.update', { ...where, more: further });
    const before = stored(simulator, 'contractor1');
    await gateway.run('users.update', { ...where, fullname: 'Carla', enabled: false });
    expect(stored(simulator, 'contractor1')).toEqual({ ...before, fullname: 'Carla', enabled: 'false' });
    const sent = bodies(simulator).at(-1) as Record<string, unknown>;
    expect(sent['attributes-table']).toEqual(table);
    expect(sent).not.toHaveProperty('password-cleartext');
  });

  it('users.create sends additional fields unchanged', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants });
    await gateway.run('users.create', { server: SERVER, username: 'new', 'password-cleartext': 'p', enabled: true, more: further });
    expect(bodies(simulator)).toEqual([{ username: 'new', 'password-cleartext': 'p', enabled: 'true', ...further }]);
  });
});

describe('password in an encrypted form', () => {
  const where = { server: SERVER, username: 'contractor1' };
  const shown = (simulator: Simulator): void =>
    simulator.fault({
      match: ({ method }) => method === 'GET',
      times: 9,
      body: (answer) => answer.replace(/}$/, ',"password-encrypted":"3u+UR6n8"}'),
    });
  const sent = async (input: object): Promise<unknown> => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    shown(simulator);
    // This appliance does not take it back; what was sent is what counts.
    await gateway.run('users.update', { ...where, ...input }).catch(() => undefined);
    return bodies(simulator).at(-1);
  };

  it('an encrypted password is sent back with the user unless a new password is set, and never appears in a plan', async () => {
    expect(await sent({ fullname: 'a', enabled: true })).toMatchObject({ 'password-encrypted': '3u+UR6n8' });
    expect(await sent({ fullname: 'a', 'password-cleartext': 'p' })).not.toHaveProperty('password-encrypted');
    const { simulator, gateway } = await startSimulatorWithGateway();
    shown(simulator);
    const { envelope } = await gateway.run('users.update', { ...where, fullname: 'a', enabled: true }, { dryRun: true });
    expect(envelope.plan).toHaveLength(1);
    expect(JSON.stringify(envelope)).not.toContain('3u+UR6n8');
  });
});

describe('two simultaneous updates of one user', () => {
  it('two simultaneous updates of one user both take effect', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ delayMs: 5 });
    const where = { server: SERVER, username: 'contractor1' };
    await Promise.all([
      gateway.run('users.update', { ...where, fullname: 'Carla', 'console-access': true }),
      gateway.run('users.update', { ...where, enabled: false, 'one-time-use': true }),
    ]);
    expect(stored(simulator, 'contractor1')).toMatchObject({
      fullname: 'Carla',
      'console-access': 'true',
      enabled: 'false',
      'one-time-use': 'true',
    });
  });

  it('two simultaneous updates do not create a user again that is deleted between them', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ delayMs: 5 });
    const where = { server: SERVER, username: 'contractor1' };
    const [, updated] = await Promise.allSettled([
      gateway.run('users.delete', where),
      gateway.run('users.update', { ...where, enabled: false, 'one-time-use': true }),
    ]);
    expect(updated).toMatchObject({ status: 'rejected', reason: { code: 'NOT_FOUND' } });
    expect(stored(simulator, 'contractor1')).toEqual({});
  });
});

describe('users.list', () => {
  it.each(['list', 'link'] as const)(
    'users.list reads the list one level up if the collection does not exist (%s)',
    async (collectionInParent) => {
      const { simulator, gateway } = await startSimulatorWithGateway({
        variants: { usersAt: 'users', userEntries: 'whole', collectionInParent },
      });
      const run = gateway.run('users.list', { server: SERVER });
      if (collectionInParent === 'link') {
        // A link to what is not there is no list.
        expect((await expectFailure(run)).code).toBe('BAD_RESPONSE');
        return;
      }
      const { data } = await run;
      expect((data as { username: string }[]).map(({ username }) => username)).toEqual(['contractor1', 'jürgen.müller', 'guest 50% / #1']);
      expect(listRequestLines(simulator)).toEqual([`GET ${USER}`, `GET ${USER.slice(0, -5)}`]);
    },
  );

  it.each([
    ['in an object', { users: { user: [{ username: 'a', 'password-encrypted': 'x', 'password-cleartext': 'y' }] } }, [{ username: 'a' }]],
    ['as an array of its own', { users: [{ username: 'a' }, { username: 'b' }] }, [{ username: 'a' }, { username: 'b' }]],
    [
      'of one that stands alone',
      { user: { username: 'a', 'old-password-cleartext': 'x' } },
      [{ username: 'a', 'old-password-cleartext': 'x' }],
    ],
    ['of one text', { user: 'a' }, [{ name: 'a', href: null }]],
    ['of nothing', {}, []],
    ['of a user that has a name too', { user: [{ username: 'a', name: 'A' }] }, [{ username: 'a', name: 'A' }]],
    ['with a name that is none', { user: [{ name: 7, 'password-cleartext-age': 1 }] }, [{ name: 7, 'password-cleartext-age': 1 }]],
    ['of links alone', { user: [{ href: '/x' }, { href: '/y' }] }, [{ href: '/x' }, { href: '/y' }]],
    ['of one link', { user: [{ href: '/x' }] }, undefined],
    ['of numbers', { user: [7, 8] }, undefined],
  ])('users.list accepts a list %s', async (_what, document, expected) => {
    const gateway = gatewayFor(await startRawServer(() => httpResponse(200, JSON.stringify(document))));
    const run = gateway.run('users.list', { server: SERVER });
    if (expected) expect((await run).data).toEqual(expected);
    else {
      const error = await expectFailure(run);
      expect(error).toMatchObject({
        code: 'BAD_RESPONSE',
        message: 'The list of users from the appliance contains something else than users. The list was discarded.',
      });
      expect(error.details.sent).toBe(true);
    }
  });

  it('users.list does not try the parent path after another error', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path === USER, times: 9, status: 403 });
    expect((await expectFailure(gateway.run('users.list', { server: SERVER }))).code).toBe('FORBIDDEN');
    expect(listRequestLines(simulator)).toEqual([`GET ${USER}`]);
  });
});

describe('a missing user or server', () => {
  const wrong = { server: 'No such "server"', username: 'j.doe' };
  const input = { 'password-cleartext': 'p' };

  it.each(['get', 'update', 'enable', 'disable', 'delete', 'create'])(
    'an operation of gateway-users names the missing server: %s',
    async (operation) => {
      const { simulator, gateway } = await startSimulatorWithGateway();
      const error = await expectFailure(gateway.run(`users.${operation}`, { ...wrong, ...(operation === 'create' && input) }));
      expect([error.code, error.cause?.status]).toEqual(['NOT_FOUND', 404]);
      expect(error.message).toMatch(/^The authentication server "No such \\"server\\"" does not exist on this appliance/);
      expect(listRequestLines(simulator).at(-1)).toBe(`GET ${AUTH_SERVERS}/No%20such%20%22server%22`);
    },
  );

  it.each(['get', 'update', 'enable', 'disable', 'delete'])(
    'an operation of gateway-users names the missing user: %s',
    async (operation) => {
      const { simulator, gateway } = await startSimulatorWithGateway();
      const error = await expectFailure(gateway.run(`users.${operation}`, { server: SERVER, username: 'nobody' }));
      expect([error.code, error.message]).toEqual([
        'NOT_FOUND',
        expect.stringMatching(/^The user "nobody" does not exist on the authentication server "System Local"/),
      ]);
      // What the appliance says is not lost.
      expect(error.message).toContain('The appliance says: The resource');
      expect(error.cause?.request).toMatchObject({ path: `${USER}/nobody` });
      expect(listRequestLines(simulator)).toHaveLength(2);
    },
  );

  it.each([
    ['nothing', '', ''],
    ['two things', '{"result":{"errors":[{"message":"One."},{"message":"Two."}]}}', ' The appliance says: One. Two.'],
  ])('an operation of gateway-users shows the message of the appliance for a missing user or server: %s', async (_what, body, words) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path.endsWith('/nobody'), status: 404, body });
    expect((await expectFailure(gateway.run('users.get', { server: SERVER, username: 'nobody' }))).message).toBe(
      `The user "nobody" does not exist on the authentication server "System Local". Check the user name.${words}`,
    );
  });

  it('an operation of gateway-users reports a server of another type', async () => {
    const { gateway } = await startSimulatorWithGateway();
    for (const operation of ['list', 'create']) {
      const error = await expectFailure(
        gateway.run(`users.${operation}`, { server: 'Corp AD', ...(operation === 'create' && { username: 'a', ...input }) }),
      );
      expect([error.code, error.message]).toEqual(['NOT_FOUND', expect.stringContaining('"Corp AD" has no local users')]);
    }
  });

  it('users.update returns the error of the appliance if the server cannot be read, and looks for a cause only after an error', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path === `${AUTH_SERVERS}/System%20Local`, status: 403 });
    const error = await expectFailure(gateway.run('users.get', { server: SERVER, username: 'nobody' }));
    expect([error.code, error.message]).toEqual(['NOT_FOUND', expect.stringContaining('nothing there (404)')]);
    simulator.requests.length = 0;
    await gateway.run('users.get', { server: SERVER, username: 'contractor1' });
    expect(listRequestLines(simulator)).toHaveLength(1);
  });
});

describe('bulk changes of users', () => {
  const people = ['contractor1', 'jürgen.müller', 'guest 50% / #1'];

  it('a bulk change creates users with individual or common fields', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { userFields: 'policy' } });
    const users = [
      { username: 'a', 'password-cleartext': 'one', enabled: false, more: { guestcreatedby: 'x' } },
      { username: 7, fullname: 'Seven', department: 'Sales', enabled: null, 'one-time-use': undefined, more: { guestcreatedby: 'y' } },
    ];
    const { data, envelope } = await gateway.run('users.create', {
      server: SERVER,
      username: users,
      'password-cleartext': 'for all',
      enabled: true,
    });
    expect(data).toEqual({
      total: 2,
      ok: 2,
      failed: 0,
      results: [
        { item: 'a', ok: true, status: 201 },
        { item: '7', ok: true, status: 201 },
      ],
    });
    expect(envelope).toMatchObject({ ok: true, changed: true, ignored: ['department'] });
    expect(stored(simulator, 'a')).toMatchObject({ 'password-cleartext': 'one', enabled: 'false', guestcreatedby: 'x' });
    expect(stored(simulator, '7')).toMatchObject({ 'password-cleartext': 'for all', enabled: 'true', fullname: 'Seven' });
    expect(JSON.stringify([data, envelope])).not.toContain('for all');
  });

  it('bulk changes of users update, disable, enable and delete users by name or by record', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const results = async (operation: string, username: unknown, more: object = {}): Promise<unknown> => {
      const { data } = await gateway.run(`users.${operation}`, { server: SERVER, username, ...more });
      return asBulkResult(data).results.map(({ item, ...rest }) => ['ok' in rest && rest.ok, item]);
    };
    const all = people.map((name) => [true, name]);
    const whole = await Promise.all(
      people.map(async (username) => (await gateway.run('users.get', { server: SERVER, username })).data as object),
    );
    expect(await results('disable', whole)).toEqual(all);
    expect(people.map((name) => stored(simulator, name)['enabled'])).toEqual(['false', 'false', 'false']);
    expect(await results('enable', [...people, people[0]])).toEqual(all);
    expect(await results('update', [{ username: people[0], fullname: 'First' }, people[1]], { fullname: 'Second' })).toEqual(
      all.slice(0, 2),
    );
    expect(people.slice(0, 2).map((name) => stored(simulator, name)['fullname'])).toEqual(['First', 'Second']);
    // The simulator lists them as names with links, as some releases do.
    const listed = (await gateway.run('users.list', { server: SERVER })).data;
    expect(listed).toContainEqual(expect.objectContaining({ name: people[0], href: expect.any(String) as unknown }));
    expect((await results('enable', listed)) as unknown[]).toEqual(expect.arrayContaining(all));
    expect(await results('delete', people)).toEqual(all);
    expect((await gateway.run('users.list', { server: SERVER })).data).toEqual([]);
  });

  it.each([
    ['texts', ['a.b', 'c.d']],
    ['objects with a name', [{ name: 'a.b' }, { name: 'c.d' }]],
    [
      'links that are null',
      [
        { name: 'a.b', href: null },
        { name: 'c.d', href: null },
      ],
    ],
  ])('a bulk change accepts users from a list as %s, without links', async (_what, user) => {
    const server = await startRawServer(({ method, path }) => {
      if (method !== 'GET') return httpResponse(204);
      return httpResponse(200, JSON.stringify(path.endsWith('/user') ? { user } : { enabled: 'true' }));
    });
    const gateway = gatewayFor(server);
    const { data } = await gateway.run('users.list', { server: SERVER });
    expect(data).toEqual([
      { name: 'a.b', href: null },
      { name: 'c.d', href: null },
    ]);
    const disabled = await gateway.run('users.disable', { server: SERVER, username: data });
    expect(disabled.data).toMatchObject({ ok: 2, results: [{ item: 'a.b' }, { item: 'c.d' }] });
    expect(disabled.envelope.ignored).toBeUndefined();
  });

  it('a bulk change of one user returns a list of results, and a bulk change of no users succeeds', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const operation of ['create', 'update', 'enable', 'disable', 'delete']) {
      const { data, envelope } = await gateway.run(`users.${operation}`, { server: SERVER, username: [] });
      expect(data).toEqual({ total: 0, ok: 0, failed: 0, results: [] });
      expect(envelope).toMatchObject({ ok: true, changed: false, request: null });
    }
    expect(listRequestLines(simulator)).toEqual([]);
    expect((await gateway.run('users.disable', { server: SERVER, username: ['contractor1'] })).data).toMatchObject({ total: 1, ok: 1 });
    expect((await gateway.run('users.disable', { server: SERVER, username: 'contractor1' })).data).toHaveProperty('result');
  });

  it('a bulk change of users continues after one user fails, fails if all fail, and checks the server once', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const some = await gateway.run('users.delete', { server: SERVER, username: ['nobody', 'contractor1', 'nobody else'] });
    expect(some.data).toMatchObject({ total: 3, ok: 1, failed: 2 });
    expect(asBulkResult(some.data).results[0]).toMatchObject({
      item: 'nobody',
      ok: false,
      error: { code: 'NOT_FOUND', message: expect.stringContaining('"nobody"') as string },
    });
    expect(some.envelope).toMatchObject({ ok: false, changed: true });
    expect(listRequestLines(simulator).filter((line) => line === `GET ${AUTH_SERVERS}/System%20Local`)).toHaveLength(1);
    const error = await expectFailure(gateway.run('users.enable', { server: SERVER, username: ['x', 'y'] }));
    expect(error).toMatchObject({
      code: 'NOT_FOUND',
      cause: {
        ok: false,
        changed: false,
        results: [
          { item: 'x', ok: false },
          { item: 'y', ok: false },
        ],
      },
    });
  });

  it('a bulk change of more than max users is rejected before anything is sent', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const username = Array.from({ length: 26 }, (_, index) => `u${index}`);
    for (const operation of ['update', 'enable', 'disable', 'delete']) {
      const error = await expectFailure(gateway.run(`users.${operation}`, { server: SERVER, username }));
      expect([error.code, error.message]).toEqual(['LIMIT', expect.stringMatching(/^26 users .* 25\. Nothing was done/)]);
      expect(error.details.sent).toBe(false);
    }
    expect((await expectFailure(gateway.run('users.create', { server: SERVER, username, 'password-cleartext': 'p', max: 1 }))).code).toBe(
      'LIMIT',
    );
    expect(simulator.requests).toEqual([]);
    const { data } = await gateway.run('users.create', { server: SERVER, username, 'password-cleartext': 'p', max: 26 });
    expect(asBulkResult(data).ok).toBe(26);
  });

  it.each<[string, object, RegExp]>([
    ['create', { username: [{ username: 'a' }] }, /^username\[0\] has no password-cleartext/],
    ['create', { username: ['a', {}], 'password-cleartext': 'p' }, /^username\[1\] has no username/],
    ['create', { username: [{ name: 'a' }], 'password-cleartext': 'p' }, /^username\[0\] has no username/],
    ['create', { username: [{ name: 'a', href: 7 }], 'password-cleartext': 'p' }, /^username\[0\] has no username/],
    ['create', { username: [{ name: 'a', href: null, username: '' }], 'password-cleartext': 'p' }, /^username\[0\] has no username/],
    ['create', { username: { fullname: 'x' }, 'password-cleartext': 'p' }, /^username has no username/],
    [
      'create',
      { username: [{ username: 'a', enabled: 'perhaps' }], 'password-cleartext': 'p' },
      /^username\[0\]\.enabled must be true or false/,
    ],
    [
      'create',
      { username: 'a', 'password-cleartext': 'p', fullname: 'x', more: { fullname: 'y' } },
      /^more\.fullname duplicates the field of that name/,
    ],
    ['create', { username: 'a', 'password-cleartext': 'p', more: { username: 'b' } }, /^more\.username duplicates the field of that name/],
    [
      'update',
      { username: [{ username: 'a', enabled: true }], more: { enabled: 'x' } },
      /^more\.enabled duplicates the field of that name/,
    ],
    ['delete', { username: ['a', '..'] }, /".."/],
    ['disable', { username: [true] }, /^username\[0\] must be text or an object/],
    ['enable', { username: [{ username: '' }] }, /^username\[0\] has no username/],
  ])('the bulk operation %s of %j is rejected before anything is sent', async (operation, input, words) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run(`users.${operation}`, { server: SERVER, ...input }));
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringMatching(words)]);
    expect(simulator.requests).toEqual([]);
  });

  it('a bulk change with missing-ok looks for each user only in a dry run', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const dry = async (username: string, missing: boolean) =>
      (await gateway.run('users.delete', { server: SERVER, username, 'missing-ok': missing }, { dryRun: true })).envelope.plan;
    expect(await dry('nobody', true)).toEqual([]);
    expect(await dry('contractor1', true)).toEqual([{ method: 'DELETE', path: `${USER}/contractor1` }]);
    simulator.requests.length = 0;
    expect(await dry('nobody', false)).toEqual([{ method: 'DELETE', path: `${USER}/nobody` }]);
    expect(listRequestLines(simulator)).toEqual([]);
    for (const changed of [true, false]) {
      const { envelope } = await gateway.run('users.delete', { server: SERVER, username: 'contractor1', 'missing-ok': true });
      expect(envelope.changed).toBe(changed);
    }
    expect(listRequestLines(simulator)[0]).toBe(`DELETE ${USER}/contractor1`);
  });

  it('a dry run of a bulk change reads the users and masks passwords', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const created = await gateway.run(
      'users.create',
      { server: SERVER, username: ['a', { username: 'b', 'password-cleartext': 'geheim-b' }], 'password-cleartext': 'geheim-a' },
      { dryRun: true },
    );
    expect(created.envelope.plan).toHaveLength(2);
    expect(JSON.stringify(created)).not.toContain('geheim');
    const disabled = await gateway.run('users.disable', { server: SERVER, username: ['contractor1', 'nobody'] }, { dryRun: true });
    expect(disabled.envelope.plan).toEqual([{ method: 'PUT', path: `${USER}/contractor1/enabled`, body: { enabled: 'false' } }]);
    expect(asBulkResult(disabled.data).results[0]).toEqual({ item: 'contractor1', planned: true });
    expect(listWriteLines(simulator)).toEqual([]);
  });
});

describe('users.reset-one-time-password', () => {
  it('users.reset-one-time-password resets the registration of exactly that user, and sends no body', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const input = { server: 'Second Factor TOTP', username: 'jürgen/müller' };
    const { envelope } = await gateway.run('users.reset-one-time-password', input);
    expect(simulator.state.undocumented.totpActions).toEqual(['reset Second Factor TOTP users jürgen/müller']);
    expect(envelope.summary).toBe('Reset the one-time password of jürgen/müller on Second Factor TOTP.');
    expect(envelope.request).toEqual({
      method: 'PUT',
      path: '/api/v1/totp/Second%20Factor%20TOTP/users/j%C3%BCrgen%2Fm%C3%BCller',
      query: { operation: 'reset' },
    });
  });

  it('users.reset-one-time-password sends nothing in a dry run', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('users.reset-one-time-password', { server: 'T', username: 'j.doe' }, { dryRun: true });
    expect(simulator.state.undocumented.totpActions).toEqual([]);
  });
});
