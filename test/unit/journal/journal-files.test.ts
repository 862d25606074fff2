import { appendFileSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findLastEntryHashes } from '../../../src/journal/journal-files';
import { UndoStore } from '../../../src/journal/undo-store';
import { isPartialJournalLine, parseJournalLine, sealJournalLine, sha256 } from '../../../src/journal/journal-line';
import { findJournalEntries, listJournalEntries, parseTimeField } from '../../../src/journal/read-entries';
import { verifyJournal } from '../../../src/journal/verify-journal';
import { JournalWriter, type JournalEntryFields } from '../../../src/journal/journal-writer';
import { HOST_NAME_HASH } from '../../../src/files/atomic-file';
import { getThrownCode, expectFailure } from '../../helpers/simulated-appliance';
import { listJournalFiles, createTemporaryFolder, readAllJournalLines, withPatchedFileHandles } from '../../helpers/journal';
import { listOpenFiles } from '../../helpers/open-files';

// Journal files without an appliance.

const AT = '2026-11-20T08:00:00.000Z';
const ENTRY = { at: AT, appliance: 'vpn-1', 'serial-number': null, node: null, flow: null, actor: null, operation: 'config.update' };
const DONE = { status: 200, ok: true, code: null, changed: true, diff: null, undo: false };
const entryFields: JournalEntryFields = { ...ENTRY, request: { method: 'PUT', path: '/' }, ...DONE };

/** A file of a process on another machine, which counts as gone. */
const toFileName = (count: number, day = '20261120', host = '00000000', pid = 4711): string =>
  `${day}-${host}-${pid}-${String(count).padStart(12, '0')}.jsonl`;

type Some = Readonly<Record<string, unknown>>;

/** Chains lines like a writer, with special fields for each. */
function chain(...entries: readonly Some[]): { text: string; hash: string }[] {
  let prev = '';
  return entries.map((entry, index) => {
    const line = sealJournalLine({ id: `e-${index + 1}`, ...entryFields, ...(index === 0 && { follows: [] }), prev, ...entry });
    prev = line.hash;
    return line;
  });
}

/** Creates a folder with one file of these lines. */
function createJournal(lines: readonly { text: string }[] | string, name = toFileName(1), folder = createTemporaryFolder()): string {
  writeFileSync(join(folder, name), typeof lines === 'string' ? lines : lines.map(({ text }) => text).join(''));
  return folder;
}

const NO_LINE = 'it is not a journal line';
const NO_FOLLOWER = 'it does not follow the previous line: a line was changed, added or removed';
const ELSEWHERE = 'it is not in its original position';
const ALIVE = 'it is incomplete, but its process is running';

const garbage = { text: 'garbage\n', hash: '' };

/** The second line is not an entry, although its hash is valid. */
const withOdd = (odd: Some): { text: string }[] => chain({}, odd, {});

/** The problems in a folder, as line and reason. */
async function wrongIn(folder: string): Promise<[number, string][]> {
  const { ok, broken } = await verifyJournal(folder);
  expect(ok).toBe(broken.length === 0);
  return broken.map(({ line, why }) => [line, why]);
}

