import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { areas } from '../../../src/areas';
import { readResourceLinks } from '../../../src/areas/links';
import { GatewayError } from '../../../src/model/error';
import {
  objectLookups,
  selectFirstItemsByName,
  selectFirstItems,
  listObjects,
  type RunReadOperation,
} from '../../../src/areas/object-lookup';
import type { SimulatorOptions } from '../../../src/simulator';
import { expectFailure, startSimulatorWithGateway } from '../../helpers/simulated-appliance';
import { createTemporaryFolder } from '../../helpers/snapshot';

async function reader(options: SimulatorOptions = {}): Promise<RunReadOperation> {
  const { gateway } = await startSimulatorWithGateway(options);
  return async (operation, input = {}) => (await gateway.run(operation, input)).data;
}

const values = async (kind: string, read: RunReadOperation, given: Record<string, string> = {}): Promise<string[]> =>
  (await listObjects(kind, given, read)).map(({ value }) => value);

/** What is made up, typed off or computed: nothing on the appliance has that name yet, or the field names a place of this machine. */
const NAMES_NOTHING = [
  ...['config.resources', 'users.fullname', 'administrators.address', 'administrators.netmask', 'administrators.idle-timeout'],
  ...['administrators.max-timeout', 'administrators.reminder-time', 'certificates.subject-common-name', 'certificates.certificate'],
  ...['cluster.cluster-name', 'cluster.member-name', 'cluster.member-address', 'cluster.member-ip'],
  ...['cluster.member-netmask', 'cluster.member-gateway', 'cluster.member-external-ip', 'cluster.member-external-netmask'],
  ...['cluster.member-external-gateway', 'transfer.xml', 'transfer.data', 'contain.source-ip'],
  ...['journal.since', 'journal.until', 'request.body', 'login.resumeId'],
];

const OF_NODE_RED: readonly string[] = ['path', 'appliance', 'operation'];

