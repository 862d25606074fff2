import { describe, expect, it } from 'vitest';
import { failure, gatewayFor, lines, pair, writes } from './library/appliance';
import type { JsonObject } from '../src/model/json';
import { eventually } from './support/eventually';

const AD = { server: 'Corp AD', directory: 'ad' } as const;
const LDAP = { server: 'Partner LDAP', directory: 'ldap' } as const;
const ad = (name: string): JsonObject => ({ name, group: `CORP\\${name}` });
const ldap = (name: string): JsonObject => ({ dn: `cn=${name},ou=groups,dc=example,dc=com`, 'group-type': 'static', name });
const names = (groups: unknown): unknown[] => (groups as { name: string }[]).map(({ name }) => name);

describe('group catalogues', () => {
  it.each([
    [AD, ad('Staff'), ['Domain Users', 'VPN Users', 'Gateway Admins', 'Staff']],
    [LDAP, ldap('staff'), ['partners', 'suppliers', 'staff']],
  ])('of %o: a group is added to the whole list and read back', async (catalog, group, expected) => {
    const { simulator, gateway } = await pair();
    const { envelope } = await gateway.run('groups.add', { ...catalog, groups: group });
    expect(envelope.changed).toBe(true);
    expect(lines(simulator).map((line) => line.split(' ')[0])).toEqual(['GET', 'PUT', 'GET']);
    expect(names((await gateway.run('groups.list', catalog)).data)).toEqual(expected);
  });

  it('tell of the write, not of the reads around it', async () => {
    const { gateway } = await pair({ variants: { updateStatus: 204 } });
    const { envelope } = await gateway.run('groups.add', { ...AD, groups: ad('Staff') });
    expect(envelope).toMatchObject({ request: { method: 'PUT' }, status: 204, changed: true, requests: 3 });
  });

  it('send nothing when nothing changes, whatever its case', async () => {
    const { simulator, gateway } = await pair();
    const added = await gateway.run('groups.add', { ...AD, groups: [ad('vpn users')] });
    const removed = await gateway.run('groups.remove', { ...LDAP, groups: 'cn=nobody,dc=x' });
    const spaced = { ...ldap('Partners'), dn: 'CN=Partners, OU=groups, dc = example,dc=com' };
    expect((await gateway.run('groups.add', { ...LDAP, groups: spaced })).envelope.changed).toBe(false);
    expect([added.envelope.changed, removed.envelope.changed]).toEqual([false, false]);
    expect(writes(simulator)).toEqual([]);
  });

  it('lose a group by name, by sid and by dn', async () => {
    const { gateway } = await pair();
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

  it('hold both groups that two flows added at the same moment', async () => {
    const { simulator, gateway } = await pair({ delayMs: 5 });
    const other = gatewayFor(simulator);
    await Promise.all(
      Array.from({ length: 10 }, (_, i) => (i % 2 ? other : gateway).run('groups.add', { ...AD, groups: ad(`Group ${i}`) })),
    );
    const found = names((await gateway.run('groups.list', AD)).data);
    expect(found).toHaveLength(13);
    expect(new Set(found).size).toBe(13);
  });

  it('let go of a change that is cancelled while it waits for another', async () => {
    const { simulator, gateway } = await pair();
    await gateway.run('system.info');
    simulator.fault({ match: ({ method }) => method === 'PUT', delayMs: 400 });
    const first = gateway.run('groups.add', { ...AD, groups: ad('First') });
    const cancel = new AbortController();
    const waiting = failure(gateway.run('groups.add', { ...AD, groups: ad('Second') }, cancel.signal));
    const third = gateway.run('groups.add', { ...AD, groups: ad('Third') });
    cancel.abort();
    expect((await Promise.race([waiting, first])) as unknown).toMatchObject({ code: 'ABORTED', cause: { requests: 0 } });
    await Promise.all([first, third]);
    const found = names((await gateway.run('groups.list', AD)).data);
    expect(found.slice(3)).toEqual(['First', 'Third']);
  });

  it.each([['fewer'], ['as many', 'Staff', 'A', 'B'], ['more', 'Staff', 'A', 'B', 'C']])(
    'tell both lists when somebody else wrote in between: %s',
    async (_, ...more) => {
      const theirs = ['Only', ...more];
      const { simulator, gateway } = await pair();
      const stranger = gatewayFor(simulator);
      const server = simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server').items.get('Corp AD');
      const catalog = (): unknown => server?.resource('ad', 'server-catalog', 'groups').values.get('ad-group');
      // The PUT takes effect and then, before the read-back, another one replaces the list.
      let answer = (): void => undefined;
      const until = new Promise<void>((resolve) => (answer = resolve));
      const put = (request: { method: string }): boolean => request.method === 'PUT';
      simulator.fault({ match: put, afterEffect: true, until, status: 200, body: '{"result":{}}' });
      const adding = failure(gateway.run('groups.add', { ...AD, groups: ad('Staff') }));
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
  ])('tell both lists when %s are read back than were written', async (_what, operation, input, wanted) => {
    const { simulator, gateway } = await pair();
    // Said to be done, and not done.
    simulator.fault({ match: ({ method }) => method === 'PUT', status: 200, body: '{"result":{}}' });
    const error = await failure(gateway.run(`groups.${operation}`, { ...AD, ...input }));
    expect(error).toMatchObject({ code: 'APPLIANCE_ERROR', cause: { changed: true } });
    expect(error.cause?.wanted).toHaveLength(wanted);
    expect(names(error.cause?.found)).toEqual(['Domain Users', 'VPN Users', 'Gateway Admins']);
  });

  it.each([
    ['an error', { status: 500, times: 3 }],
    ['no list', { status: 200, body: '{"groups":[]}' }],
    ['a list without identities', { status: 200, body: '{"ad-group":[{"group":"x"}]}' }],
    ['a page of HTML', { status: 200, body: '<html>busy</html>' }],
    ['half a body', { cut: 'half' as const, times: 3 }],
  ])('are never written after a read that gave %s', async (_what, fault) => {
    const { simulator, gateway } = await pair();
    await gateway.run('system.info');
    simulator.fault({ match: ({ path }) => path.includes('/groups'), ...fault });
    const error = await failure(gateway.run('groups.add', { ...AD, groups: ad('Staff') }));
    expect(['APPLIANCE_ERROR', 'BAD_RESPONSE', 'CONNECTION']).toContain(error.code);
    expect(writes(simulator)).toEqual([]);
  });

  it('are replaced and cleared, but not replaced by nothing', async () => {
    const { simulator, gateway } = await pair();
    expect((await failure(gateway.run('groups.replace', { ...AD, groups: [] }))).code).toBe('BAD_INPUT');
    expect((await failure(gateway.run('groups.replace', { ...AD, groups: [{ name: 'x' }] }))).message).toContain('group');
    expect(simulator.requests).toEqual([]);
    await gateway.run('groups.replace', { ...AD, groups: [ad('A'), ad('B'), ad('a')] });
    expect(names((await gateway.run('groups.list', AD)).data)).toEqual(['A', 'B']);
    await gateway.run('groups.clear', AD);
    expect((await gateway.run('groups.list', AD)).data).toEqual([]);
  });

  it('plan the whole list in a dry run and leave it', async () => {
    const { simulator, gateway } = await pair();
    const { envelope } = await gateway.run('groups.add', { ...AD, groups: ad('Staff') }, { dryRun: true });
    expect(names((envelope.plan?.[0]?.body as { 'ad-group': unknown })['ad-group'])).toEqual([
      'Domain Users',
      'VPN Users',
      'Gateway Admins',
      'Staff',
    ]);
    expect(envelope.changed).toBeNull();
    expect(writes(simulator)).toEqual([]);
  });
});
