import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { Gateway } from '../../../src/gateway/gateway';
import { RecordSigner } from '../../../src/model/record-signer';
import { sealJournalLine, sha256, type JournalLine } from '../../../src/journal/journal-line';
import { JournalWriter } from '../../../src/journal/journal-writer';
import { verifyJournal } from '../../../src/journal/verify-journal';
import { getContainmentStores } from '../../../src/contain/containment-store';
import { WatchStateFile } from '../../../src/watch/watch-state-file';
import { withLockFile } from '../../../src/files/lock-file';
import { expectFailure, listWriteLines, settingsFor } from '../../helpers/simulated-appliance';
import { checkJournal, createTemporaryFolder, listJournalFiles, readAllJournalLines, startWithJournal } from '../../helpers/journal';
import { resetContainmentStores, resetJournalWriters } from '../../helpers/reset-process-state';

// Records that somebody else wrote into a folder.

const KEY = 'a key of the tests, 32 characters';
const ROLE = 'users/user-roles/user-role/Users';
const PATH = `/api/v1/configuration/${ROLE}`;
const FORGED_DATA = { subject: { paths: [PATH], deep: false }, before: { [PATH]: { description: 'forged' } }, method: 'PUT', body: {} };

const ENTRY_FIELDS = {
  ...{ at: '2026-11-20T08:00:00.000Z', appliance: 'vpn-1', 'serial-number': null, node: null, flow: null, actor: null },
  ...{
    operation: 'config.update',
    request: { method: 'PUT', path: '/' },
    status: 200,
    ok: true,
    code: null,
    changed: true,
    diff: null,
    undo: false,
  },
};

/** Writes a file whose chain is valid, as somebody without the key can. */
function plant(journal: string, name: string, lines: readonly object[]): void {
  let prev = '';
  const texts = lines.map((line, index) => {
    const sealed = sealJournalLine({ ...line, ...(index === 0 && { follows: [] }), prev });
    prev = sealed.hash;
    return sealed.text;
  });
  writeFileSync(join(journal, name), texts.join(''));
}

const withoutChain = (line: JournalLine): object => ({ ...line, ...NO_CHAIN });
const NO_CHAIN = { prev: undefined, hash: undefined, mac: undefined, follows: undefined, kept: undefined };

/** Plants undo data and returns its hash. */
function plantUndoData(journal: string, name: string, data: object): string {
  const text = JSON.stringify(data);
  writeFileSync(join(journal, 'undo', name), `${text}\n`);
  return sha256(text);
}

describe.each([
  ['with a signing key', { signingKey: KEY }],
  ['without a signing key', {}],
])('a journal %s', (_name, more) => {
  it('journal.undo ignores a planted file that repeats the id of an entry, and reports the file', async () => {
    const { simulator, gateway, journal } = await startWithJournal({}, more);
    const { envelope } = await gateway.run('config.update', { path: ROLE, body: { description: 'a' } });
    const [announced, completed] = readAllJournalLines(journal);
    const [own = ''] = listJournalFiles(journal);
    const name = own.replace(/[0-9a-f]{12}\.jsonl$/, 'ffffffffffff.jsonl');
    const kept = plantUndoData(journal, name, FORGED_DATA);
    plant(
      journal,
      name,
      [announced, completed].map((line) => ({ ...withoutChain(line as JournalLine), kept })),
    );
    const { ok, broken } = await checkJournal(gateway);
    expect([ok, new Set(broken.map(({ file }) => file))]).toEqual([false, new Set([name])]);
    const error = await expectFailure(gateway.run('journal.undo', { id: envelope.journal as string }));
    expect([error.code, error.message.includes(name)]).toEqual(['BAD_CONFIG', true]);
    expect((await expectFailure(gateway.run('journal.list'))).message).toContain(name);
    expect(listWriteLines(simulator)).toHaveLength(1);
    rmSync(join(journal, name));
    await gateway.run('journal.undo', { id: envelope.journal as string });
    expect(listWriteLines(simulator)).toHaveLength(2);
  });

  it('a journal accepts an entry whose second line is in a later file of the same process', async () => {
    const { gateway, journal } = await startWithJournal({}, more);
    await gateway.run('config.update', { path: ROLE, body: { description: 'a' } });
    const { signer } = gateway;
    const writer = JournalWriter.forFolder(journal);
    const fields = { ...ENTRY_FIELDS, appliance: 'vpn-1' };
    const id = await writer.announce(fields, undefined, signer);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
    try {
      await writer.complete(id, { ...fields, ok: true }, undefined, signer);
    } finally {
      vi.useRealTimers();
    }
    expect(listJournalFiles(journal)).toHaveLength(2);
    expect(await checkJournal(gateway)).toMatchObject({ ok: true, entries: 2 });
  });
});