describe('object lookups', () => {
  it('object lookups exist for every field that names an object, so that users can pick from a list', () => {
    const silent = areas.flatMap(({ name: area, operations }) =>
      Object.values(operations).flatMap(({ fields }) =>
        Object.entries(fields).flatMap(([name, { kind, names, known, choices, secret, guard }]) => {
          const text = ['text', 'list', 'records', 'names', 'path', 'data', 'content'].includes(kind);
          return !text || guard || secret || names !== undefined || known || choices ? [] : [`${area}.${name}`];
        }),
      ),
    );
    expect([...new Set(silent)].sort()).toEqual([...NAMES_NOTHING].sort());
  });

  it('an object lookup exists for every kind of object that a field can name', () => {
    const fields = areas.flatMap(({ operations }) => Object.values(operations).flatMap((operation) => Object.values(operation.fields)));
    const named = new Set(fields.flatMap(({ names }) => (names === undefined || OF_NODE_RED.includes(names) ? [] : [names])));
    expect(named.size).toBeGreaterThan(10);
    for (const name of named) expect(Object.keys(objectLookups), name).toContain(name);
  });

  it.each([
    ['local-server', {}, 'System Local'],
    ['directory-server', {}, 'Corp AD'],
    ['auth-server', {}, 'Corp SAML'],
    ['local-user', { server: 'System Local' }, 'jürgen.müller'],
    ['directory-group', { server: 'Corp AD', directory: 'ad' }, 'VPN Users'],
    ['admin-realm', {}, 'Admin Users'],
    ['admin-role', {}, '.Administrators'],
    ['user-realm', {}, 'Büro #1 / EU'],
    ['user-role', {}, 'Büro #1/EU & 50%'],
    ['radius-client', {}, 'WLAN Büro/EU #2'],
    ['snmp-client', {}, 'access switch 2'],
    ['cluster-member', {}, 'gateway-1-b'],
    ['interface', {}, '<Internal Port>'],
  ])('the object lookup lists each %s', async (kind, given, one) => {
    expect(await values(kind, await reader({ cluster: 'active-passive' }), given as Record<string, string>)).toContain(one);
  });

  it('the object lookup distinguishes local servers from directory servers', async () => {
    const read = await reader();
    expect(await values('local-server', read)).not.toContain('Corp AD');
    expect(await values('directory-server', read)).toEqual(['Corp AD', 'Partner LDAP']);
  });

  it('the object lookup lists sessions with distinguishing details, and each user once', async () => {
    const read = await reader({ sessions: 250 });
    const sessions = await listObjects('session', {}, read);
    expect(sessions).toHaveLength(250);
    expect(sessions[0]?.note).toMatch(/\d+\.\d+\.\d+\.\d+/);
    const users = await values('session-user', read);
    expect(new Set(users).size).toBe(users.length);
    expect(users.length).toBeGreaterThan(0);
  });

  it('the object lookup lists backups and journal entries, the newest first', async () => {
    const folder = createTemporaryFolder();
    const { gateway } = await startSimulatorWithGateway({}, { journal: join(folder, 'journal') });
    const read: RunReadOperation = async (operation, input = {}) => (await gateway.run(operation, input)).data;
    for (let time = 0; time < 2; time++) await gateway.run('backup.run', { folder });
    const made = (await read('backup.list', { folder })) as { backup: string }[];
    const backups = await listObjects('backup', { folder }, read);
    expect(backups.map(({ value }) => value)).toEqual(['latest', ...made.map(({ backup }) => backup)]);
    expect(selectFirstItems('backup', backups, 2)).toEqual(backups.slice(0, 2));
    const user = { server: 'System Local', username: 'contractor1' };
    await gateway.run('users.disable', user, { initiator: { actor: 'e.shift' } });
    await gateway.run('users.enable', user);
    const entries = await listObjects('journal-entry', {}, read);
    expect(entries.map(({ note = '' }) => note.split(', ')[0])).toEqual(['users.enable', 'users.disable']);
    expect((await gateway.run('journal.undo', { id: entries[0]?.value })).data).toMatchObject({ ok: 1 });
    expect(await values('journal-actor', read)).toEqual(['e.shift']);
    expect(await expectFailure(listObjects('journal-entry', {}, await reader()))).toMatchObject({ code: 'BAD_CONFIG' });
  });

  it('the object lookup lists contained people by id and by name', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 5 });
    const read: RunReadOperation = async (operation, input = {}) => (await gateway.run(operation, input)).data;
    await gateway.run('contain.contain', { name: 'j.doe' });
    await gateway.run('contain.contain', { 'source-ip': '203.0.113.250' });
    expect(await values('contained-name', read)).toEqual(expect.arrayContaining(['j.doe', '203.0.113.250']));
    expect(await values('contained', read)).toHaveLength(2);
  });

  it('the object lookup lists named users and the client kinds of a license server', async () => {
    const server = await reader({ role: 'license-server' });
    expect(await values('client-kind', server)).toEqual(['gateway', 'policy']);
    expect((await values('named-user', server, { 'client-kind': 'gateway' })).length).toBeGreaterThan(0);
    expect(await values('client-kind', await reader())).toEqual([]);
  });

  it('the object lookup names a missing field or an unknown kind in its error', async () => {
    const read = await reader();
    expect(await expectFailure(listObjects('local-user', {}, read))).toMatchObject({
      code: 'BAD_INPUT',
      message: 'This list needs a value for server.',
    });
    expect((await expectFailure(listObjects('toString', {}, read))).code).toBe('BAD_INPUT');
  });

  it('the object lookup reports that an appliance has no such list', async () => {
    expect(await expectFailure(listObjects('certificate', {}, await reader()))).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching(/no list/) as string,
    });
  });

  it('object lookups do not sort items that are not shown', () => {
    const called = (...values: string[]) => values.map((value) => ({ value }));
    const shuffled = called('user10', 'Ärger', 'user9', 'zoe', 'User2', 'anna', 'user100', 'bob');
    const sorted = called('anna', 'Ärger', 'bob', 'User2', 'user9', 'user10', 'user100', 'zoe');
    expect(selectFirstItemsByName(shuffled, 100)).toEqual(sorted);
    for (const most of [1, 3, 7]) expect(selectFirstItemsByName(shuffled, most)).toEqual(sorted.slice(0, most));
    const many = Array.from({ length: 2000 }, (_, at) => ({ value: `user${(at * 7919) % 2003}` }));
    const numbers = many.map(({ value }) => Number(value.slice(4))).sort((a, b) => a - b);
    expect(selectFirstItemsByName(many, 100).map(({ value }) => value)).toEqual(numbers.slice(0, 100).map((at) => `user${at}`));
  });
});