describe('parseJournalLine', () => {
  const [first = { text: '', hash: '' }, second = { text: '', hash: '' }] = chain({}, {});
  const bytes = Buffer.from(first.text.trimEnd());

  it('parseJournalLine checks the bytes of a line, and returns the hashes that the next line may refer to', () => {
    expect(parseJournalLine(bytes)).toEqual({
      line: JSON.parse(first.text) as unknown,
      problem: undefined,
      hashes: [first.hash, first.hash],
    });
    expect(first.hash).toBe(sha256(first.text.slice(0, first.text.lastIndexOf(',"hash"'))));
    const changed = Buffer.from(bytes.toString().replace('vpn-1', 'vpn-2'));
    const { line, problem, hashes } = parseJournalLine(changed);
    expect([line?.appliance, problem, hashes[0]]).toEqual(['vpn-2', 'it was changed', first.hash]);
    expect(hashes[1]).not.toBe(first.hash);
    expect(parseJournalLine(Buffer.from('garbage'))).toEqual({ line: undefined, problem: NO_LINE, hashes: [] });
    expect(parseJournalLine(Buffer.from(''))).toEqual({ line: undefined, problem: NO_LINE, hashes: [] });
  });

  it.each<[string, string, boolean]>([
    ['its first bytes', first.text.slice(0, 3), true],
    ['all but its end', first.text.slice(0, -30), true],
    ['all but the hash', first.text.slice(0, first.text.lastIndexOf('"hash"')), true],
    ['half of one that quotes the hash of another', `${first.text.slice(0, 7)}"hash":"${first.hash}"}${'x'.repeat(200)}`, true],
    ['nothing', '', true],
    ['all of it', first.text.trimEnd(), false],
    ['all of it and more', `${first.text.trimEnd()}x`, false],
    ['something else', 'garbage', false],
    ['the end of one', first.text.slice(5, -30), false],
    ['two in one', first.text.trimEnd() + second.text.slice(0, 60), false],
  ])('parseJournalLine accepts the rest of a killed process, given %s: %#', (_what, text, expected) => {
    expect(isPartialJournalLine(Buffer.from(text))).toBe(expected);
  });
});

describe('verifyJournal', () => {
  it.each<[string, readonly { text: string }[] | string, [number, string][]]>([
    ['nothing of what is whole', chain({}, {}, {}), []],
    [
      'that there is a line too much',
      [{ text: '\n' }, ...chain({}, {})],
      [
        [1, NO_LINE],
        [2, ELSEWHERE],
      ],
    ],
    ['nothing of half of a line at the end', `${chain({})[0]?.text}{"id":"e-2","at`, []],
    [
      'what was changed',
      chain({}, { appliance: 'vpn-2' }, {}).map(({ text }) => ({ text: text.replace('vpn-2', 'vpn-3') })),
      [[2, 'it was changed']],
    ],
    ['each of several', chain({}, { prev: 'x' }, {}, { prev: 'y' }), [2, 4].map((line): [number, string] => [line, NO_FOLLOWER])],
    [
      'what is no line, of which nobody knows what follows it',
      [chain({})[0] ?? garbage, garbage, ...chain({}, {}).slice(1)],
      [[2, NO_LINE]],
    ],
    ['that an end is no line', `${chain({})[0]?.text}garbage`, [[2, NO_LINE]]],
    [
      'nothing of an end without a line end',
      chain({}, {})
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
      [],
    ],
    ['that a line has another moment than a text', withOdd({ at: 7 }), [[2, NO_LINE]]],
    ['that a line has no id', withOdd({ id: undefined }), [[2, NO_LINE]]],
    ['that a line has no appliance', withOdd({ appliance: null }), [[2, NO_LINE]]],
    ['that a line has no operation', withOdd({ operation: undefined }), [[2, NO_LINE]]],
    ['that a line has no request', withOdd({ request: 'PUT /' }), [[2, NO_LINE]]],
    ['that a line follows nothing', withOdd({ prev: undefined }), [[2, NO_LINE]]],
    ['that a line is no object', [sealJournalLine(['x'])], [[1, NO_LINE]]],
    ['what follows another one', chain({}, { prev: 'x' }, {}), [[2, NO_FOLLOWER]]],
    ['that a first line follows another one', chain({ prev: 'x' }, {}), [[1, NO_FOLLOWER]]],
    ['that the first line is not that of a file', chain({ follows: undefined }, {}), [[1, ELSEWHERE]]],
    ['that a later line is the first of a file', chain({}, { follows: [] }), [[2, ELSEWHERE]]],
  ])('verifyJournal reports %s', async (_what, lines, expected) => {
    expect(await wrongIn(createJournal(lines))).toEqual(expected);
  });

  it('verifyJournal reports an incomplete line of a running process only if it stays incomplete', async () => {
    const [first, second] = chain({}, {});
    const lives = toFileName(1, '20261120', HOST_NAME_HASH, process.ppid);
    const half = second?.text.slice(0, 40) ?? '';
    const folder = createJournal(`${first?.text}${half}`, lives);
    expect(await wrongIn(folder)).toEqual([[2, ALIVE]]);
    const checked = verifyJournal(folder);
    setTimeout(() => appendFileSync(join(folder, lives), second?.text.slice(40) ?? ''), 30);
    expect(await checked).toEqual({ files: 1, entries: 2, ok: true, broken: [] });
    const ours = createTemporaryFolder();
    await JournalWriter.forFolder(ours).announce(entryFields, undefined);
    appendFileSync(join(ours, listJournalFiles(ours)[0] ?? ''), '{"id"');
    expect(await wrongIn(ours)).toEqual([[2, ALIVE]]);
    // After half a day the number belongs to another process.
    writeFileSync(join(folder, lives), `${first?.text}${half}`);
    utimesSync(join(folder, lives), 0, 0);
    expect(await wrongIn(folder)).toEqual([]);
  });

  it('verifyJournal reports each missing file or line once, and reports only the damage of a damaged file', async () => {
    const [first, second, third] = chain({}, {}, {});
    const link = { file: toFileName(1), hash: third?.hash };
    const folder = createJournal([first, second, third] as { text: string }[]);
    createJournal(chain({ id: 'f-1', follows: [link] }), toFileName(2, '20261121'), folder);
    expect(await verifyJournal(folder)).toEqual({ files: 2, entries: 4, ok: true, broken: [] });
    const behind = `lines are missing after it: ${toFileName(2, '20261121')} follows another line`;
    createJournal([first, second] as { text: string }[], toFileName(1), folder);
    expect(await wrongIn(folder)).toEqual([[2, behind]]);
    createJournal([first, garbage] as { text: string }[], toFileName(1), folder);
    expect(await wrongIn(folder)).toEqual([[2, NO_LINE]]);
    // Two files follow a missing one.
    const missingLink = { file: toFileName(9), hash: 'x' };
    for (const count of [3, 4]) createJournal(chain({ id: `g-${count}`, follows: [missingLink] }), toFileName(count, '20261121'), folder);
    createJournal([first, second, third] as { text: string }[], toFileName(1), folder);
    const { broken, ok, files: count } = await verifyJournal(folder);
    expect([ok, count]).toEqual([false, 4]);
    expect(broken).toEqual([{ file: toFileName(9), line: 0, why: `it is missing, but ${toFileName(4, '20261121')} follows it` }]);
  });
});

