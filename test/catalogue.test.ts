import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { areas } from '../src/areas';
import { catalogue, firstByName, firstOf, listThings, type Read } from '../src/areas/catalogue';
import type { SimulatorOptions } from '../src/simulator';
import { failure, pair } from './library/appliance';
import { temporaryFolder } from './library/snapshot';

async function reader(options: SimulatorOptions = {}): Promise<Read> {
  const { gateway } = await pair(options);
  return async (operation, input = {}) => (await gateway.run(operation, input)).data;
}

const values = async (kind: string, read: Read, given: Record<string, string> = {}): Promise<string[]> =>
  (await listThings(kind, given, read)).map(({ value }) => value);

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

describe('the catalogue', () => {
  it('is asked by every field that names something, so that nobody has to know a name', () => {
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

  it('has a list for everything that a field names', () => {
    const fields = areas.flatMap(({ operations }) => Object.values(operations).flatMap((operation) => Object.values(operation.fields)));
    const named = new Set(fields.flatMap(({ names }) => (names === undefined || OF_NODE_RED.includes(names) ? [] : [names])));
    expect(named.size).toBeGreaterThan(10);
    for (const name of named) expect(Object.keys(catalogue), name).toContain(name);
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
  ])('lists each %s', async (kind, given, one) => {
    expect(await values(kind, await reader({ cluster: 'active-passive' }), given as Record<string, string>)).toContain(one);
  });

  it('tells kinds of servers apart', async () => {
    const read = await reader();
    expect(await values('local-server', read)).not.toContain('Corp AD');
    expect(await values('directory-server', read)).toEqual(['Corp AD', 'Partner LDAP']);
  });

  it('lists sessions with what tells them apart, and each of their users once', async () => {
    const read = await reader({ sessions: 250 });
    const sessions = await listThings('session', {}, read);
    expect(sessions).toHaveLength(250);
    expect(sessions[0]?.note).toMatch(/\d+\.\d+\.\d+\.\d+/);
    const users = await values('session-user', read);
    expect(new Set(users).size).toBe(users.length);
    expect(users.length).toBeGreaterThan(0);
  });

  it('lists backups and what the journal has, the newest first', async () => {
    const folder = temporaryFolder();
    const { gateway } = await pair({}, { journal: join(folder, 'journal') });
    const read: Read = async (operation, input = {}) => (await gateway.run(operation, input)).data;
    for (let time = 0; time < 2; time++) await gateway.run('backup.run', { folder });
    const made = (await read('backup.list', { folder })) as { backup: string }[];
    const backups = await listThings('backup', { folder }, read);
    expect(backups.map(({ value }) => value)).toEqual(['latest', ...made.map(({ backup }) => backup)]);
    expect(firstOf('backup', backups, 2)).toEqual(backups.slice(0, 2));
    const user = { server: 'System Local', username: 'contractor1' };
    await gateway.run('users.disable', user, { by: { actor: 'e.shift' } });
    await gateway.run('users.enable', user);
    const entries = await listThings('journal-entry', {}, read);
    expect(entries.map(({ note = '' }) => note.split(', ')[0])).toEqual(['users.enable', 'users.disable']);
    expect((await gateway.run('journal.undo', { id: entries[0]?.value })).data).toMatchObject({ ok: 1 });
    expect(await values('journal-actor', read)).toEqual(['e.shift']);
    expect(await failure(listThings('journal-entry', {}, await reader()))).toMatchObject({ code: 'BAD_CONFIG' });
  });

  it('lists who is contained, by name too', async () => {
    const { gateway } = await pair({ sessions: 5 });
    const read: Read = async (operation, input = {}) => (await gateway.run(operation, input)).data;
    await gateway.run('contain.contain', { name: 'j.doe' });
    await gateway.run('contain.contain', { 'source-ip': '203.0.113.250' });
    expect(await values('contained-name', read)).toEqual(expect.arrayContaining(['j.doe', '203.0.113.250']));
    expect(await values('contained', read)).toHaveLength(2);
  });

  it('lists named users and the kinds of a licence server', async () => {
    const server = await reader({ role: 'license-server' });
    expect(await values('client-kind', server)).toEqual(['gateway', 'policy']);
    expect((await values('named-user', server, { 'client-kind': 'gateway' })).length).toBeGreaterThan(0);
    expect(await values('client-kind', await reader())).toEqual([]);
  });

  it('says what is missing, and that there is no such kind', async () => {
    const read = await reader();
    expect(await failure(listThings('local-user', {}, read))).toMatchObject({
      code: 'BAD_INPUT',
      message: 'server is needed for this list.',
    });
    expect((await failure(listThings('toString', {}, read))).code).toBe('BAD_INPUT');
  });

  it('says that an appliance has no list', async () => {
    expect(await failure(listThings('certificate', {}, await reader()))).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching(/no list/) as string,
    });
  });

  it('is brought in order as far as it is shown', () => {
    const called = (...values: string[]) => values.map((value) => ({ value }));
    const shuffled = called('user10', 'Ärger', 'user9', 'zoe', 'User2', 'anna', 'user100', 'bob');
    const sorted = called('anna', 'Ärger', 'bob', 'User2', 'user9', 'user10', 'user100', 'zoe');
    expect(firstByName(shuffled, 100)).toEqual(sorted);
    for (const most of [1, 3, 7]) expect(firstByName(shuffled, most)).toEqual(sorted.slice(0, most));
    const many = Array.from({ length: 2000 }, (_, at) => ({ value: `user${(at * 7919) % 2003}` }));
    const numbers = many.map(({ value }) => Number(value.slice(4))).sort((a, b) => a - b);
    expect(firstByName(many, 100).map(({ value }) => value)).toEqual(numbers.slice(0, 100).map((at) => `user${at}`));
  });
});
