import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listRequests, expectFailure, listRequestLines, asBulkResult, listWriteLines } from '../../helpers/simulated-appliance';
import {
  listJournalFiles,
  createTemporaryFolder,
  startWithJournal,
  readAllJournalLines,
  rewriteForFile,
  fetchJournalEntries,
  checkJournal,
  withPatchedFileHandles,
} from '../../helpers/journal';

const ROLE = 'users/user-roles/user-role/Users';
const PATH = `/api/v1/configuration/${ROLE}`;
const USER = { server: 'System Local', username: 'j.doe', 'password-cleartext': 's3cret-word' };

describe('a journal', () => {
  it('a journal records each write with its request before and after sending', async () => {
    const { gateway, journal } = await startWithJournal();
    const initiator = { node: 'Change (a1)', flow: 'Flow 1', actor: 'j.doe' };
    const { envelope } = await gateway.run('config.update', { path: ROLE, body: { description: 'new' } }, { initiator });
    const [announced, completed] = readAllJournalLines(journal);
    expect(envelope.journal).toBe(announced?.id);
    expect(announced).toMatchObject({
      id: completed?.id,
      appliance: 'vpn-1',
      'serial-number': expect.stringMatching(/^\w+$/) as string,
      ...initiator,
      operation: 'config.update',
      request: { method: 'PUT', path: PATH, body: { description: 'new' } },
      status: null,
      ok: null,
      code: null,
      changed: null,
      diff: null,
      undo: true,
      prev: '',
      follows: [],
    });
    expect(completed).toMatchObject({
      status: 200,
      ok: true,
      code: null,
      changed: true,
      diff: [{ path: PATH, field: '/description', before: '', after: 'new' }],
      undo: true,
      prev: announced?.hash,
    });
    expect(await fetchJournalEntries(gateway)).toHaveLength(1);
    expect(await checkJournal(gateway)).toEqual({ files: 1, entries: 1, ok: true, broken: [] });
    expect(statSync(join(journal, listJournalFiles(journal)[0] ?? '')).mode & 0o777).toBe(0o600);
    expect(statSync(join(journal, 'undo')).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(join(journal, 'undo'))) expect(statSync(join(journal, 'undo', name)).mode & 0o777).toBe(0o600);
  });

  it('a journal entry names the person whose session was ended, because its path has only the session id', async () => {
    const { simulator, gateway } = await startWithJournal();
    simulator.state.sessions.add({ 'active-user-name': 'j.doe' });
    await gateway.run('sessions.kill-user', { name: 'j.doe' });
    expect(await fetchJournalEntries(gateway)).toMatchObject([{ operation: 'sessions.kill-user', person: 'j.doe', ok: true }]);
  });

  it('a journal line is on the disk before its write is sent', async () => {
    const { simulator, gateway, journal } = await startWithJournal();
    let announced: unknown;
    simulator.fault({ match: ({ method }) => method === 'PUT', sideEffect: () => (announced = readAllJournalLines(journal)) });
    await gateway.run('config.update', { path: ROLE, body: { description: 'new' } });
    expect(announced).toMatchObject([{ status: null, request: { path: PATH } }]);
  });

  it('a journal records every kind of write and failure, but no read and no plan', async () => {
    const { simulator, gateway } = await startWithJournal({ sessions: 5 });
    await gateway.run('sessions.list');
    await gateway.run('config.update', { path: ROLE, body: { description: 'x' } }, { dryRun: true });
    expect(await fetchJournalEntries(gateway)).toEqual([]);
    await gateway.run('sessions.kill-matching', { filter: { 'login-node': 'gateway-1' } });
    await expectFailure(gateway.run('config.update', { path: ROLE, body: { nonsense: 'x' } }));
    simulator.fault({ match: ({ method }) => method === 'PUT', cut: 'headers', afterEffect: true });
    await expectFailure(gateway.run('config.update', { path: ROLE, body: { description: 'x' } }));
    const entries = await fetchJournalEntries(gateway);
    expect(entries.map(({ operation, ok, code, changed, undo }) => [operation, ok, code, changed, undo])).toEqual([
      ['config.update', false, 'OUTCOME_UNKNOWN', null, true],
      ['config.update', false, 'REJECTED', false, false],
      ...Array.from({ length: 5 }, () => ['sessions.kill-matching', true, null, true, false]),
    ]);
    expect(await fetchJournalEntries(gateway, { 'operation-name': 'sessions.kill-matching', limit: 2 })).toHaveLength(2);
    expect(await fetchJournalEntries(gateway, { actor: 'nobody' })).toEqual([]);
    expect(await fetchJournalEntries(gateway, { since: new Date(Date.now() + 60_000).toISOString() })).toEqual([]);
    expect(await fetchJournalEntries(gateway, { since: '2020-01-01', until: new Date(Date.now() + 60_000).toISOString() })).toHaveLength(7);
    expect((await expectFailure(gateway.run('journal.list', { since: 'yesterday' }))).code).toBe('BAD_INPUT');
    expect(await checkJournal(gateway)).toMatchObject({ ok: true, entries: 7 });
  });

  it('a journal contains no secret, and its undo data contains no secret that was sent', async () => {
    const { gateway, journal } = await startWithJournal();
    await gateway.run('users.create', USER);
    await gateway.run('users.update', { ...USER, 'password-cleartext': 's3cret-other', fullname: 's3cret-other' });
    await gateway.run('config.update', { path: ROLE, body: { description: 's3cret-word' } }).catch(() => undefined);
    await expectFailure(gateway.run('config.create', { path: 'users/x', body: { 'shared-secret': 's3cret-third' } }));
    const journalText = listJournalFiles(journal)
      .map((name) => readFileSync(join(journal, name), 'utf8'))
      .join('');
    expect(journalText).toContain('"password-cleartext":"***"');
    expect(journalText).not.toMatch(/s3cret-(other|third)/);
    const undoTexts = readdirSync(join(journal, 'undo'))
      .map((name) => readFileSync(join(journal, 'undo', name), 'utf8'))
      .join('');
    expect(undoTexts).not.toMatch(/password-cleartext":"s3cret|s3cret-third/);
  });

  it.each([
    ['is a file', (folder: string) => writeFileSync(folder, 'x')],
    ['has a file where what is kept belongs', (folder: string) => (mkdirSync(folder), writeFileSync(join(folder, 'undo'), 'x'))],
  ])('a journal that cannot be written because it %s stops writes before they are sent, but not reads', async (_what, spoil) => {
    const folder = join(createTemporaryFolder(), 'journal');
    spoil(folder);
    const { simulator, gateway } = await startWithJournal({}, { journal: folder });
    const error = await expectFailure(gateway.run('config.update', { path: ROLE, body: { description: 'x' } }));
    expect(error.code).toBe('BAD_CONFIG');
    expect(error.message).toContain('journal');
    expect((await gateway.run('config.get', { path: ROLE })).envelope.ok).toBe(true);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('a removed journal folder stops all writes, and the loss is reported when the folder is back', async () => {
    const { simulator, gateway, journal } = await startWithJournal();
    await gateway.run('config.update', { path: ROLE, body: { description: 'a' } });
    const [lost = ''] = listJournalFiles(journal);
    expect(await checkJournal(gateway)).toMatchObject({ ok: true });
    rmSync(join(journal, lost));
    expect(await checkJournal(gateway)).toMatchObject({
      ok: false,
      broken: [
        { file: lost, line: 0, why: expect.stringMatching(/^it is missing, but this Node-RED wrote to it at 2.*begins anew$/) as string },
      ],
    });
    rmSync(journal, { recursive: true });
    expect((await expectFailure(gateway.run('config.update', { path: ROLE, body: { description: 'b' } }))).code).toBe('BAD_CONFIG');
    expect(existsSync(journal)).toBe(false);
    expect(listWriteLines(simulator)).toHaveLength(1);
    expect((await checkJournal(gateway)).broken).toMatchObject([{ file: lost }]);
    mkdirSync(journal);
    await gateway.run('config.update', { path: ROLE, body: { description: 'b' } });
    expect(await fetchJournalEntries(gateway)).toHaveLength(1);
    expect((await checkJournal(gateway)).broken).toMatchObject([{ file: lost, line: 0 }]);
  });

  it('a journal is not created if its parent folder does not exist, because a share may not be mounted', async () => {
    const { simulator, gateway } = await startWithJournal({}, { journal: join(createTemporaryFolder(), 'share', 'journal') });
    expect((await expectFailure(gateway.run('config.update', { path: ROLE, body: { description: 'x' } }))).code).toBe('BAD_CONFIG');
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('without a journal, a write causes no further requests and no files', async () => {
    const { simulator, gateway } = await startWithJournal({}, { journal: '' });
    const { envelope } = await gateway.run('config.update', { path: ROLE, body: { description: 'x' } });
    expect(listRequestLines(simulator)).toEqual([`PUT ${PATH}`]);
    expect(envelope).not.toHaveProperty('journal');
    expect(envelope).not.toHaveProperty('diff');
    for (const name of ['journal.list', 'journal.verify'] as const)
      expect((await expectFailure(gateway.run(name))).code).toBe('BAD_CONFIG');
  });

  it('a journal flushes once for many simultaneous writes, and reads nothing for writes without undo', async () => {
    const { simulator, gateway, journal } = await startWithJournal({ sessions: 100 });
    await gateway.run('config.update', { path: ROLE, body: { description: 'x' } });
    let flushes = 0;
    await withPatchedFileHandles({ datasync: (flush) => (flushes++, flush()) }, async () => {
      const { data } = await gateway.run('sessions.kill-matching', { filter: { 'login-node': 'gateway-1' }, max: 100 });
      expect(asBulkResult(data).ok).toBe(100);
    });
    expect(flushes).toBeGreaterThan(0);
    expect(flushes).toBeLessThanOrEqual(100);
    expect(listRequests(simulator).filter(({ method }) => method === 'DELETE')).toHaveLength(100);
    expect(readAllJournalLines(journal)).toHaveLength(202);
  });
});

describe('journal.verify', () => {
  /** A journal of some writes, in two files by two writers. */
  async function some(): ReturnType<typeof startWithJournal> {
    const running = await startWithJournal();
    for (const description of ['a', 'ä', 'c']) await running.gateway.run('config.update', { path: ROLE, body: { description } });
    return running;
  }

  it('journal.verify finds and reports every changed byte', async () => {
    const { gateway, journal } = await some();
    const [name = ''] = listJournalFiles(journal);
    const path = join(journal, name);
    const bytes = readFileSync(path);
    let line = 1;
    for (let at = 0; at < bytes.length; at++) {
      // The start, the hash and the end of a line are separate cases; of the rest, a sample is enough.
      const special = at < 20 || bytes[at] === 0x0a || bytes[at + 1] === 0x0a || at > bytes.length - 100;
      if (special || at % 29 === 0) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (bytes[at] ?? 0) ^ (1 << (at % 7));
        writeFileSync(path, flipped);
        const { ok, broken } = await checkJournal(gateway);
        expect(ok, `byte ${at}`).toBe(false);
        expect(
          broken.map((one) => [one.file, one.line]),
          `byte ${at} of line ${line}`,
        ).toContainEqual([name, line]);
      }
      if (bytes[at] === 0x0a) line++;
    }
    writeFileSync(path, bytes);
    expect(await checkJournal(gateway)).toMatchObject({ ok: true, entries: 3 });
  });

  it('journal.verify finds lines that were removed, moved or duplicated', async () => {
    const { gateway, journal } = await some();
    const path = join(journal, listJournalFiles(journal)[0] ?? '');
    const whole = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    const broken = async (...undoTexts: (string | undefined)[]): Promise<number[]> => {
      writeFileSync(path, undoTexts.map((line) => `${line}\n`).join(''));
      return (await checkJournal(gateway)).broken.map(({ line }) => line);
    };
    const [a, b, c, d, e, f] = whole;
    expect(await broken(b, c, d, e, f)).toEqual([1]);
    expect(await broken(a, c, d, e, f)).toEqual([2]);
    expect(await broken(a, b, b, c, d, e, f)).toEqual([3]);
    expect(await broken(a, c, b, d, e, f)).toEqual([2, 3, 4]);
    expect(await broken(a, b, c, d, e, f)).toEqual([]);
  });

  it('journal.verify finds a missing file, and a cut end if a later file exists', async () => {
    const { journal: source } = await some();
    const [first = ''] = listJournalFiles(source);
    // The file of another process, which is gone.
    const { gateway, journal } = await startWithJournal();
    const name = first.replace(/-\d+-(\w+)\.jsonl$/, '-999999999-$1.jsonl');
    writeFileSync(join(journal, name), rewriteForFile(readFileSync(join(source, first), 'utf8'), name));
    await gateway.run('config.update', { path: ROLE, body: { description: 'd' } });
    expect(listJournalFiles(journal)).toHaveLength(2);
    expect(await checkJournal(gateway)).toMatchObject({ files: 2, entries: 4, ok: true });
    const path = join(journal, name);
    const bytes = readFileSync(path);
    truncateSync(path, bytes.lastIndexOf('\n', bytes.length - 2) + 1);
    expect(await checkJournal(gateway)).toMatchObject({ ok: false, broken: [{ file: name, line: 5 }] });
    // A killed process leaves an incomplete line, but another file proves that there was more.
    truncateSync(path, bytes.lastIndexOf('\n', bytes.length - 2) + 1);
    writeFileSync(path, bytes.subarray(0, bytes.length - 30));
    expect((await checkJournal(gateway)).ok).toBe(false);
    rmSync(path);
    expect(await checkJournal(gateway)).toMatchObject({ ok: false, broken: [{ file: name, line: 0 }] });
    writeFileSync(path, bytes);
    expect((await checkJournal(gateway)).ok).toBe(true);
  });

  it('journal.verify accepts an incomplete last line unless its process is still running', async () => {
    const { gateway, journal } = await some();
    const [name = ''] = listJournalFiles(journal);
    const path = join(journal, name);
    const bytes = readFileSync(path);
    const half = bytes.subarray(0, bytes.length - 30);
    writeFileSync(path, half);
    expect(await checkJournal(gateway)).toMatchObject({ ok: false, broken: [{ file: name, line: 6 }] });
    rmSync(path);
    const goneName = name.replace(/-\d+-(\w+)\.jsonl$/, '-999999999-$1.jsonl');
    // Another folder, of which this process remembers nothing.
    const { gateway: other, journal: otherJournal } = await startWithJournal();
    const otherBytes = Buffer.from(rewriteForFile(bytes.toString(), goneName));
    const otherHalf = otherBytes.subarray(0, otherBytes.length - 30);
    writeFileSync(join(otherJournal, goneName), otherHalf);
    expect(await checkJournal(other)).toMatchObject({ ok: true, entries: 3 });
    expect(await fetchJournalEntries(other)).toHaveLength(3);
    // An incomplete line in the middle is an error.
    writeFileSync(join(otherJournal, goneName), Buffer.concat([otherHalf, Buffer.from('\n'), otherBytes]));
    expect((await checkJournal(other)).broken[0]).toMatchObject({ file: goneName, line: 6 });
    expect((await expectFailure(other.run('journal.list'))).code).toBe('BAD_CONFIG');
  });
});