describe('listJournalEntries', () => {
  const toTime = (minute: number): string => `2026-11-20T08:0${minute}:00.000Z`;
  const filter = { appliance: 'vpn-1' };
  const idsIn = async (folder: string, more: object = {}): Promise<string[]> =>
    (await listJournalEntries(folder, { ...filter, ...more })).map(({ id }) => id);

  it('listJournalEntries returns the entries within the given time range, the newest first', async () => {
    const folder = createJournal(
      chain(
        { at: toTime(1) },
        { at: toTime(2) },
        { at: toTime(2) },
        { at: toTime(0) },
        { at: toTime(3), actor: 'j.doe', operation: 'x.y' },
      ),
    );
    expect(await idsIn(folder)).toEqual(['e-5', 'e-3', 'e-2', 'e-1', 'e-4']);
    expect(await idsIn(folder, { since: new Date(toTime(1)), until: new Date(toTime(2)) })).toEqual(['e-3', 'e-2', 'e-1']);
    expect(await idsIn(folder, { limit: 2 })).toEqual(['e-5', 'e-3']);
    expect(await idsIn(folder, { actor: 'j.doe' })).toEqual(['e-5']);
    expect(await idsIn(folder, { operation: 'x.y' })).toEqual(['e-5']);
    expect(await idsIn(folder, { appliance: 'vpn-2' })).toEqual([]);
  });

  it('listJournalEntries returns each completed entry once, with the time of its announcement and without chain fields', async () => {
    const folder = createJournal(chain({ at: toTime(1), ok: null, kept: 'k1' }, { id: 'e-1', at: toTime(2), kept: 'k2' }, { ok: null }));
    const [entry, other] = await listJournalEntries(folder, filter);
    expect(other).toMatchObject({ id: 'e-3', ok: null });
    expect(entry).toMatchObject({ id: 'e-1', at: toTime(1), ok: true });
    for (const own of ['follows', 'kept']) expect(entry).not.toHaveProperty(own);
    const foundEntries = await findJournalEntries(folder, ['e-3', 'nonsense', 'e-1']);
    const kept = ['k1', 'k2'].map((hash) => ({ file: toFileName(1), hash }));
    expect(foundEntries.map((one) => one && [one.entry.id, one.undoParts])).toEqual([['e-3', []], undefined, ['e-1', kept]]);
  });

  it('listJournalEntries skips files of earlier days, but no line of other files', async () => {
    const folder = createJournal('garbage\n', toFileName(1, '20261119'));
    createJournal(chain({}), toFileName(2), folder);
    writeFileSync(join(folder, `x${toFileName(3)}`), 'garbage\n');
    writeFileSync(join(folder, `${toFileName(3)}.bak`), 'garbage\n');
    expect(await idsIn(folder, { since: new Date('2026-11-20T00:00:00Z') })).toEqual(['e-1']);
    const error = await expectFailure(listJournalEntries(folder, { ...filter, since: new Date('2026-11-19T23:00:00Z') }));
    expect(error).toMatchObject({ code: 'BAD_CONFIG', details: { sent: false } });
    expect(error.message).toBe(`Line 1 of ${toFileName(1, '20261119')} is invalid: ${NO_LINE}. Verify the journal.`);
  });

  it('listJournalEntries throws BAD_CONFIG for a changed line', async () => {
    const [first, second] = chain({}, {});
    const changed = (second?.text ?? '').replace('vpn-1', 'vpn-2');
    const error = await expectFailure(idsIn(createJournal(`${first?.text}${changed}`)));
    expect(error.message).toBe(`Line 2 of ${toFileName(1)} is invalid: it was changed. Verify the journal.`);
  });

  it('listJournalEntries reads a last line without a line end, and skips an incomplete one', async () => {
    const [first, second] = chain({}, {});
    expect(await idsIn(createJournal(`${first?.text}${second?.text.trimEnd()}`))).toEqual(['e-2', 'e-1']);
    expect(await idsIn(createJournal(`${first?.text}${second?.text.slice(0, -9)}`))).toEqual(['e-1']);
    expect((await expectFailure(idsIn(createJournal(`${first?.text}garbage`)))).message).toContain('Line 2 of');
  });

  it('listJournalEntries returns nothing for an empty folder, and throws for an unreadable folder', async () => {
    expect(await idsIn(join(createTemporaryFolder(), 'none'))).toEqual([]);
    const folder = join(createTemporaryFolder(), 'file');
    writeFileSync(folder, '');
    const error = await expectFailure(idsIn(folder));
    expect(error).toMatchObject({ code: 'BAD_INPUT', details: { extra: { system: 'ENOTDIR', file: folder } } });
    expect(error.message).toContain('cannot be read');
  });

  it('listJournalEntries accepts a time given by a flow', () => {
    expect(parseTimeField('since', undefined)).toBeUndefined();
    expect(parseTimeField('since', AT)).toEqual(new Date(AT));
    expect(parseTimeField('since', '1763625600000')).toEqual(new Date(1_763_625_600_000));
    expect(parseTimeField('since', '1763625600')).toEqual(new Date(1_763_625_600));
    for (const text of ['123456789', 'yesterday', '', 'x1763625600000'])
      expect(
        getThrownCode(() => parseTimeField('since', text)),
        text,
      ).toBe('BAD_INPUT');
    expect(() => parseTimeField('until', 'x')).toThrow('until is not a time. Enter one such as 2026-11-20T08:00:00Z.');
  });
});