describe('listObjects', () => {
  /** Answers each read by its name and input, and notes what was asked for. */
  const answering = (answers: Record<string, unknown>) => {
    const asked: string[] = [];
    const read: RunReadOperation = (operation, input = {}) => {
      const key = `${operation} ${JSON.stringify(input)}`;
      asked.push(key);
      const answer = key in answers ? answers[key] : answers[operation];
      return answer instanceof GatewayError ? Promise.reject(answer) : Promise.resolve(answer);
    };
    return { read, asked };
  };
  const listed = async (kind: string, answers: Record<string, unknown>, given: Record<string, unknown> = {}) => {
    const { read, asked } = answering(answers);
    return { things: await listObjects(kind, given, read), asked };
  };

  it.each<[string, Record<string, unknown>, Record<string, unknown>, string[], unknown[]]>([
    [
      'auth-server',
      {},
      { 'config.get': { 'auth-server': [{ name: 'A', href: '/a' }, { name: '' }, { name: 'A', href: '/b' }] } },
      ['config.get {"path":"authentication/auth-servers/auth-server"}'],
      [{ value: 'A' }],
    ],
    ['admin-realm', {}, { 'config.get': 'odd' }, ['config.get {"path":"administrators/admin-realms/realm"}'], []],
    ['admin-role', {}, { 'config.get': {} }, ['config.get {"path":"administrators/admin-roles/admin-role"}'], []],
    ['user-realm', {}, { 'config.get': { realm: ['R'] } }, ['config.get {"path":"users/user-realms/realm"}'], [{ value: 'R' }]],
    ['user-role', {}, { 'config.get': {} }, ['config.get {"path":"users/user-roles/user-role"}'], []],
    ['radius-client', {}, { 'config.get': {} }, ['config.get {"path":"uac/network-access/radius-clients/radius-client"}'], []],
    ['snmp-client', {}, { 'config.get': {} }, ['config.get {"path":"uac/snmpEnforcement/clients/client"}'], []],
    [
      'local-user',
      { server: 'S', other: '' },
      { 'users.list': [{ username: 'u', fullname: 'U' }, { name: 'n' }, 'odd', { username: '' }] },
      ['users.list {"server":"S"}'],
      [{ value: 'u', note: 'U' }, { value: 'n' }],
    ],
    [
      'directory-group',
      { server: 'S', directory: 'ad' },
      {
        'groups.list': [
          { name: 'a', dn: 'CN=a', group: 'no' },
          { name: 'b', group: 'D/b' },
        ],
      },
      ['groups.list {"server":"S","directory":"ad"}'],
      [
        { value: 'a', note: 'CN=a' },
        { value: 'b', note: 'D/b' },
      ],
    ],
    [
      'session',
      {},
      {
        'sessions.list': [
          { 'session-id': 's', 'active-user-name': 'u', 'source-ip': 'i', 'authentication-realm': 'r', 'user-sign-in-time': 7 },
          { 'session-id': 't' },
        ],
      },
      ['sessions.list {}'],
      [{ value: 's', note: 'u, i, r, 7' }, { value: 't' }],
    ],
    [
      'session-user',
      {},
      {
        'sessions.list': [
          { 'active-user-name': 'u', 'authentication-realm': 'r' },
          { 'active-user-name': 'u', 'authentication-realm': 'q' },
          {},
        ],
      },
      ['sessions.list {}'],
      [{ value: 'u', note: 'q' }],
    ],
    [
      'session-value',
      { field: 'user-roles' },
      { 'sessions.list': [{ 'user-roles': ['a', 'b'] }, { 'user-roles': 'b' }, { 'user-roles': '' }, {}] },
      ['sessions.list {}'],
      [
        { value: 'b', sessions: 2 },
        { value: 'a', sessions: 1 },
      ],
    ],
    ['contained', {}, { 'contain.list': [{ id: 'i', name: 'n', until: 'u' }] }, ['contain.list {}'], [{ value: 'i', note: 'n, u' }]],
    [
      'contained-name',
      {},
      { 'contain.list': [{ name: 'n', until: 'u' }, { 'source-ip': 'a' }] },
      ['contain.list {}'],
      [{ value: 'n', note: 'u' }, { value: 'a' }],
    ],
    [
      'backup',
      { folder: 'f' },
      { 'backup.list': [{ backup: 'b', appliance: 'a', release: 'r', time: 't' }] },
      ['backup.list {"folder":"f"}'],
      [{ value: 'latest' }, { value: 'b', note: 'a, r, t' }],
    ],
    [
      'journal-entry',
      {},
      { 'journal.list': [{ id: 'i', operation: 'o', actor: 'a', at: 't' }] },
      ['journal.list {"limit":500}'],
      [{ value: 'i', note: 'o, a, t' }],
    ],
    ['journal-actor', {}, { 'journal.list': [{ actor: 'a' }, { actor: 'a' }, {}] }, ['journal.list {"limit":500}'], [{ value: 'a' }]],
    [
      'cluster-member',
      {},
      { 'cluster.status': { members: [{ name: 'm', 'internal-ip': 'i', notes: 'n' }] } },
      ['cluster.status {}'],
      [{ value: 'm', note: 'i, n' }],
    ],
    ['cluster-member', {}, { 'cluster.status': 7 }, ['cluster.status {}'], []],
    [
      'certificate',
      {},
      {
        'request.get': {
          list: [{ 'subject-name': '', 'subject-common-name': 'c', name: 'n' }, { name: 'n' }, { subject: 's' }, { odd: 1 }, 'text', 7],
          other: 'x',
        },
      },
      ['request.get {"path":"system/certificates/device-certificates"}'],
      ['c', 'n', 's', 'text', '7'].map((value) => ({ value })),
    ],
    [
      'csr',
      {},
      { 'request.get': [{ 'subject-common-name': 'c' }, { 'csr-name': 'r', name: 'n' }, { name: 'n' }] },
      ['request.get {"path":"system/certificates/device-certificate-csrs"}'],
      ['c', 'r', 'n'].map((value) => ({ value })),
    ],
    [
      'named-user',
      {},
      {
        'license.list-named-users': {
          'named-users': [{ User: 'a', Role: 'r', Appliance: 'p', IP: 'i' }],
          one: { 'named-users': [{ User: 'b' }] },
          two: 7,
        },
      },
      ['license.list-named-users {}'],
      [{ value: 'a', note: 'r, p, i' }, { value: 'b' }],
    ],
    ['named-user', { 'client-kind': 'k' }, { 'license.list-named-users': null }, ['license.list-named-users {"client-kind":"k"}'], []],
    [
      'client-kind',
      {},
      { 'license.list-named-users': { one: {}, two: 7, three: { a: 1 } } },
      ['license.list-named-users {}'],
      [{ value: 'one' }, { value: 'three' }],
    ],
    ['client-kind', {}, { 'license.list-named-users': [] }, ['license.list-named-users {}'], []],
    ['interface', {}, {}, [], [{ value: '<Internal Port>' }, { value: '<External Port>' }]],
  ])('listObjects lists each %s for %j', async (kind, given, answers, asked, things) => {
    expect(await listed(kind, answers, given)).toEqual({ asked, things });
  });

  it('listObjects offers servers with the matching parts or type, and those that cannot be read', async () => {
    const path = 'authentication/auth-servers/auth-server';
    const of = (name: string): string => `config.get ${JSON.stringify({ path: [...path.split('/'), name] })}`;
    const answers = {
      [`config.get {"path":"${path}"}`]: { 'auth-server': ['A', 'B', 'C', 'D', 'E'] },
      [of('A')]: { 'auth-server-type': 'ad', local: {} },
      [of('B')]: { 'auth-server-type': 'ldap' },
      [of('C')]: new GatewayError('FORBIDDEN', 'no'),
      [of('D')]: { ad: {}, 'auth-server-type': 'Active Directory' },
      [of('E')]: { 'auth-server-type': 'saml' },
    };
    expect((await listed('local-server', answers)).things).toEqual([{ value: 'A', note: 'ad' }, { value: 'C' }]);
    expect((await listed('directory-server', answers)).things).toEqual([
      { value: 'A', note: 'ad' },
      { value: 'B', note: 'ldap' },
      { value: 'C' },
      { value: 'D', note: 'Active Directory' },
    ]);
    const many = (count: number) => ({
      [`config.get {"path":"${path}"}`]: { 'auth-server': Array.from({ length: count }, (_, index) => `s${index}`) },
      'config.get': { saml: {} },
    });
    expect((await listed('local-server', many(40))).things).toEqual([]);
    const { things, asked } = await listed('local-server', many(41));
    expect([things.length, asked.length]).toEqual([41, 1]);
  });

  it('listObjects reports a missing list as NOT_FOUND and passes on other errors', async () => {
    for (const code of ['NOT_FOUND', 'INVALID_REQUEST', 'APPLIANCE_ERROR'] as const)
      expect(await expectFailure(listed('csr', { 'request.get': new GatewayError(code, 'odd') }))).toMatchObject({
        code: 'NOT_FOUND',
        message: 'This appliance has no list of these names. Enter the name yourself.',
      });
    expect(await expectFailure(listed('csr', { 'request.get': new GatewayError('TIMEOUT', 'late') }))).toMatchObject({
      code: 'TIMEOUT',
      message: 'late',
    });
    expect((await expectFailure(listed('weather', {}))).message).toBe('There is no list of this kind.');
    expect((await expectFailure(listed('directory-group', {}, { server: 'S', directory: '' }))).message).toBe(
      'This list needs a value for directory.',
    );
  });

  it('listObjects shortens a list in its own order or by name', () => {
    const entries = ['b', 'a', 'c'].map((value) => ({ value }));
    expect(selectFirstItems('backup', entries, 2).map(({ value }) => value)).toEqual(['b', 'a']);
    expect(selectFirstItems('session', entries, 2).map(({ value }) => value)).toEqual(['a', 'b']);
    expect(selectFirstItems('toString', entries, 2).map(({ value }) => value)).toEqual(['a', 'b']);
    expect(
      selectFirstItemsByName(
        [
          { value: 'a', note: '1' },
          { value: 'A', note: '2' },
          { value: 'a', note: '3' },
        ],
        2,
      ),
    ).toEqual([
      { value: 'a', note: '1' },
      { value: 'A', note: '2' },
    ]);
  });
});

describe('readResourceLinks', () => {
  it.each<[Record<string, unknown>, unknown[]]>([
    [
      { list: ['a', 'b', 7] },
      [
        { name: 'a', href: null },
        { name: 'b', href: null },
      ],
    ],
    [{ list: ['a'], other: 1 }, []],
    [
      { users: { href: '/u' }, log: { name: 'Log', href: '/l' } },
      [
        { name: 'users', href: '/u' },
        { name: 'Log', href: '/l' },
      ],
    ],
    [
      { user: [{ username: 'u', href: '/u' }, { name: 'n' }, { name: 7, href: '/k' }], x: 'a' },
      [
        { name: 'u', href: '/u' },
        { name: 'n', href: null },
        { name: 'user', href: '/k' },
      ],
    ],
    [{ a: { href: 7 }, b: { more: 1 }, c: null, d: 'x' }, []],
    [{ only: 'a' }, []],
  ])('readResourceLinks reads the links of %j', (document, found) => expect(readResourceLinks(document)).toEqual(found));
});
