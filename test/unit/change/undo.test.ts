import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FieldLocation } from '../../../src/change/compare';
import type { Simulator } from '../../../src/simulator';
import { expectFailure, gatewayFor, asBulkResult, listWriteLines, type AnyGateway } from '../../helpers/simulated-appliance';
import { serializeConfiguration, listJournalFiles, startWithJournal, fetchJournalEntries, checkJournal } from '../../helpers/journal';
import { createMixedWrites } from '../../helpers/mixed-writes';
import { httpResponse, startRawServer } from '../../helpers/raw-server';
import { createTemporaryFolder } from '../../helpers/temporary';

const ROLES = 'users/user-roles/user-role';
const ROLE = `${ROLES}/Users`;

/** Returns the journal id of a run with one write. */
async function readJournalId(run: ReturnType<AnyGateway['run']>): Promise<string> {
  return (await run).envelope.journal as string;
}

const role = ({ state }: Simulator) => state.configuration.resource('users', 'user-roles', 'user-role', 'Users');

describe('journal.undo', () => {
  it('journal.undo can undo an earlier undo', async () => {
    const { simulator, gateway } = await startWithJournal();
    const id = await readJournalId(gateway.run('config.delete', { path: `${ROLES}/Unused` }));
    const [undone] = [await readJournalId(gateway.run('journal.undo', { id }))].flat();
    expect(simulator.state.configuration.collection('users', 'user-roles', 'user-role').items.has('Unused')).toBe(true);
    await gateway.run('journal.undo', { id: undone });
    expect(simulator.state.configuration.collection('users', 'user-roles', 'user-role').items.has('Unused')).toBe(false);
  });

  it.each([true, false])('journal.undo removes a field that the write added, even if the appliance merges a PUT: %s', async (putMerges) => {
    const { simulator, gateway } = await startWithJournal({ variants: { putMerges } });
    const before = serializeConfiguration(simulator);
    const id = await readJournalId(gateway.run('config.update', { path: ROLE, body: { description: 'x' } }));
    expect(asBulkResult((await gateway.run('journal.undo', { id })).data)).toMatchObject({
      total: 1,
      ok: 1,
      results: [{ item: id, ok: true }],
    });
    expect(serializeConfiguration(simulator)).toBe(before);
  });

  it('journal.undo throws CONFLICT with the difference if another client has written since', async () => {
    const { simulator, gateway } = await startWithJournal();
    const id = await readJournalId(gateway.run('config.update', { path: ROLE, body: { description: 'ours' } }));
    role(simulator).values.set('description', 'theirs');
    simulator.requests.length = 0;
    const error = await expectFailure(gateway.run('journal.undo', { id }));
    expect(error).toMatchObject({
      code: 'CONFLICT',
      cause: { changed: false, diff: [{ path: `/api/v1/configuration/${ROLE}`, field: '/description', before: 'ours', after: 'theirs' }] },
    });
    expect(listWriteLines(simulator)).toEqual([]);
    role(simulator).values.set('description', 'ours');
    await gateway.run('journal.undo', { id });
    expect((await expectFailure(gateway.run('journal.undo', { id }))).code).toBe('CONFLICT');
  });

  it('journal.undo keeps what another client has created below a created resource', async () => {
    const { simulator, gateway } = await startWithJournal();
    const server = 'authentication/auth-servers/auth-server/Extra';
    const id = await readJournalId(gateway.run('config.update', { path: server, body: { 'auth-server-type': 'local' } }));
    const users = simulator.state.configuration.collection(...server.split('/'), 'local', 'users', 'user');
    users.add({ username: 'theirs', fullname: '' });
    const error = await expectFailure(gateway.run('journal.undo', { id }));
    expect(error).toMatchObject({ code: 'CONFLICT', cause: { diff: [{ field: '', before: null, after: { username: 'theirs' } }] } });
    users.items.clear();
    await gateway.run('journal.undo', { id });
    expect((await expectFailure(gateway.run('config.get', { path: server }))).code).toBe('NOT_FOUND');
  });

  it('journal.undo restores everything below a deleted resource', async () => {
    const { simulator, gateway } = await startWithJournal();
    const before = serializeConfiguration(simulator);
    const server = 'authentication/auth-servers/auth-server/System Local';
    const id = await readJournalId(gateway.run('config.delete', { path: `${ROLES}/Unused` }));
    const users = await readJournalId(gateway.run('users.delete', { server: 'System Local', username: 'jürgen.müller' }));
    expect(serializeConfiguration(simulator)).not.toBe(before);
    const { envelope } = await gateway.run('journal.undo', { id: [id, users] });
    expect(serializeConfiguration(simulator)).toBe(before);
    expect(envelope.incomplete).toMatchObject([
      { field: '/password-cleartext', path: expect.stringContaining(encodeURI(server)) as string },
    ]);
  });

  it.each([
    { entryLinks: 'none' },
    { entryLinks: 'text' },
    { userEntries: 'username' },
    { userEntries: 'whole' },
    { usersAt: 'users' },
    { collectionInParent: 'link' },
    { collectionInParent: 'link', entryLinks: 'text' },
    { errorsInSuccess: true },
  ] as const)('journal.undo restores a server with its users in any form of the user list: %j', async (variants) => {
    const { simulator, gateway } = await startWithJournal({ variants });
    const path = 'authentication/auth-servers/auth-server/Extra';
    await gateway.run('config.update', { path, body: { 'auth-server-type': 'local' } });
    const input = { server: 'Extra', 'password-cleartext': 's3cret-word' };
    for (const username of ['one', 'two']) await gateway.run('users.create', { ...input, username });
    const before = serializeConfiguration(simulator);
    const id = await readJournalId(gateway.run('config.delete', { path }));
    expect(serializeConfiguration(simulator)).not.toBe(before);
    await gateway.run('journal.undo', { id });
    expect(serializeConfiguration(simulator)).toBe(before);
  });

  it('journal.undo restores linked parts that were written with their resource', async () => {
    const { simulator, gateway } = await startWithJournal();
    const before = serializeConfiguration(simulator);
    const body = { description: 'x', general: { 'session-options': { 'idle-timeout': '33' } } };
    for (const operation of ['config.update', 'config.ensure']) {
      const id = await readJournalId(gateway.run(operation, { path: ROLE, body }));
      expect(serializeConfiguration(simulator)).not.toBe(before);
      const [entry] = await fetchJournalEntries(gateway, { 'operation-name': operation });
      expect(entry?.diff?.map(({ field }) => field)).toEqual(['/description', '/idle-timeout']);
      await gateway.run('journal.undo', { id });
      expect(serializeConfiguration(simulator)).toBe(before);
    }
  });

  it('journal.undo reports a previous password that cannot be restored', async () => {
    const { gateway } = await startWithJournal();
    const input = { server: 'System Local', username: 'contractor1', 'password-cleartext': 's3cret-word', fullname: 'New' };
    const id = await readJournalId(gateway.run('users.update', input));
    const { envelope } = await gateway.run('journal.undo', { id });
    expect(envelope.incomplete).toMatchObject([{ field: '/password-cleartext' }]);
    expect(JSON.stringify(await fetchJournalEntries(gateway))).not.toContain('s3cret');
  });

  it('journal.undo handles a write with unknown outcome, whether the write happened or not', async () => {
    const { simulator, gateway } = await startWithJournal();
    const before = serializeConfiguration(simulator);
    for (const afterEffect of [true, false]) {
      simulator.fault({ match: ({ method }) => method === 'PUT', cut: 'before-headers', afterEffect });
      const error = await expectFailure(gateway.run('config.update', { path: ROLE, body: { description: 'x' } }));
      expect(error.code).toBe('OUTCOME_UNKNOWN');
      const { envelope } = await gateway.run('journal.undo', { id: error.cause?.journal });
      expect([envelope.changed, envelope.incomplete]).toEqual([afterEffect, undefined]);
      expect(serializeConfiguration(simulator)).toBe(before);
    }
  });

  it('journal.undo compares with the sent body if the later state could not be read, even if the appliance added fields', async () => {
    const { simulator, gateway } = await startWithJournal();
    const before = serializeConfiguration(simulator);
    const group = { server: 'Corp AD', directory: 'ad', groups: [{ name: 'New', group: 'CORP\\New' }] };
    simulator.fault({ match: ({ method, path }) => method === 'GET' && path.endsWith('/groups'), skip: 1, times: 10, status: 403 });
    const error = await expectFailure(gateway.run('groups.add', group));
    simulator.clearFaults();
    expect(serializeConfiguration(simulator)).not.toBe(before);
    await gateway.run('journal.undo', { id: error.cause?.journal });
    expect(serializeConfiguration(simulator)).toBe(before);
  });

  it('journal.undo reads the resource as well, because another client may have changed another field since', async () => {
    const { simulator, gateway } = await startWithJournal();
    const close = () => simulator.fault({ match: ({ method }) => method === 'GET', status: 403, times: Infinity });
    simulator.fault({ match: ({ method }) => method === 'PUT', sideEffect: close });
    const segments = ['authentication', 'auth-servers', 'auth-server', 'System Local', 'local', 'users', 'user', 'contractor1'];
    const id = await readJournalId(gateway.run('config.update', { path: segments.join('/'), body: { enabled: 'false' } }));
    simulator.clearFaults();
    const { values } = simulator.state.configuration.resource(...segments);
    const fullname = values.get('fullname');
    values.set('fullname', 'theirs');
    const error = await expectFailure(gateway.run('journal.undo', { id }));
    expect(error).toMatchObject({
      code: 'CONFLICT',
      details: { sent: false },
      cause: { diff: [{ field: '/fullname', before: fullname, after: 'theirs' }] },
    });
    values.set('fullname', fullname ?? '');
    await gateway.run('journal.undo', { id });
    expect(values.get('enabled')).toBe('true');
  });

  it('journal.undo refuses an entry without undo data, and reports unknown ids', async () => {
    const { gateway, journal, simulator } = await startWithJournal({ sessions: 3 });
    const kills = (await gateway.run('sessions.kill-matching', { filter: { 'login-node': 'gateway-1' } })).envelope.journal as string[];
    const error = await expectFailure(gateway.run('journal.undo', { id: kills }));
    expect(error).toMatchObject({ code: 'BAD_INPUT' });
    expect(error.message).toContain('has no undo');
    const refused = await expectFailure(gateway.run('config.update', { path: ROLE, body: { nonsense: 'x' } }));
    expect((await expectFailure(gateway.run('journal.undo', { id: refused.cause?.journal }))).message).toContain('changed nothing');
    expect((await expectFailure(gateway.run('journal.undo', { id: 'nonsense' }))).message).toContain(
      'There is no entry "nonsense" in the journal of this appliance.',
    );
    for (const id of [{}, { id: 7 }, { id: '' }])
      expect((await expectFailure(gateway.run('journal.undo', { id: [id] }))).message).toBe(
        'id must be the id of an entry, an entry, or an array of them. Nothing was sent.',
      );
    const id = await readJournalId(gateway.run('config.update', { path: ROLE, body: { description: 'x' } }));
    const other = gatewayFor(simulator, { name: 'vpn-2', journal });
    expect((await expectFailure(other.run('journal.undo', { id }))).message).toContain(
      `${id} is an entry of the appliance "vpn-1": undo it there.`,
    );
    // Changed undo data is refused.
    const undoFile = join(journal, 'undo', listJournalFiles(journal)[0] ?? '');
    writeFileSync(undoFile, readFileSync(undoFile, 'utf8').replaceAll('"description":""', '"description":"forged"'));
    expect((await expectFailure(gateway.run('journal.undo', { id }))).message).toContain('was changed');
  });

  it.each<[string, string, Record<string, unknown>]>([
    ['a deletion', 'config.delete', { path: `${ROLES}/Unused` }],
    ['a creation', 'config.update', { path: `${ROLES}/New`, body: { description: 'x' } }],
    ['a change', 'config.update', { path: ROLE, body: { description: 'x' } }],
  ])('journal.undo compares with the sent body if the outcome is unknown and cannot be checked: %s', async (_what, operation, input) => {
    for (const afterEffect of [true, false]) {
      const { simulator, gateway } = await startWithJournal();
      const before = serializeConfiguration(simulator);
      const isWrite = ({ method }: { method: string }): boolean => method === 'PUT' || method === 'DELETE';
      const close = () => simulator.fault({ match: ({ method }) => method === 'GET', status: 403, times: Infinity });
      simulator.fault({ match: isWrite, cut: 'before-headers', afterEffect, sideEffect: close });
      const { code, cause } = await expectFailure(gateway.run(operation, input));
      expect(code).toBe('OUTCOME_UNKNOWN');
      simulator.clearFaults();
      expect(serializeConfiguration(simulator) === before).toBe(!afterEffect);
      const { envelope } = await gateway.run('journal.undo', { id: cause?.journal });
      expect(envelope.changed).toBe(afterEffect);
      expect(serializeConfiguration(simulator)).toBe(before);
      // The current state is neither the one after the write nor the one before it.
      role(simulator).values.set('description', 'theirs');
      if (operation === 'config.update' && input['path'] === ROLE) {
        const error = await expectFailure(gateway.run('journal.undo', { id: cause?.journal }));
        expect(error).toMatchObject({ code: 'CONFLICT', cause: { diff: [{ before: 'x', after: 'theirs' }] } });
      }
    }
  });

  it('journal.undo does not delete a created resource that was replaced since', async () => {
    const { simulator, gateway } = await startWithJournal();
    const path = `${ROLES}/New`;
    const roles = simulator.state.configuration.collection(...ROLES.split('/'));
    const close = () => simulator.fault({ match: ({ method }) => method === 'GET', status: 403, times: Infinity });
    simulator.fault({ match: ({ method }) => method === 'PUT', sideEffect: close });
    const id = await readJournalId(gateway.run('config.update', { path, body: { description: 'x' } }));
    simulator.clearFaults();
    roles.items.get('New')?.values.set('description', 'theirs');
    const error = await expectFailure(gateway.run('journal.undo', { id }));
    expect(error.message).toContain(
      `Somebody has changed /api/v1/configuration/${path} since this write. Nothing was restored. The difference is in cause.diff.`,
    );
    expect(error.cause?.diff).toMatchObject([{ field: '/description', before: 'x', after: 'theirs' }]);
    roles.items.delete('New');
    const missingError = await expectFailure(gateway.run('journal.undo', { id }));
    expect(missingError.cause?.diff).toEqual([
      { path: `/api/v1/configuration/${path}`, field: '', before: { description: 'x' }, after: null },
    ]);
  });

  it('journal.undo does not overwrite a resource that was created after the deletion', async () => {
    const { simulator, gateway } = await startWithJournal();
    const id = await readJournalId(gateway.run('config.delete', { path: `${ROLES}/Unused` }));
    simulator.state.configuration.collection(...ROLES.split('/')).add({ name: 'Unused', description: 'theirs' });
    const error = await expectFailure(gateway.run('journal.undo', { id }));
    expect(error.code).toBe('CONFLICT');
    const [first] = error.cause?.diff as unknown[];
    expect(first).toMatchObject({ field: '', before: null, after: { description: 'theirs' } });
  });

  it('journal.undo sends only the fields that differ', async () => {
    const { simulator, gateway } = await startWithJournal();
    const undoEntry = async (id: string): Promise<[string[], unknown]> => {
      simulator.requests.length = 0;
      const { envelope } = await gateway.run('journal.undo', { id });
      return [listWriteLines(simulator).map((line) => line.replace('/api/v1/configuration/', '')), envelope.incomplete];
    };
    // Changes a linked part of the resource.
    const body = { description: '', general: { 'session-options': { 'idle-timeout': '33' } } };
    expect(await undoEntry(await readJournalId(gateway.run('config.update', { path: ROLE, body })))).toEqual([
      [`PUT ${ROLE}/general/session-options`],
      undefined,
    ]);
    // A resource that only links comes back with its parent.
    const [deleted] = await undoEntry(await readJournalId(gateway.run('config.delete', { path: `${ROLES}/Unused` })));
    expect(deleted).toEqual(['', '/general/overview', '/general/session-options'].map((part) => `PUT ${ROLES}/Unused${part}`));
    // A written secret may have changed although no shown value differs.
    const path = 'authentication/auth-servers/auth-server/System Local/local/users/user/contractor1';
    const secret = await readJournalId(gateway.run('config.update', { path, body: { 'password-cleartext': 's3cret-word' } }));
    const encodedPath = encodeURI(path);
    expect(await undoEntry(secret)).toEqual([
      [`PUT ${encodedPath}`],
      [{ path: `/api/v1/configuration/${encodedPath}`, field: '/password-cleartext' }],
    ]);
  });

  it('journal.undo gives a restored user a random password', async () => {
    const { simulator, gateway } = await startWithJournal();
    const server = { server: 'System Local', 'password-cleartext': 's3cret-word' };
    for (const username of ['one', 'two']) await gateway.run('users.create', { ...server, username });
    const ids = [];
    for (const username of ['one', 'two']) ids.push(await readJournalId(gateway.run('users.delete', { server: 'System Local', username })));
    await gateway.run('journal.undo', { id: ids });
    const users = simulator.state.configuration.collection(
      'authentication',
      'auth-servers',
      'auth-server',
      'System Local',
      'local',
      'users',
      'user',
    );
    const passwords = ['one', 'two'].map((name) => users.items.get(name)?.values.get('password-cleartext'));
    for (const password of passwords) expect(password).toMatch(/^aA1![\w-]{43}$/);
    expect(new Set(passwords).size).toBe(2);
  });

  it('journal.undo throws CONFLICT if the restored state differs from the earlier one', async () => {
    const { simulator, gateway } = await startWithJournal();
    const id = await readJournalId(gateway.run('config.update', { path: ROLE, body: { description: 'ours' } }));
    const theirs = (): void => void role(simulator).values.set('description', 'theirs');
    simulator.fault({ match: ({ method }) => method === 'PUT', sideEffect: theirs });
    const error = await expectFailure(gateway.run('journal.undo', { id }));
    expect(error).toMatchObject({
      code: 'CONFLICT',
      cause: { changed: true, diff: [{ field: '/description', before: '', after: 'theirs' }] },
    });
    expect(error.message).toContain(
      'The earlier state was written, but the resource still differs from it. The difference is in cause.diff.',
    );
  });

  it('journal.undo throws BAD_CONFIG without a journal, and names the field of an invalid time', async () => {
    const { simulator, gateway } = await startWithJournal();
    const bare = await expectFailure(gatewayFor(simulator, { name: 'vpn-3' }).run('journal.verify'));
    expect([bare.code, bare.message, bare.details.sent]).toEqual([
      'BAD_CONFIG',
      'The appliance vpn-3 has no journal. Enter a folder in the appliance node.',
      false,
    ]);
    for (const field of ['since', 'until']) {
      const error = await expectFailure(gateway.run('journal.list', { [field]: 'soon' }));
      expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringMatching(new RegExp(`^${field} `))]);
    }
    expect((await gateway.run('journal.undo', { id: [] })).envelope).not.toHaveProperty('incomplete');
  });

  it('journal.undo explains why an entry has no undo data', async () => {
    const { simulator, gateway } = await startWithJournal({ sessions: 1 });
    const kill = gateway.run('sessions.kill-matching', { filter: { 'login-node': 'gateway-1' } });
    const undoMessage = async (id: unknown): Promise<string> => (await expectFailure(gateway.run('journal.undo', { id }))).message;
    const killed = (await kill).envelope.journal as string;
    expect(await undoMessage(killed)).toContain(
      `${killed} (sessions.kill-matching) has no undo: only writes to the configuration can be undone.`,
    );
    const refused = (await expectFailure(gateway.run('config.update', { path: ROLE, body: { nonsense: 'x' } }))).cause?.journal as string;
    expect(await undoMessage(refused)).toContain(`${refused} (config.update) failed and changed nothing, so there is nothing to undo.`);
    simulator.fault({ match: ({ method, path }) => method === 'GET' && path.includes('configuration'), status: 403 });
    const unread = await readJournalId(gateway.run('config.update', { path: ROLE, body: { description: 'x' } }));
    expect(await undoMessage(unread)).toContain(`${unread} (config.update) has no undo: the earlier state could not be read.`);
  });

  it('journal.undo supports a dry run', async () => {
    const { simulator, gateway } = await startWithJournal();
    const id = await readJournalId(gateway.run('config.update', { path: ROLE, body: { description: 'x' } }));
    simulator.requests.length = 0;
    const { envelope } = await gateway.run('journal.undo', { id }, { dryRun: true });
    expect(envelope.plan).toMatchObject([{ method: 'PUT', body: { description: '' } }]);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('journal.undo restores the configuration after 200 mixed writes, newest first, and records each undo in the journal', async () => {
    const { simulator, gateway } = await startWithJournal();
    const before = serializeConfiguration(simulator);
    for (const [operation, input] of createMixedWrites(200)) await gateway.run(operation, input);
    const entries = await fetchJournalEntries(gateway);
    expect(entries.length).toBeGreaterThanOrEqual(200);
    expect(entries.filter(({ undo }) => !undo)).toEqual([]);
    expect(serializeConfiguration(simulator)).not.toBe(before);
    const { data, envelope } = await gateway.run('journal.undo', { id: entries });
    expect(asBulkResult(data).results.filter((result) => 'ok' in result && !result.ok)).toEqual([]);
    expect(serializeConfiguration(simulator)).toBe(before);
    expect(envelope).toMatchObject({ ok: true, changed: true });
    // The passwords of deleted users.
    expect(new Set((envelope.incomplete as FieldLocation[]).map(({ field }) => field))).toEqual(new Set(['/password-cleartext']));
    expect((await fetchJournalEntries(gateway, { 'operation-name': 'journal.undo' })).length).toBeGreaterThanOrEqual(200);
    expect(await checkJournal(gateway)).toMatchObject({ ok: true });
  });
});