describe('findLastEntryHashes', () => {
  it.each([10, 40_000, 70_000, 300_000, 1_200_000])(
    'findLastEntryHashes reads the first and the last hash of a journal file with lines of any size: %s bytes',
    async (length) => {
      const long = { request: { method: 'PUT', path: '/', body: { x: 'x'.repeat(length) } } };
      const earlier = { file: toFileName(7), hash: 'f'.repeat(64) };
      const lines = chain({ ...long, follows: [earlier] }, long, long);
      const folder = createJournal(lines);
      expect(await findLastEntryHashes(folder)).toEqual([{ file: toFileName(1), hash: lines[2]?.hash }]);
      // A long first line alone, and one followed by an incomplete line.
      for (const count of [1, 2]) {
        createJournal([...lines.slice(0, count), { text: '{"id":"half' }], toFileName(1), folder);
        expect(await findLastEntryHashes(folder)).toEqual([{ file: toFileName(1), hash: lines[count - 1]?.hash }]);
      }
    },
  );

  it('findLastEntryHashes reads the first and the last hash of a journal file with many, short, long or incomplete lines', async () => {
    const long = { request: { method: 'PUT', path: '/', body: { x: 'x'.repeat(200_000) } } };
    for (const entries of [Array.from({ length: 400 }, () => ({})), [{}, {}, {}, long]]) {
      const lines = chain(...entries);
      expect(await findLastEntryHashes(createJournal(lines))).toEqual([{ file: toFileName(1), hash: lines.at(-1)?.hash }]);
      const torn = createJournal([...lines, { text: `{"id":"${'x'.repeat(100_000)}` }]);
      expect(await findLastEntryHashes(torn)).toEqual([{ file: toFileName(1), hash: lines.at(-1)?.hash }]);
    }
    const [first] = chain({});
    const [second] = chain({ ...long, follows: [{ file: toFileName(1), hash: first?.hash }] });
    const folder = createJournal([first ?? garbage]);
    expect(await findLastEntryHashes(createJournal([second ?? garbage], toFileName(2), folder))).toEqual([
      { file: toFileName(2), hash: second?.hash },
    ]);
    expect(listOpenFiles().filter((file) => file.startsWith(folder))).toEqual([]);
  });

  it('findLastEntryHashes returns the last hash of each journal file that no other file follows', async () => {
    const [first] = chain({});
    const folder = createJournal([first] as { text: string }[]);
    const [second] = chain({ follows: [{ file: toFileName(1), hash: first?.hash }] });
    createJournal([second] as { text: string }[], toFileName(2), folder);
    createJournal('', toFileName(3), folder);
    createJournal('{"id":"half', toFileName(4), folder);
    expect(await findLastEntryHashes(folder)).toEqual([{ file: toFileName(2), hash: second?.hash }]);
  });
});

