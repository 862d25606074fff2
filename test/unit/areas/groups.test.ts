import { describe, expect, it } from 'vitest';
import {
  expectFailure,
  gatewayFor,
  listRequestLines,
  startSimulatorWithGateway,
  getThrownError,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { parseGroups } from '../../../src/areas/groups/catalog';
import { hasGroupIdentity, GroupIndex } from '../../../src/areas/groups/group-index';
import type { JsonObject } from '../../../src/model/json';
import { eventually } from '../../helpers/eventually';

const AD = { server: 'Corp AD', directory: 'ad' } as const;
const LDAP = { server: 'Partner LDAP', directory: 'ldap' } as const;
const ad = (name: string): JsonObject => ({ name, group: `CORP\\${name}` });
const ldap = (name: string): JsonObject => ({ dn: `cn=${name},ou=groups,dc=example,dc=com`, 'group-type': 'static', name });
const names = (groups: unknown): unknown[] => (groups as { name: string }[]).map(({ name }) => name);

describe('group catalogs', () => {
  it.each([
    [AD, ad('Staff'), ['Domain Users', 'VPN Users', 'Gateway Admins', 'Staff']],
    [LDAP, ldap('staff'), ['partners', 'suppliers', 'staff']],
  ])('a change of a group catalog adds a group to the list of %o and reads the list back', async (catalog, group, expected) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { envelope } = await gateway.run('groups.add', { ...catalog, groups: group });
    expect(envelope.changed).toBe(true);
    expect(listRequestLines(simulator).map((line) => line.split(' ')[0])).toEqual(['GET', 'PUT', 'GET']);
    expect(names((await gateway.run('groups.list', catalog)).data)).toEqual(expected);
  });

  it('a change of a group catalog reports only the write in the envelope, not its reads', async () => {
    const { gateway } = await startSimulatorWithGateway({ variants: { updateStatus: 204 } });
    const { envelope } = await gateway.run('groups.add', { ...AD, groups: ad('Staff') });
    expect(envelope).toMatchObject({ request: { method: 'PUT' }, status: 204, changed: true, requests: 3 });
  });

  it('a change of a group catalog sends nothing if all groups are present, ignoring upper and lower case', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const added = await gateway.run('groups.add', { ...AD, groups: [ad('vpn users')] });
    const removed = await gateway.run('groups.remove', { ...LDAP, groups: 'cn=nobody,dc=x' });
    const spaced = { ...ldap('Partners'), dn: 'CN=Partners, OU=groups, dc = example,dc=com' };
    expect((await gateway.run('groups.add', { ...LDAP, groups: spaced })).envelope.changed).toBe(false);
    expect([added.envelope.changed, removed.envelope.changed]).toEqual([false, false]);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('a change of a group catalog removes a group by name, by sid or by dn', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const [first] = (await gateway.run('groups.list', AD)).data as JsonObject[];
    await gateway.run('groups.remove', { ...AD, groups: [{ sid: first?.sid }, 'VPN Users'] });
    const [left] = (await gateway.run('groups.list', AD)).data as { sid: string }[];
    expect((await gateway.run('groups.remove', { ...AD, groups: left?.sid }, { dryRun: true })).envelope.plan).toMatchObject([
      { body: { 'ad-group': [] } },
    ]);
    await gateway.run('groups.remove', { ...LDAP, groups: { dn: 'CN=partners,ou=groups,dc=example,dc=com' } });
    expect(names((await gateway.run('groups.list', AD)).data)).toEqual(['Gateway Admins']);
    expect(names((await gateway.run('groups.list', LDAP)).data)).toEqual(['suppliers']);
  });

  it('two simultaneous additions to a group catalog both succeed', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ delayMs: 5 });
    const other = gatewayFor(simulator);
    await Promise.all(
      Array.from({ length: 10 }, (_, i) => (i % 2 ? other : gateway).run('groups.add', { ...AD, groups: ad(`Group ${i}`) })),
    );
    const found = names((await gateway.run('groups.list', AD)).data);
    expect(found).toHaveLength(13);
    expect(new Set(found).size).toBe(13);
  });

  it('a change of a group catalog that is canceled while it waits for another change sends nothing', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ match: ({ method }) => method === 'PUT', delayMs: 400 });
    const first = gateway.run('groups.add', { ...AD, groups: ad('First') });
    const cancel = new AbortController();
    const waiting = expectFailure(gateway.run('groups.add', { ...AD, groups: ad('Second') }, cancel.signal));
    const third = gateway.run('groups.add', { ...AD, groups: ad('Third') });
    cancel.abort();
    expect((await Promise.race([waiting, first])) as unknown).toMatchObject({
      code: 'ABORTED',
      message: 'Canceled while it waited for another change of this catalog.',
      cause: { requests: 0 },
    });
    await Promise.all([first, third]);
    const found = names((await gateway.run('groups.list', AD)).data);
    expect(found.slice(3)).toEqual(['First', 'Third']);
  });

  it.each([['fewer'], ['as many', 'Staff', 'A', 'B'], ['more', 'Staff', 'A', 'B', 'C']])(
    'a change of a group catalog reports both versions if another client changes the catalog meanwhile: %s',
    async (_, ...more) => {
      const theirs = ['Only', ...more];
      const { simulator, gateway } = await startSimulatorWithGateway();
      const stranger = gatewayFor(simulator);
      const server = simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server').items.get('Corp AD');
      const catalog = (): unknown => server?.resource('ad', 'server-catalog', 'groups').values.get('ad-group');
      // The PUT takes effect and then, before the read-back, another one replaces the list.
      let answer = (): void => undefined;
      const until = new Promise<void>((resolve) => (answer = resolve));
      const put = (request: { method: string }): boolean => request.method === 'PUT';
      simulator.fault({ match: put, afterEffect: true, until, status: 200, body: '{"result":{}}' });
      const adding = expectFailure(gateway.run('groups.add', { ...AD, groups: ad('Staff') }));
      await eventually(() => expect(names(catalog())).toContain('Staff'));
      await stranger.run('config.update', {
        path: ['authentication', 'auth-servers', 'auth-server', 'Corp AD', 'ad', 'server-catalog', 'groups'],
        body: { 'ad-group': theirs.map(ad) },
      });
      answer();
      const error = await adding;
      expect(error.code).toBe('APPLIANCE_ERROR');
      expect(names(error.cause?.wanted)).toContain('Staff');
      expect(names(error.cause?.found)).toEqual(theirs);
      expect(error.cause?.changed).toBe(true);
    },
  );

  it.each([
    ['more of them', 'remove', { groups: 'VPN Users' }, 2],
    ['fewer of them', 'add', { groups: ad('Staff') }, 4],
  ])('a change of a group catalog reports both lists when %s are read back than were written', async (_what, operation, input, wanted) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    // Said to be done, and not done.
    simulator.fault({ match: ({ method }) => method === 'PUT', status: 200, body: '{"result":{}}' });
    const error = await expectFailure(gateway.run(`groups.${operation}`, { ...AD, ...input }));
    expect(error).toMatchObject({ code: 'APPLIANCE_ERROR', cause: { changed: true } });
    expect(error.message).toMatch(/^The catalog of Corp AD differs from what was written: /);
    expect(error.cause?.wanted).toHaveLength(wanted);
    expect(names(error.cause?.found)).toEqual(['Domain Users', 'VPN Users', 'Gateway Admins']);
  });

  it.each([
    ['an error', { status: 500, times: 3 }],
    ['no list', { status: 200, body: '{"groups":[]}' }],
    ['a list without identities', { status: 200, body: '{"ad-group":[{"group":"x"}]}' }],
    ['a page of HTML', { status: 200, body: '<html>busy</html>' }],
    ['half a body', { cut: 'half' as const, times: 3 }],
  ])('a change of a group catalog writes nothing if the read returns %s', async (_what, fault) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ match: ({ path }) => path.includes('/groups'), ...fault });
    const error = await expectFailure(gateway.run('groups.add', { ...AD, groups: ad('Staff') }));
    expect(['APPLIANCE_ERROR', 'BAD_RESPONSE', 'CONNECTION']).toContain(error.code);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('a change of a group catalog replaces and clears the catalog, but refuses to replace it with an empty list', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect((await expectFailure(gateway.run('groups.replace', { ...AD, groups: [] }))).code).toBe('BAD_INPUT');
    expect((await expectFailure(gateway.run('groups.replace', { ...AD, groups: [{ name: 'x' }] }))).message).toContain('group');
    expect(simulator.requests).toEqual([]);
    await gateway.run('groups.replace', { ...AD, groups: [ad('A'), ad('B'), ad('a')] });
    expect(names((await gateway.run('groups.list', AD)).data)).toEqual(['A', 'B']);
    await gateway.run('groups.clear', AD);
    expect((await gateway.run('groups.list', AD)).data).toEqual([]);
  });

  it('a dry run of a group catalog change plans the whole list without writing it', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { envelope } = await gateway.run('groups.add', { ...AD, groups: ad('Staff') }, { dryRun: true });
    expect(names((envelope.plan?.[0]?.body as { 'ad-group': unknown })['ad-group'])).toEqual([
      'Domain Users',
      'VPN Users',
      'Gateway Admins',
      'Staff',
    ]);
    expect(envelope.changed).toBeNull();
    expect(listWriteLines(simulator)).toEqual([]);
  });
});