describe('undoing a creation under another name', () => {
  const COLLECTION = '/api/v1/configuration/realms/ips';

  /** Starts an appliance that appends a netmask to each new item. `extra` are items that somebody else creates at the same time. */
  async function startRenamingAppliance(extra: readonly string[] = []) {
    const items = new Map<string, object>();
    const server = await startRawServer(({ method, path, body }) => {
      if (path.endsWith('/system-information')) return httpResponse(200, '{"system-information":{"serial-number":"S1"}}');
      const name = decodeURIComponent(path.slice(COLLECTION.length + 1));
      if (method === 'POST') {
        const item = JSON.parse(body) as { address: string };
        for (const address of [item.address, ...extra]) items.set(`${address}/32`, { ...item, netmask: '32' });
      }
      if (method === 'DELETE') items.delete(name);
      if (method !== 'GET') return httpResponse(200, '{"result":{"info":[{"message":"done"}]}}');
      const links = [...items.keys()].map((item) => ({ name: item, href: `${COLLECTION}/${encodeURIComponent(item)}` }));
      if (path === COLLECTION) return httpResponse(200, JSON.stringify({ ip: links }));
      const item = items.get(name);
      return item ? httpResponse(200, JSON.stringify(item)) : httpResponse(404);
    });
    const journal = createTemporaryFolder();
    return { items, gateway: gatewayFor(server, { journal }) };
  }

  const create = { path: 'realms/ips', body: { address: '10.9.9.9' } };

  it('journal.undo finds the created item by comparing the collection before and after', async () => {
    const { items, gateway } = await startRenamingAppliance();
    const id = await readJournalId(gateway.run('config.create', create));
    expect([...items.keys()]).toEqual(['10.9.9.9/32']);
    expect((await fetchJournalEntries(gateway))[0]).toMatchObject({ undo: true, changed: true });
    await gateway.run('journal.undo', { id });
    expect([...items.keys()]).toEqual([]);
  });

  it('a creation whose item has another name has no undo if several items could be the created one', async () => {
    const { items, gateway } = await startRenamingAppliance(['10.9.9.8']);
    const id = await readJournalId(gateway.run('config.create', create));
    expect((await fetchJournalEntries(gateway))[0]).toMatchObject({ ok: true, undo: false, changed: null, diff: null });
    expect((await expectFailure(gateway.run('journal.undo', { id }))).code).toBe('BAD_INPUT');
    expect(items.size).toBe(2);
  });
});