describe('a signing key', () => {
  it('a signing key makes the journal report and ignore lines of its appliance without a valid signature', async () => {
    const { gateway, journal, simulator } = await startWithJournal({}, { signingKey: KEY });
    await gateway.run('config.update', { path: ROLE, body: { description: 'a' } });
    const [announced] = readAllJournalLines(journal);
    const stem = '20261120-00000000-4711-000000000001';
    const line = { ...withoutChain(announced as JournalLine), id: `${stem}-1`, ok: true, kept: '' };
    mkdirSync(join(journal, 'undo'), { recursive: true });
    line.kept = plantUndoData(journal, `${stem}.jsonl`, FORGED_DATA);
    plant(journal, `${stem}.jsonl`, [line]);
    expect((await checkJournal(gateway)).broken).toMatchObject([
      { file: `${stem}.jsonl`, line: 1, why: expect.stringContaining('no valid code') as string },
    ]);
    expect((await expectFailure(gateway.run('journal.undo', { id: `${stem}-1` }))).code).toBe('BAD_CONFIG');
    expect((await expectFailure(gateway.run('journal.list'))).message).toContain('no valid code');
    const other = new Gateway({ ...settingsFor(simulator), name: 'vpn-1', journal, signingKey: `${KEY}, another` });
    expect((await checkJournal(other)).broken.length).toBeGreaterThan(1);
    const foreign = new Gateway({ ...settingsFor(simulator), name: 'vpn-2', journal, signingKey: `${KEY}, another` });
    expect(await checkJournal(foreign)).toMatchObject({ ok: true });
    for (const one of [other, foreign]) one.close();
  });

  it('journal.undo with a signing key ignores undo data for another path than that of the request', async () => {
    const { gateway, journal, simulator } = await startWithJournal({}, { name: 'vpn-1' });
    await gateway.run('config.update', { path: ROLE, body: { description: 'a' } });
    const [announced] = readAllJournalLines(journal);
    const outside = '/api/v1/configuration/users/user-roles/user-role/Admins';
    for (const [index, path] of [outside, `${PATH}/../Admins`, `${PATH}/%2e%2e/Admins`].entries()) {
      const stem = `20261120-00000000-4711-00000000000${index}`;
      const kept = plantUndoData(journal, `${stem}.jsonl`, { ...FORGED_DATA, subject: { paths: [path], deep: false } });
      plant(journal, `${stem}.jsonl`, [{ ...withoutChain(announced as JournalLine), id: `${stem}-1`, ok: true, kept }]);
      const error = await expectFailure(gateway.run('journal.undo', { id: `${stem}-1` }));
      expect(error.message).toContain('but its request was for');
    }
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('a signing key that is too short is refused, and a valid one is masked like every secret', async () => {
    expect(() => new Gateway({ ...settingsFor({ url: 'https://vpn.example.com' }), signingKey: 'short' })).toThrow(
      /signingKey has fewer than 16/,
    );
    const { gateway, simulator } = await startWithJournal({}, { signingKey: KEY });
    const error = await expectFailure(gateway.run('config.update', { path: `users/${KEY}`, body: {} }));
    expect(JSON.stringify([error.message, error.cause])).not.toContain(KEY);
    expect(simulator.url).toBeTruthy();
  });

  it('a containment record without a valid signature is ignored, and its file is reported', async () => {
    const folder = createTemporaryFolder();
    const signer = new RecordSigner(KEY);
    const record = {
      ...{ id: '00000000-0000-4000-8000-000000000001', appliance: 'hash', name: 'j.doe', accounts: [], ended: 0 },
      ...{ since: '2026-11-20T08:00:00.000Z', until: '2026-11-20T09:00:00.000Z', releasing: false },
    };
    const store = getContainmentStores('hash').forFolder(folder, signer);
    await store.put(record);
    expect(await store.readAll()).toEqual({ records: [record], fault: undefined });
    const file = join(folder, readdirSync(folder)[0] ?? '');
    const text = readFileSync(file, 'utf8');
    for (const forged of [text.replace('j.doe', 'admin'), JSON.stringify(record)]) {
      writeFileSync(file, forged);
      const { records, fault } = await store.readAll();
      expect([records, fault?.code, fault?.message.includes(file)]).toEqual([[], 'BAD_CONFIG', true]);
    }
    // A gateway without a key for the same appliance does not lift the check.
    expect(getContainmentStores('hash').forFolder(folder)).toBe(store);
    resetContainmentStores();
    expect((await getContainmentStores('hash').forFolder(folder).readAll()).records).toEqual([record]);
    // Somebody without a name would stand for all sessions without one.
    writeFileSync(file, JSON.stringify({ ...record, name: ' ' }));
    const blank = await getContainmentStores('hash').forFolder(folder).readAll();
    expect([blank.records, blank.fault?.code]).toEqual([[], 'BAD_CONFIG']);
    resetContainmentStores();
  });

  it('a watch state with an added, changed or removed line is ignored if there is a signing key', async () => {
    const file = join(createTemporaryFolder(), 'watch.jsonl');
    const signer = new RecordSigner(KEY);
    const state = new WatchStateFile(file, 'id', signer);
    await state.save({ save: () => 1 }, false, 1);
    for (const number of [2, 3]) state.addEntry({ number, isUnreachable: false, events: [{ event: 'x' }] });
    state.markSent();
    state.close();
    expect(await new WatchStateFile(file, 'id', signer).load()).toMatchObject({ state: 1, number: 3, unsentEntry: undefined });
    const lines = readFileSync(file, 'utf8').split('\n');
    const withLines = (...kept: (string | undefined)[]): string => `${kept.join('\n')}\n`;
    for (const text of [
      withLines(lines[0], lines[2], lines[3]),
      withLines(lines[0], lines[1]?.replace('2', '7'), lines[2]),
      withLines(lines[0], '{"number":9,"isUnreachable":false,"events":[]}'),
      withLines(...lines.slice(0, 4).map((line) => line.slice(0, -65))),
    ]) {
      writeFileSync(file, text);
      expect((await expectFailure(new WatchStateFile(file, 'id', signer).load())).message).toContain('no valid code');
    }
    expect((await expectFailure(new WatchStateFile(file, 'id', new RecordSigner(`${KEY}2`)).load())).message).toContain('no valid code');
  });

  it('a lock file that a process without the signing key left is removed and reported', async () => {
    const file = join(createTemporaryFolder(), 'contained.lock');
    // A lock of a living process on this machine.
    await withLockFile(file, () => Promise.resolve(renameSync(file, `${file}.holder`)));
    writeFileSync(file, readFileSync(`${file}.holder`, 'utf8').replace(/-\d+$/, '-1'));
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    let elapsedMs = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (elapsedMs += 3000));
    try {
      expect(await withLockFile(file, () => Promise.resolve('done'), new RecordSigner(KEY))).toBe('done');
      expect(String(warn.mock.calls[0]?.[0])).toContain(`The lock ${file} has no valid code`);
    } finally {
      clock.mockRestore();
      warn.mockRestore();
    }
  });
});

describe('a journal that was lost', () => {
  it('a lost journal folder is noticed after a restart, and is not created again', async () => {
    const folder = join(createTemporaryFolder(), 'journal');
    const stateFolder = join(createTemporaryFolder(), 'state');
    await JournalWriter.forFolder(folder, stateFolder).announce(ENTRY_FIELDS, undefined);
    await vi.waitFor(() => expect(readdirSync(stateFolder).filter((name) => name.endsWith('.json'))).toHaveLength(1));
    rmSync(folder, { recursive: true });
    // A restart forgets everything except the files.
    resetJournalWriters();
    expect((await verifyJournal(folder, undefined, stateFolder)).broken).toMatchObject([
      { line: 0, why: expect.stringContaining('the journal begins anew') as string },
    ]);
    const announced = JournalWriter.forFolder(folder, stateFolder).announce(ENTRY_FIELDS, undefined);
    expect(await announced.catch((error: unknown) => error)).toMatchObject({
      code: 'BAD_CONFIG',
      details: { statusReason: 'journal-not-writable' },
    });
    mkdirSync(folder);
    await JournalWriter.forFolder(folder, stateFolder).announce(ENTRY_FIELDS, undefined);
    expect(await verifyJournal(folder, undefined, stateFolder)).toMatchObject({ ok: false, files: 1 });
  });

  it('a lost journal folder below /proc is refused at once, because a recursive mkdir there never returns', async () => {
    for (const folder of ['/proc/nowhere', '/proc/nowhere/journal', '/proc/1/journal'])
      expect((await expectFailure(JournalWriter.forFolder(folder).announce(ENTRY_FIELDS, undefined))).code).toBe('BAD_CONFIG');
    expect((await expectFailure(new WatchStateFile('/proc/nowhere/watch/x.jsonl', 'id').load())).code).toBe('BAD_INPUT');
    expect(await verifyJournal(createTemporaryFolder())).toMatchObject({ ok: true });
  });
});
