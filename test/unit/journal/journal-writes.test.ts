import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Difference } from '../../../src/change/compare';
import {
  listRequests,
  expectFailure,
  gatewayFor,
  SYSTEM_INFORMATION_PATH,
  listRequestLines,
  asBulkResult,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { JournalWriter, type JournalEntryFields } from '../../../src/journal/journal-writer';
import {
  serializeConfiguration,
  listJournalFiles,
  createTemporaryFolder,
  startWithJournal,
  readAllJournalLines,
  fetchJournalEntries,
  checkJournal,
  withPatchedFileHandles,
} from '../../helpers/journal';

const TREE = '/api/v1/configuration';
const PATIENTLY = { timeout: 60_000 };
const ROLE = 'users/user-roles/user-role/Users';
const USER = `${TREE}/authentication/auth-servers/auth-server/System%20Local/local/users/user/contractor1`;
const GROUPS = `${TREE}/authentication/auth-servers/auth-server/Corp%20AD/ad/server-catalog/groups`;
const user = { server: 'System Local', username: 'contractor1' };
const group = { server: 'Corp AD', directory: 'ad', groups: [{ name: 'New', group: 'CORP\\New' }] };

/** Requests to the tree. The identity of the appliance is read once. */
const listTreeRequests = (all: readonly string[]): string[] => all.filter((line) => line.includes(TREE));

describe('a write with a journal', () => {
  it.each([
    ['that reads before itself', 'users.disable', user, [`GET ${USER}`, `PUT ${USER}/enabled`, `GET ${USER}`]],
    ['that reads back itself', 'groups.add', group, [`GET ${GROUPS}`, `PUT ${GROUPS}`, `GET ${GROUPS}`]],
    [
      'that looks twice before',
      'config.ensure',
      { path: ROLE, body: { description: 'x' } },
      ['GET', 'GET', 'PUT', 'GET'].map((method) => `${method} ${TREE}/${ROLE}`),
    ],
    [
      'that creates',
      'config.ensure',
      { path: 'users/user-roles/user-role/New', body: { description: 'x' } },
      ['GET', 'GET', 'PUT', 'GET'].map((method) => `${method} ${TREE}/users/user-roles/user-role/New`),
    ],
    [
      'that does not look',
      'config.update',
      { path: ROLE, body: { description: 'x' } },
      ['GET', 'PUT', 'GET'].map((method) => `${method} ${TREE}/${ROLE}`),
    ],
  ])('a write with a journal reads nothing twice for %s: %s', async (_what, operation, input, expected) => {
    const { simulator, gateway } = await startWithJournal();
    const { envelope } = await gateway.run(operation, input);
    // A created resource is read with everything below it.
    expect(listTreeRequests(listRequestLines(simulator)).slice(0, expected.length)).toEqual(expected);
    const below = listTreeRequests(listRequestLines(simulator)).slice(expected.length);
    expect(below.filter((line) => !line.startsWith(`${expected.at(-1)}/`))).toEqual([]);
    const [entry] = await fetchJournalEntries(gateway);
    expect(entry).toMatchObject({ ok: true, changed: true, undo: true });
    await gateway.run('journal.undo', { id: envelope.journal });
    expect(await checkJournal(gateway)).toMatchObject({ ok: true });
  });

  it.each([true, false])(
    'a write with a journal reads the resource again after waiting for another write, even of the same gateway (%s)',
    async (same) => {
      const { simulator, gateway, journal } = await startWithJournal();
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      const other = same ? gateway : gatewayFor(simulator, { name: 'vpn-1', journal });
      // The first write has only read the state so far.
      simulator.fault({ match: ({ path }) => path === USER, until: held });
      const path = decodeURIComponent(USER.slice(TREE.length + 1));
      const first = other.run('config.update', { path, body: { enabled: 'false', fullname: 'First' } });
      await expect.poll(() => listTreeRequests(listRequestLines(simulator)), PATIENTLY).toHaveLength(1);
      const second = gateway.run('users.disable', user);
      await expect.poll(() => listTreeRequests(listRequestLines(simulator)), PATIENTLY).toHaveLength(2);
      release();
      await Promise.all([first, second]);
      const [later] = await fetchJournalEntries(gateway);
      expect(later).toMatchObject({ operation: 'users.disable', changed: false, diff: [] });
      await gateway.run('journal.undo', { id: later?.id });
      expect((await gateway.run('users.get', user)).data).toMatchObject({ fullname: 'First', enabled: 'false' });
    },
  );

  it('a write with a journal waits for a write that creates the same item, but not for other items', async () => {
    const { simulator, gateway } = await startWithJournal();
    let release = (): void => undefined;
    simulator.fault({
      match: ({ method, path }) => method === 'POST' && path.includes(TREE),
      until: new Promise<void>((resolve) => (release = resolve)),
    });
    const roles = 'users/user-roles/user-role';
    const created = gateway.run('config.create', { path: roles, body: { name: 'New', description: 'x' } });
    await expect.poll(() => listWriteLines(simulator).length, PATIENTLY).toBe(1);
    const changed = gateway.run('config.update', { path: `${roles}/New`, body: { description: 'y' } });
    await gateway.run('config.update', { path: ROLE, body: { description: 'z' } });
    expect(listTreeRequests(listRequestLines(simulator)).filter((line) => line.endsWith('/New'))).toEqual([]);
    release();
    await Promise.all([created, changed]);
    expect((await fetchJournalEntries(gateway)).map(({ operation, diff }) => [operation, diff?.[0]?.before])).toEqual([
      ['config.update', 'x'],
      ['config.update', ''],
      ['config.create', null],
    ]);
  });

  it.each([
    ['what the appliance changed by itself', { changesField: 'description' }, 'set by the appliance'],
    ['what a PUT took away that nobody had given', { putMerges: false }, ''],
  ])('a write with a journal records %s', async (_what, variants, after) => {
    const { simulator, gateway } = await startWithJournal({ variants });
    const server = simulator.state.configuration.resource('authentication', 'auth-servers', 'auth-server', 'System Local');
    server.values.set('description', 'of before');
    const path = 'authentication/auth-servers/auth-server/System Local';
    const { envelope } = await gateway.run('config.update', { path, body: { 'auth-server-type': 'local' } });
    const [entry] = await fetchJournalEntries(gateway);
    expect(entry?.diff).toEqual([expect.objectContaining({ field: '/description', before: 'of before', after })]);
    // A field that the appliance sets at each write cannot be restored.
    if (after !== '') return;
    await gateway.run('journal.undo', { id: envelope.journal });
    expect(server.values.get('description')).toBe('of before');
  });

  it('a write of a field is recorded and can be undone, even if the appliance does not show the field alone', async () => {
    const { simulator, gateway } = await startWithJournal();
    simulator.fault({ match: ({ method, path }) => method === 'GET' && path.endsWith('/enabled'), times: Infinity, status: 404 });
    const before = serializeConfiguration(simulator);
    await gateway.run('users.disable', user);
    const [entry] = await fetchJournalEntries(gateway);
    expect(entry).toMatchObject({ undo: true, diff: [{ path: `${USER}/enabled`, field: '/enabled', after: 'false' }] });
    await gateway.run('journal.undo', { id: entry?.id });
    expect(serializeConfiguration(simulator)).toBe(before);
  });

  it('a journal entry has changed: false if the write changed nothing', async () => {
    const { gateway } = await startWithJournal();
    await gateway.run('config.update', { path: ROLE, body: { description: '' } });
    expect(await fetchJournalEntries(gateway)).toMatchObject([{ ok: true, changed: false, diff: [] as Difference[] }]);
  });

  it.each([403, 404, 500, 'x', '{}', '{"system-information":{"serial-number":7}}'])(
    'a journal entry has no serial number if the appliance shows none (%s), and only one read asks for it',
    async (answer) => {
      const { simulator, gateway } = await startWithJournal();
      const fault = typeof answer === 'number' ? { status: answer } : { body: answer };
      simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, times: Infinity, ...fault });
      for (const description of ['a', 'b']) await gateway.run('config.update', { path: ROLE, body: { description } });
      expect((await fetchJournalEntries(gateway)).map((entry) => entry['serial-number'])).toEqual([null, null]);
      const before = listRequestLines(simulator).filter((line) => line.endsWith(SYSTEM_INFORMATION_PATH)).length;
      await gateway.run('config.update', { path: ROLE, body: { description: 'c' } });
      expect(listRequestLines(simulator).filter((line) => line.endsWith(SYSTEM_INFORMATION_PATH))).toHaveLength(before);
    },
  );

  it('a write with a journal is not sent if the serial number cannot be read because of a connection failure', async () => {
    const { simulator, gateway } = await startWithJournal();
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, times: Infinity, cut: 'before-headers' });
    expect((await expectFailure(gateway.run('config.update', { path: ROLE, body: { description: 'a' } }))).code).toBe('CONNECTION');
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('a journal entry contains the query of the write, omits empty fields, and names the initiator if there is one', async () => {
    const { simulator, gateway } = await startWithJournal();
    await gateway.run('request.post', { path: 'license/license-key', query: { action: 'x' }, body: { a: '1' } }).catch(() => undefined);
    await gateway.run('config.delete', { path: 'users/user-roles/user-role/Unused' }, { initiator: { actor: 'j.doe' } });
    const [removed, posted] = await fetchJournalEntries(gateway);
    expect(removed).toMatchObject({ node: null, flow: null, actor: 'j.doe', status: 204, ok: true });
    expect(removed?.changed).toBe(true);
    expect(removed?.diff?.length).toBeGreaterThan(0);
    expect(removed?.diff?.every(({ before, after }) => before !== null && after === null)).toBe(true);
    // A deleted resource need not be read.
    expect(listRequestLines(simulator).at(-1)).toBe(`DELETE ${TREE}/users/user-roles/user-role/Unused`);
    expect(Object.keys(removed?.request ?? {})).toEqual(['method', 'path']);
    expect(posted).toMatchObject({ actor: null, undo: false, diff: null, request: { query: { action: 'x' }, body: { a: '1' } } });
  });

  it('a write outside the configuration does not wait for other writes and has no difference in the journal', async () => {
    const { simulator, gateway } = await startWithJournal({ sessions: 1 });
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    simulator.fault({ match: ({ method }) => method === 'DELETE', until: held });
    const kills = ['one', 'two'].map(() => gateway.run('sessions.kill-all'));
    await expect.poll(() => listWriteLines(simulator), PATIENTLY).toHaveLength(2);
    release();
    await Promise.all(kills);
    for (const entry of await fetchJournalEntries(gateway))
      expect(entry).toMatchObject({ ok: true, changed: true, diff: null, undo: false });
  });

  it('a write whose earlier state cannot be read is recorded without undo data', async () => {
    const { gateway, journal } = await startWithJournal();
    const path = 'configuration/users/user-roles/user-role';
    await expectFailure(gateway.run('request.post', { path, body: { description: 'x' } }));
    const [announced] = readAllJournalLines(journal);
    expect(announced).toMatchObject({ ok: null, undo: false });
    expect(announced).not.toHaveProperty('kept');
  });

  it.each<[string, Record<string, unknown>]>([
    ['config.update', { path: ROLE, body: { description: 'x' } }],
    ['config.delete', { path: ROLE }],
  ])('a write with an unknown outcome is read afterwards: %s', async (operation, input) => {
    const { simulator, gateway } = await startWithJournal();
    simulator.fault({ match: ({ method }) => method !== 'GET', skip: 1, cut: 'before-headers', afterEffect: true });
    await gateway.run('system.info');
    expect((await expectFailure(gateway.run(operation, input))).code).toBe('OUTCOME_UNKNOWN');
    expect(listRequestLines(simulator).at(-1)?.startsWith(`GET ${TREE}/${ROLE}`)).toBe(true);
    expect(await fetchJournalEntries(gateway)).toMatchObject([{ ok: false, code: 'OUTCOME_UNKNOWN', changed: null, undo: true }]);
  });

  it('a refused write is recorded with its status, and the resource is not read afterwards', async () => {
    const { simulator, gateway } = await startWithJournal();
    await expectFailure(gateway.run('config.update', { path: ROLE, body: { nonsense: 'x' } }));
    expect(await fetchJournalEntries(gateway)).toMatchObject([
      { ok: false, code: 'REJECTED', status: 422, changed: false, diff: null, undo: false },
    ]);
    expect(listRequestLines(simulator).at(-1)).toBe(`PUT ${TREE}/${ROLE}`);
  });

  it('a write that changes only a secret is recorded as a change, although no comparable field differs', async () => {
    const { gateway } = await startWithJournal();
    const path = decodeURIComponent(USER.slice(TREE.length + 1));
    await gateway.run('config.update', { path, body: { 'password-cleartext': 's3cret-word' } });
    expect(await fetchJournalEntries(gateway)).toMatchObject([{ changed: true, diff: [], undo: true }]);
  });

  it.each([ROLE, 'users/user-roles/user-role/New'])(
    'a write whose later state cannot be read is recorded with its intended change: %s',
    async (path) => {
      const { simulator, gateway } = await startWithJournal();
      const isExisting = path === ROLE;
      const isRead = ({ method }: { method: string }): boolean => method === 'GET';
      const close = () => simulator.fault({ match: isRead, status: 403, times: Infinity });
      simulator.fault({ match: ({ method }) => method === 'PUT', sideEffect: close });
      await gateway.run('config.update', { path, body: { description: 'x' } });
      simulator.clearFaults();
      const [entry] = await fetchJournalEntries(gateway);
      expect(entry?.diff).toMatchObject([
        isExisting
          ? { path: `${TREE}/${path}`, field: '/description', before: '', after: 'x' }
          : { path: `${TREE}/${path}`, field: '', before: null, after: { description: 'x' } },
      ]);
    },
  );

  it('a write succeeds even if its journal entry cannot be completed, and reports that', async () => {
    const { simulator, gateway, journal } = await startWithJournal();
    let full = false;
    simulator.fault({ match: ({ method }) => method === 'PUT', sideEffect: () => void (full = true) });
    const broken = () => Promise.reject(Object.assign(new Error('no room'), { code: 'ENOSPC' }));
    await withPatchedFileHandles({ write: (own) => (full ? broken() : own()) }, async () => {
      const { envelope } = await gateway.run('config.update', { path: ROLE, body: { description: 'a' } });
      expect(envelope).toMatchObject({ ok: true, changed: true, 'journal-incomplete': true });
      expect((await expectFailure(gateway.run('config.update', { path: ROLE, body: { description: 'b' } }))).code).toBe('BAD_CONFIG');
    });
    expect(readAllJournalLines(journal).map(({ ok }) => ok)).toEqual([null]);
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('a journal entry is written again if the journal file was removed meanwhile', async () => {
    const { simulator, gateway, journal } = await startWithJournal();
    await gateway.run('config.update', { path: ROLE, body: { description: 'a' } });
    const [lost = ''] = listJournalFiles(journal);
    rmSync(join(journal, lost));
    const runs = Array.from({ length: 20 }, (_, index) =>
      gateway.run('config.update', { path: ROLE, body: { description: String(index) } }),
    );
    await Promise.all(runs);
    expect(await fetchJournalEntries(gateway)).toHaveLength(20);
    // The lost file is reported from now on.
    expect(await checkJournal(gateway)).toMatchObject({ ok: false, broken: [{ file: lost, line: 0 }] });
    expect(listRequests(simulator).filter(({ method }) => method === 'PUT')).toHaveLength(21);
  });

  it('the first write of another day starts a new journal file that refers to the previous one', async () => {
    const { gateway, journal } = await startWithJournal();
    const update = (description: string) => gateway.run('config.update', { path: ROLE, body: { description } });
    vi.useFakeTimers({ toFake: ['Date'], now: new Date(new Date().setUTCHours(23, 59, 59, 999)) });
    onTestFinished(() => void vi.useRealTimers());
    await update('a');
    vi.setSystemTime(Date.now() + 1);
    await Promise.all(['b', 'c'].map(update));
    const [first = '', second = ''] = listJournalFiles(journal);
    expect(listJournalFiles(journal)).toHaveLength(2);
    expect(second.slice(0, 8) > first.slice(0, 8)).toBe(true);
    const begin = readAllJournalLines(journal).find(({ follows, prev }) => prev === '' && follows?.length);
    expect(begin?.follows).toMatchObject([{ file: first }]);
    expect(await checkJournal(gateway)).toMatchObject({ files: 2, entries: 3, ok: true });
    expect(
      (await fetchJournalEntries(gateway)).map(({ request }) => (request.body as { description: string }).description).slice(-1),
    ).toEqual(['a']);
    // The line at the end of the previous day is missing.
    const lines = readFileSync(join(journal, first), 'utf8').split('\n').slice(0, -2);
    writeFileSync(join(journal, first), `${lines.join('\n')}\n`);
    expect(await checkJournal(gateway)).toMatchObject({ ok: false, broken: [{ file: first, line: 1 }] });
  });

  it('a write is not sent if the disk refuses its journal line, and the next line starts a new file', async () => {
    const { simulator, gateway, journal } = await startWithJournal({ sessions: 3 });
    await gateway.run('config.update', { path: ROLE, body: { description: 'a' } });
    const broken = () => Promise.reject(Object.assign(new Error('broken disk'), { code: 'EIO' }));
    await withPatchedFileHandles({ datasync: broken }, async () => {
      const error = await expectFailure(gateway.run('sessions.kill-matching', { filter: { 'login-node': 'gateway-1' } }));
      expect(error).toMatchObject({ code: 'BAD_CONFIG', details: { sent: false } });
    });
    expect(listWriteLines(simulator)).toHaveLength(1);
    const { data } = await gateway.run('sessions.kill-matching', { filter: { 'login-node': 'gateway-1' } });
    expect(asBulkResult(data).ok).toBe(3);
    expect(listJournalFiles(journal)).toHaveLength(2);
    expect(readAllJournalLines(journal).filter(({ ok }) => ok)).toHaveLength(4);
    expect(await checkJournal(gateway)).toMatchObject({ ok: true });
  });

  it('simultaneous writes share one flush of the journal', async () => {
    const writer = JournalWriter.forFolder(createTemporaryFolder());
    const entryFields = { at: '', appliance: 'vpn-1', operation: 'x', request: { method: 'PUT', path: '/' } } as JournalEntryFields;
    const announce = (count: number) => Promise.all(Array.from({ length: count }, () => writer.announce(entryFields, undefined)));
    await announce(1);
    let flushes = 0;
    const count = (flush: () => Promise<void>) => (flushes++, flush());
    await withPatchedFileHandles({ datasync: count }, async () => {
      expect(new Set(await announce(50)).size).toBe(50);
      // Only announcements wait for a flush.
      await Promise.all((await announce(1)).map((id) => writer.complete(id, entryFields)));
    });
    expect(flushes).toBe(2);
  });

  it('a journal works on a file system that does not report the number of names of a file', async () => {
    const { gateway } = await startWithJournal();
    await withPatchedFileHandles({ stat: async (own) => Object.assign((await own()) as unknown as object, { nlink: 0 }) }, async () => {
      await gateway.run('config.update', { path: ROLE, body: { description: 'a' } });
    });
    expect((await fetchJournalEntries(gateway)).filter(({ ok }) => ok)).toHaveLength(1);
  });
});