describe('GroupIndex and parseGroups', () => {
  const found = (of: readonly JsonObject[], group: JsonObject, directory: 'ad' | 'ldap' = 'ad'): number => {
    const one = new GroupIndex(of, directory).find(group);
    return one === undefined ? -1 : of.indexOf(one);
  };

  it('GroupIndex identifies a group by sid if both groups have one, otherwise by name, ignoring case', () => {
    const list = [{ sid: 'S-1', name: 'A' }, { sid: 'S-2', name: 'B' }, { name: 'C' }, { sid: '', name: 'D' }];
    expect(found(list, { sid: 's-1', name: 'B' })).toBe(0);
    expect(found(list, { name: 'b' })).toBe(1);
    expect(found(list, { sid: 'S-9', name: 'A' })).toBe(-1);
    expect(found(list, { sid: 'S-9', name: 'c' })).toBe(2);
    expect(found(list, { sid: 'S-9', name: 'D' })).toBe(3);
    expect(found(list, { sid: 'S-9' })).toBe(-1);
    expect(found(list, { group: 'A' })).toBe(-1);
    expect(found(list, { sid: 7, name: 'A' })).toBe(0);
    expect(new GroupIndex(list, 'ad').has({ name: 'E' })).toBe(false);
    expect([{ sid: 'S' }, { name: 'n' }, { sid: '', name: '' }, { dn: 'cn=a' }].map((group) => hasGroupIdentity(group, 'ad'))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect([{ dn: 'cn=a' }, { name: 'n' }].map((group) => hasGroupIdentity(group, 'ldap'))).toEqual([true, false]);
  });

  it.each([
    ['CN = a , DC=b', 'cn=a,dc=b', true],
    ['cn=a b , dc=c', 'cn=a b,dc=c', true],
    ['cn=a  b', 'cn=a b', false],
    ['cn=a + sn = b', 'cn=a+sn=b', true],
    ['cn=a\\, b,dc=c', 'cn=a\\,b,dc=c', false],
    ['cn=a\\ , dc=c', 'cn=a\\ ,dc=c', true],
    ['cn=a\\,dc=c', 'cn=a,dc=c', false],
    [' cn=a', 'cn=a', false],
    ['cn=a ', 'cn=a', false],
    ['cn=a,  ', 'cn=a,', true],
    ['a\tb', 'a b', false],
  ])('GroupIndex ignores spaces around the separators of a distinguished name: %j, %j', (one, other, same) => {
    expect(found([{ dn: one, name: 'x' }], { dn: other, name: 'y' }, 'ldap')).toBe(same ? 0 : -1);
    expect(found([{ dn: other }], { dn: one }, 'ldap')).toBe(same ? 0 : -1);
  });

  it.each<[unknown, 'ad' | 'ldap', boolean, unknown]>([
    [
      [
        { name: 'A', group: 'C/A' },
        { name: 'a', group: 'C/a' },
      ],
      'ad',
      false,
      [{ name: 'A', group: 'C/A' }],
    ],
    [{ dn: 'cn=a' }, 'ldap', false, [{ dn: 'cn=a' }]],
    ['S-1-5-21', 'ad', true, [{ sid: 'S-1-5-21' }]],
    ['s-1-5-2', 'ad', true, [{ sid: 's-1-5-2' }]],
    ['s-1-5', 'ad', true, [{ name: 's-1-5' }]],
    ['S-1', 'ad', true, [{ name: 'S-1' }]],
    ['xS-1-5-2', 'ad', true, [{ name: 'xS-1-5-2' }]],
    ['S-1-5-2x', 'ad', true, [{ name: 'S-1-5-2x' }]],
    [`S-1-55${'-1'.repeat(97)}`, 'ad', true, [{ sid: `S-1-55${'-1'.repeat(97)}` }]],
    [`S-1-5${'-1'.repeat(98)}`, 'ad', true, [{ name: `S-1-5${'-1'.repeat(98)}` }]],
    ['cn=a', 'ldap', true, [{ dn: 'cn=a' }]],
    [[{ name: 'A' }], 'ad', false, 'groups[0] has no group. Nothing was sent.'],
    [
      [
        { name: 'A', group: 'G' },
        { group: 'G', name: '' },
      ],
      'ad',
      false,
      'groups[1] has no name. Nothing was sent.',
    ],
    [{ name: 'A' }, 'ldap', true, 'groups[0] has no dn. Nothing was sent.'],
    [{ dn: 7 }, 'ldap', false, 'groups[0] has no dn. Nothing was sent.'],
    [{ group: 'G' }, 'ad', true, 'groups[0] has neither sid nor name. Nothing was sent.'],
    ['VPN', 'ad', false, 'groups[0] has no group. Nothing was sent.'],
  ])('parseGroups reads groups from %j of %s (identity only: %s)', (groups, directory, alone, expected) => {
    const read = () => parseGroups({ server: 'S', directory, groups }, alone);
    if (typeof expected === 'string') expect(getThrownError(read)).toMatchObject({ code: 'BAD_INPUT', message: expected });
    else expect(read()).toEqual(expected);
  });
});

describe('catalog errors', () => {
  it('catalog errors name the server, the problem and the next step', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const operation of ['replace', 'ensure'])
      expect((await expectFailure(gateway.run(`groups.${operation}`, { ...AD, groups: [] }))).message).toBe(
        'groups is an empty array. To empty the catalog, use Remove ALL groups. Nothing was sent.',
      );
    const match = ({ path }: { path: string }) => path.includes('/groups');
    const refused = async (body: string): Promise<string> => {
      simulator.fault({ match, status: 200, body });
      return (await expectFailure(gateway.run('groups.add', { ...AD, groups: ad('Staff') }))).message;
    };
    const rest = 'Nothing was changed. Use Replace all groups to set the first list.';
    expect(await refused('{}')).toBe(`The catalog of Corp AD has no ad-group. ${rest}`);
    expect(await refused('{"ad-group":["x"]}')).toBe(`The catalog of Corp AD has a group without identity (sid, name or dn). ${rest}`);
    const none = await expectFailure(gateway.run('groups.ensure', { server: 'Corp SAML', directory: 'ad', groups: ad('Staff') }));
    expect(none).toMatchObject({
      code: 'NOT_FOUND',
      message: 'Corp SAML has no catalog of this kind. Check server and directory. Nothing was changed.',
    });
    simulator.fault({ match: ({ method, path }) => method === 'GET' && path.includes('/groups'), skip: 1, status: 403 });
    const unread = await expectFailure(gateway.run('groups.add', { ...AD, groups: ad('Staff') }));
    expect(unread.message).toMatch(/^The list was written, but reading it back for the check failed: /);
    expect(unread.cause).toMatchObject({ changed: true });
  });

  it('groups.ensure writes nothing for equal groups in another order, and writes only real differences', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const present = (await gateway.run('groups.list', AD)).data as JsonObject[];
    const given = present.map(({ name }) => ad(String(name))).reverse();
    const same = await gateway.run('groups.ensure', { ...AD, groups: present.toReversed() });
    expect([same.envelope.changed, same.data, listWriteLines(simulator)]).toEqual([false, present, []]);
    const fewer = await gateway.run('groups.ensure', { ...AD, groups: given.slice(1) });
    expect(fewer.envelope.changed).toBe(true);
    // What is not given of a group that is there stays.
    expect((fewer.data as JsonObject[]).map(({ sid }) => typeof sid)).toEqual(['string', 'string']);
    const planned = await gateway.run('groups.ensure', { ...AD, groups: ad('New') }, { dryRun: true });
    expect([planned.data, planned.envelope.plan]).toMatchObject([[], [{ method: 'PUT' }]]);
    // As many as there are, of whom one is another, or has something else.
    const [first = {}, second] = fewer.data as JsonObject[];
    for (const other of [{ ...first, group: 'CORP\\Moved' }, ad('New')]) {
      const changed = await gateway.run('groups.ensure', { ...AD, groups: [second, other] });
      expect([changed.envelope.changed, changed.data]).toMatchObject([true, [second, other]]);
    }
  });
});