describe('UndoStore', () => {
  /** Undo data in parts, and their location. */
  function keep(...parts: readonly object[]): { place: string; parts: { file: string; hash: string }[]; path: string } {
    const folder = createTemporaryFolder();
    mkdirSync(join(folder, 'undo'));
    const texts = parts.map((part) => JSON.stringify(part));
    const path = join(folder, 'undo', toFileName(1));
    writeFileSync(path, texts.map((text) => `${text}\n`).join(''));
    return { place: folder, path, parts: texts.map((text) => ({ file: toFileName(1), hash: sha256(text) })) };
  }

  const subject = { paths: ['/x'], deep: false };

  it('UndoStore joins the parts of the undo data and reads each file once', async () => {
    const { place: folder, parts, path } = keep({ subject, before: { '/x': { a: '1' } }, method: 'PUT' }, { after: { '/x': { a: 'ä' } } });
    const store = new UndoStore(folder);
    const whole = { subject, method: 'PUT', before: { '/x': { a: '1' } }, after: { '/x': { a: 'ä' } } };
    expect(await store.read('e-1', parts)).toEqual(whole);
    writeFileSync(path, '');
    expect(await store.read('e-1', parts)).toEqual(whole);
    expect((await expectFailure(new UndoStore(folder).read('e-1', parts))).code).toBe('BAD_INPUT');
  });

  it.each<[string, (kept: ReturnType<typeof keep>) => void]>([
    ['is not there any more', ({ parts }) => parts.splice(0, 1, { file: toFileName(2), hash: 'x' })],
    ['was changed', ({ path }) => writeFileSync(path, readFileSync(path, 'utf8').replace('"1"', '"2"'))],
    ['is the end alone', ({ parts }) => parts.shift()],
  ])('UndoStore refuses undo data that %s', async (_what, spoil) => {
    const kept = keep({ subject, before: { '/x': { a: '1' } }, method: 'PUT' }, { after: {} });
    spoil(kept);
    const error = await expectFailure(new UndoStore(kept.place).read('e-1', kept.parts));
    expect(error.code).toBe('BAD_INPUT');
    expect(error.message).toBe('The undo data of e-1 is missing or was changed. Nothing was sent.');
  });
});

describe('JournalWriter', () => {
  let times = 0;
  const broken = () => Promise.reject(Object.assign(new Error('no room'), { code: 'ENOSPC' }));

  it('JournalWriter exists once per folder however its path is written, gives each entry an id, and chains its lines', async () => {
    const folder = createTemporaryFolder();
    const writer = JournalWriter.forFolder(folder);
    expect(JournalWriter.forFolder(`${folder}/x/..`)).toBe(writer);
    expect(JournalWriter.forFolder(`${folder}/y`)).not.toBe(writer);
    const ids = [await writer.announce(entryFields, { before: {} }), await writer.announce(entryFields, undefined)];
    await writer.complete(ids[0] ?? '', entryFields, { after: {} });
    const [name = ''] = listJournalFiles(folder);
    expect(ids).toEqual([1, 2].map((count) => `${name.replace('.jsonl', '')}-${count}`));
    expect(name).toMatch(new RegExp(`^\\d{8}-${HOST_NAME_HASH}-${process.pid}-[0-9a-f]{12}\\.jsonl$`));
    const lines = readAllJournalLines(folder);
    expect(lines.map(({ id, kept }) => [id, typeof kept])).toEqual([
      [ids[0], 'string'],
      [ids[1], 'undefined'],
      [ids[0], 'string'],
    ]);
    expect(lines.map(({ follows }) => follows)).toEqual([[], undefined, undefined]);
    const apart = readFileSync(join(folder, 'undo', name), 'utf8');
    expect(apart).toBe(`${JSON.stringify({ id: ids[0], before: {} })}\n${JSON.stringify({ id: ids[0], after: {} })}\n`);
    expect(await verifyJournal(folder)).toEqual({ files: 1, entries: 2, ok: true, broken: [] });
  });

  it.each([
    ['ends where it ended', {}, 1],
    ['is left to lie where that cannot be', { truncate: broken }, 2],
  ])('JournalWriter reports a full disk, and then its file %s', async (_what, more, count) => {
    const folder = createTemporaryFolder();
    const writer = JournalWriter.forFolder(folder);
    await writer.announce(entryFields, undefined);
    // Writes everything and then reports a failure.
    await withPatchedFileHandles({ write: async (own) => (await own(), broken()), ...more }, async () => {
      const error = await expectFailure(writer.announce(entryFields, undefined));
      expect(error).toMatchObject({ code: 'BAD_CONFIG', details: { sent: false } });
      expect(error.message).toContain('The journal cannot be written, so nothing was sent:');
      expect(error.message).toContain(`${folder} cannot be written: there is no room left on the disk (ENOSPC)`);
    });
    const [name = ''] = listJournalFiles(folder);
    expect(readAllJournalLines(folder)).toHaveLength(count);
    expect(await writer.announce(entryFields, undefined)).toMatch(/-\d+$/);
    expect(listJournalFiles(folder)).toHaveLength(count);
    expect((await verifyJournal(folder)).ok).toBe(true);
    // One journal file with its undo file.
    expect(listOpenFiles().filter((file) => file.startsWith(folder))).toHaveLength(2);
    if (count === 2) expect(readAllJournalLines(folder).filter(({ follows }) => follows?.[0]?.file === name)).toHaveLength(1);
  });

  it.each<[string, Parameters<typeof withPatchedFileHandles>[0]['write']]>([
    ['nothing at first', (own, [bytes, toTime, length, position]) => own(bytes, toTime, times++ < 3 ? 0 : length, position)],
    ['half of the rest', (own, [bytes, toTime, length, position]) => own(bytes, toTime, Math.ceil(Number(length) / 2), position)],
  ])('JournalWriter continues if the disk takes a line in pieces: %s', async (_what, write = (own) => own()) => {
    const folder = createTemporaryFolder();
    times = 0;
    await withPatchedFileHandles({ write }, async () => {
      for (let count = 0; count < 2; count++) await JournalWriter.forFolder(folder).announce(entryFields, { before: { count } });
    });
    expect(readAllJournalLines(folder)).toHaveLength(2);
    expect((await verifyJournal(folder)).ok).toBe(true);
    const apart = readFileSync(join(folder, 'undo', listJournalFiles(folder)[0] ?? ''), 'utf8')
      .trimEnd()
      .split('\n');
    expect(apart.map((line) => (JSON.parse(line) as { before: unknown }).before)).toEqual([{ count: 0 }, { count: 1 }]);
  });

  it('JournalWriter chains lines that arrive during a write, and each keeps its undo data', async () => {
    const folder = createTemporaryFolder();
    const writer = JournalWriter.forFolder(folder);
    const ids: Promise<string>[] = [];
    for (let turn = 0; turn < 20; turn++) {
      for (const count of [0, 1]) ids.push(writer.announce(entryFields, { turn, count }));
      await new Promise((resolve) => setTimeout(resolve, turn % 3));
    }
    expect(new Set(await Promise.all(ids)).size).toBe(40);
    expect(await verifyJournal(folder)).toEqual({ files: 1, entries: 40, ok: true, broken: [] });
    const kept = readFileSync(join(folder, 'undo', listJournalFiles(folder)[0] ?? ''), 'utf8')
      .trimEnd()
      .split('\n');
    const all = await Promise.all(ids.map(async (id, index) => ({ id: await id, turn: Math.floor(index / 2), count: index % 2 })));
    expect(kept.map((line) => JSON.parse(line) as unknown)).toEqual(all);
  });

  it('JournalWriter starts a new file if its file was removed', async () => {
    const folder = createTemporaryFolder();
    const writer = JournalWriter.forFolder(folder);
    await writer.announce(entryFields, undefined);
    rmSync(join(folder, listJournalFiles(folder)[0] ?? ''));
    await writer.announce(entryFields, undefined);
    expect(readAllJournalLines(folder)).toHaveLength(1);
    // The new file links the lost one, so that its loss is noticed.
    expect((await verifyJournal(folder)).broken).toMatchObject([{ line: 0, why: expect.stringContaining('it is missing') as string }]);
  });

  it('JournalWriter reports a folder that cannot be created, and writes as soon as it can', async () => {
    const folder = join(createTemporaryFolder(), 'journal');
    writeFileSync(folder, '');
    const writer = JournalWriter.forFolder(folder);
    expect((await expectFailure(writer.announce(entryFields, undefined))).message).toContain('The journal cannot be written');
    writeFileSync(`${folder}x`, '');
    const other = JournalWriter.forFolder(`${folder}-2`);
    await other.announce(entryFields, undefined);
    expect(readAllJournalLines(`${folder}-2`)).toHaveLength(1);
  });

  it('JournalWriter starts one file per day, whose first line refers to the last lines of earlier files', async () => {
    const lines = chain({}, {});
    const folder = createJournal(lines);
    await JournalWriter.forFolder(folder).announce(entryFields, undefined);
    expect(readAllJournalLines(folder).at(-1)?.follows).toEqual([{ file: toFileName(1), hash: lines[1]?.hash }]);
    expect(await verifyJournal(folder)).toMatchObject({ files: 2, entries: 3, ok: true });
  });
});
