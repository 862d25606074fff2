import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findBackup,
  isBackupComplete,
  findLatestBackup,
  findBackupByName,
  readBackupIndex,
  readBackupManifest,
  readBackupManifests,
} from '../../../src/backup/backup-index';
import { commitBackup, findLastGoodBackup, recoverBackupFolder, rotateBackups } from '../../../src/backup/backup-folder';
import { listBackups } from '../../../src/backup/run';
import { AUTHENTICATION_METHOD, parseBackupManifest, type BackupFile, type BackupManifest } from '../../../src/backup/manifest';
import {
  createBackupName,
  parseBackupFileName,
  parseManifestFileName,
  isBackupName,
  isNameClaimFileName,
  createUniqueTimestamp,
} from '../../../src/backup/names';
import { BackupFileOutput } from '../../../src/backup/stored-file';
import { HOST_NAME_HASH } from '../../../src/files/atomic-file';
import { expectFailure } from '../../helpers/simulated-appliance';
import { createTemporaryFolder } from '../../helpers/temporary';

// Backup folders without an appliance.

const toBackupName = (day: number): string => `vpn-1_S1_202001${String(day).padStart(2, '0')}T000000.000Z`;
const toTime = (day: number): string => `2020-01-${String(day).padStart(2, '0')}T00:00:00.000Z`;
const CONTENT = '<configuration/>';
const sha256 = createHash('sha256').update(CONTENT).digest('hex');

function createFile(backup: string, kind: 'xml' | 'binary' = 'xml', more: object = {}): BackupFile {
  const file = `${backup}.${kind === 'xml' ? 'xml' : 'bin'}`;
  const content = { bytes: CONTENT.length, sha256, verified: 'xml', fingerprint: 'f' } as const;
  return { file, kind, bytes: CONTENT.length, sha256, compression: null, encryption: null, content, ...more };
}

function createManifest(day: number, more: Partial<BackupManifest> = {}): BackupManifest {
  const backup = toBackupName(day);
  return {
    format: 'gateway-backup/1',
    backup,
    appliance: 'vpn-1',
    'serial-number': 'S1',
    'host-name': null,
    'hardware-model': null,
    release: '22.7',
    time: toTime(day),
    'password-protected': false,
    files: [createFile(backup)],
    ...more,
  };
}

/** Writes manifests and files into a folder. */
function writeBackups(place: string, ...manifests: readonly BackupManifest[]): void {
  for (const manifest of manifests) {
    writeFileSync(join(place, `${manifest.backup}.json`), JSON.stringify(manifest));
    for (const { file } of manifest.files) writeFileSync(join(place, file), CONTENT);
  }
}

const names = (place: string): string[] => readdirSync(place).sort();
const readDays = (manifests: readonly BackupManifest[]): number[] => manifests.map(({ backup }) => Number(backup.slice(15, 17)));

describe('the name of a backup', () => {
  const name = toBackupName(1);

  it.each<[string, string | undefined, string | undefined]>([
    [`${name}.xml`, name, undefined],
    [`${name}.bin.gz`, name, undefined],
    [`${name}.xml.enc`, name, undefined],
    [`${name}.bin.gz.enc`, name, undefined],
    [`${name}.json`, undefined, name],
    [`${name}.enc.gz`, undefined, undefined],
    [`${name}.xml.bak`, undefined, undefined],
    [`${name}.json.bak`, undefined, undefined],
    [`x/${name}.xml`, undefined, undefined],
    [`x/${name}.json`, undefined, undefined],
    [`${name}-xml`, undefined, undefined],
    [`${name}-json`, undefined, undefined],
    [`${name}`, undefined, undefined],
    ['vpn_S1_20200101T000000.xml', undefined, undefined],
    ['.vpn_S1_20200101T000000.000Z.xml', undefined, undefined],
    ['vpn_.S1_20200101T000000.000Z.xml', undefined, undefined],
  ])('the name of a backup is found in the name of its file: %s', (file, ofFile, ofManifest) => {
    expect([parseBackupFileName(file), parseManifestFileName(file)]).toEqual([ofFile, ofManifest]);
  });

  it('the generated name of a backup differs from all other names', () => {
    expect([name, `a${name}`, 'a.b_c.d_20200101T000000.000Z', '-_-_20200101T000000.000Z'].map(isBackupName)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([`${name}x`, `.${name}`, ` ${name}`, `${name}.xml`, `../${name}`, ''].some(isBackupName)).toBe(false);
    expect([`${name}.claim`, `${name}.claims`, `x/${name}.claim`, `${name}-claim`].map(isNameClaimFileName)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  it.each([
    ['-.vpn.-', '..', 'vpn_unknown'],
    ['a b  c', 'x_y', 'a-b-c_x-y'],
    ['nul', 'LPT1.a', 'nul_LPT1-a'],
    ['com.x', 'com10.x', 'com.x_com10.x'],
    ['xcon.a', 'prn.a', 'xcon.a_prn-a'],
    [`${' '.repeat(199)}ab`, 'ﬁ', 'a_fi'],
  ])('the name of a backup is made of %j and %j', (appliance, serial, expected) => {
    expect(createBackupName(appliance, serial, new Date(0))).toBe(`${expected}_19700101T000000.000Z`);
  });

  it('the generated name of a backup has a later time than every earlier name', () => {
    const now = Date.now();
    const times = Array.from({ length: 50 }, () => createUniqueTimestamp().getTime());
    expect(times.every((time) => time >= now)).toBe(true);
    expect(new Set(times).size).toBe(50);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
  });
});

describe('parseBackupManifest', () => {
  const good = createManifest(1);
  const [file] = good.files as [BackupFile];
  const read = (value: unknown): BackupManifest | undefined => parseBackupManifest(JSON.stringify(value), good.backup);
  const authentication = { method: AUTHENTICATION_METHOD, salt: '0'.repeat(32), 'hmac-sha256': 'x' };

  it.each<[object]>([
    [good],
    [{ ...good, 'serial-number': null, release: null, 'host-name': 'h', 'hardware-model': 'm' }],
    [{ ...good, format: 'gateway-backup/2', authentication }],
    [{ ...good, files: [file, createFile(good.backup, 'binary', { compression: 'gzip', encryption: 'x', 'hmac-sha256': 'y' })] }],
    [{ ...good, files: [{ ...file, bytes: 0, content: { ...file.content, bytes: 0 } }] }],
  ])('parseBackupManifest reads a valid manifest: %#', (value) => {
    expect(read(value)).toEqual(value);
  });

  it.each([
    ['x'],
    [null],
    [{}],
    [{ ...good, format: 1 }],
    [{ ...good, format: 'gateway-snapshot/1' }],
    [{ ...good, format: 'x gateway-backup/1' }],
  ])('parseBackupManifest returns undefined for other JSON: %#', (value) => {
    expect(read(value)).toBeUndefined();
  });

  const content = (more: object): object => ({ ...good, files: [{ ...file, content: { ...file.content, ...more } }] });
  const files = (...more: unknown[]): object => ({ ...good, files: more });
  it.each<[object]>([
    [{ ...good, time: 7 }],
    [{ ...good, time: 'x2020-01-01T00:00:00.000Z' }],
    [{ ...good, time: '2020-01-01T00:00:00.000Zx' }],
    [{ ...good, time: '2020-01-01' }],
    [{ ...good, appliance: null }],
    ...['serial-number', 'host-name', 'hardware-model', 'release'].flatMap((name): [object][] => [
      [{ ...good, [name]: 7 }],
      [{ ...good, [name]: undefined }],
    ]),
    [{ ...good, 'password-protected': 'no' }],
    ...['x', null, { ...authentication, method: 'x' }, { ...authentication, salt: 'x' }, { ...authentication, salt: '0'.repeat(33) }].map(
      (odd): [object] => [{ ...good, authentication: odd }],
    ),
    [{ ...good, authentication: { ...authentication, salt: 7 } }],
    [{ ...good, authentication: { ...authentication, 'hmac-sha256': 7 } }],
    [{ ...good, files: {} }],
    [files()],
    [files(file, file, file)],
    [files('x')],
    [files(file, { ...file, file: '../x.xml' })],
    [files({ ...file, file: `${toBackupName(2)}.xml` })],
    [files({ ...file, file: 7 })],
    [files({ ...file, kind: 'other' })],
    [files({ ...file, bytes: -1 })],
    [files({ ...file, bytes: 1.5 })],
    [files({ ...file, bytes: '1' })],
    [files({ ...file, sha256: undefined })],
    [files({ ...file, compression: 'zip' })],
    [files({ ...file, compression: undefined })],
    [files({ ...file, encryption: 7 })],
    [files({ ...file, 'hmac-sha256': 7 })],
    [files({ ...file, content: null })],
    [content({ sha256: 7 })],
    [content({ bytes: -1 })],
    [content({ fingerprint: undefined })],
  ])('parseBackupManifest reports a damaged manifest: %#', (value) => {
    expect(() => read(value)).toThrow(/^it is damaged$/);
  });

  it('parseBackupManifest reports every other fault of a manifest', () => {
    expect(() => parseBackupManifest('{', good.backup)).toThrow(/^it is damaged: it is not JSON$/);
    expect(() => read({ ...good, format: `gateway-backup/${'9'.repeat(90)}` })).toThrow(
      new RegExp(`^its format is "gateway-backup/${'9'.repeat(25)}", which this version does not know$`),
    );
    expect(() => read({ ...good, backup: toBackupName(2) })).toThrow(/^it belongs to another backup name$/);
  });
});

describe('readBackupIndex', () => {
  it('readBackupIndex lists backups newest first, with unreadable and missing manifests', async () => {
    const place = createTemporaryFolder();
    // The time decides, and of equal times the name.
    writeBackups(
      place,
      createManifest(1),
      createManifest(3, { time: toTime(1) }),
      createManifest(2),
      createManifest(4, { time: toTime(2) }),
    );
    writeFileSync(join(place, `${toBackupName(5)}.json`), '{');
    writeFileSync(join(place, `${toBackupName(5)}.xml`), '');
    writeFileSync(join(place, `${toBackupName(6)}.xml`), '');
    writeFileSync(join(place, `${toBackupName(6)}.bin`), '');
    writeFileSync(join(place, `${toBackupName(7)}.json`), '{}');
    mkdirSync(join(place, `${toBackupName(8)}.xml`));
    symlinkSync(join(place, `${toBackupName(1)}.json`), join(place, `${toBackupName(9)}.json`));
    const { manifests, faults, orphans } = await readBackupIndex(place);
    expect(readDays(manifests)).toEqual([4, 2, 3, 1]);
    expect([...faults.keys()]).toEqual([toBackupName(5)]);
    expect(orphans).toEqual([toBackupName(6)]);
    const path = join(place, `${toBackupName(5)}.json`);
    const why =
      'cannot be used: it is damaged: it is not JSON. Its backup cannot be read without it. Restore the file, or move it out of the folder.';
    const first = await expectFailure(readBackupManifests(place));
    expect([first.code, first.message]).toEqual(['BAD_INPUT', `${path} ${why}`]);
    expect((await expectFailure(listBackups(place))).message).toBe(first.message);
    for (const day of [10, 11]) writeFileSync(join(place, `${toBackupName(day)}.json`), '{');
    expect((await expectFailure(readBackupManifests(place))).message).toMatch(/out of the folder\. 2 more cannot be read either\.$/);
    expect(await expectFailure(readBackupIndex(join(place, 'none')))).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('cannot be read') as string,
    });
  });

  it('readBackupIndex finds a backup by its name, by a file name, or as latest', async () => {
    const place = createTemporaryFolder();
    writeBackups(place, createManifest(1), createManifest(2));
    for (const selector of [
      toBackupName(1),
      `${toBackupName(1)}.xml`,
      `${toBackupName(1)}.json`,
      `/x/y/${toBackupName(1)}.xml`,
      `C:\\x\\${toBackupName(1)}`,
    ])
      expect((await findBackup(place, selector)).backup).toBe(toBackupName(1));
    expect((await findBackup(place, 'latest')).backup).toBe(toBackupName(2));
    const listed = await listBackups(`${place}/x/..`);
    expect(listed).toMatchObject([{ backup: toBackupName(2), folder: place }, { backup: toBackupName(1) }]);
    for (const selector of [toBackupName(3), 'nonsense', `${toBackupName(3)}.xml`]) {
      const error = await expectFailure(findBackupByName(place, selector));
      expect([error.code, error.message]).toEqual([
        'BAD_INPUT',
        `There is no backup ${JSON.stringify(selector)} in ${place}. List backups shows all backups.`,
      ]);
    }
    expect(findLatestBackup(place, [createManifest(2), createManifest(1)], ({ backup }) => backup === toBackupName(1)).backup).toBe(
      toBackupName(1),
    );
    expect(() => findLatestBackup(place, [createManifest(1)], () => false)).toThrow(
      `There is no backup of this appliance in ${place}. List backups shows all backups.`,
    );
    expect(await readBackupManifest(place, 'notes.json')).toBeUndefined();
    expect(await readBackupManifest(place, `${toBackupName(5)}.json`)).toBeUndefined();
    // A manifest of the maximum size, and one that is larger.
    const padded = JSON.stringify(createManifest(1)).padEnd(256 * 1024);
    const path = join(place, `${toBackupName(1)}.json`);
    writeFileSync(path, padded);
    expect((await findBackupByName(place, toBackupName(1))).backup).toBe(toBackupName(1));
    writeFileSync(path, `${padded} `);
    expect((await expectFailure(findBackupByName(place, toBackupName(1)))).message).toContain(
      'cannot be used: it is too large for a manifest.',
    );
  });

  it('readBackupIndex shows which backups are complete', async () => {
    const place = createTemporaryFolder();
    const both = createManifest(1, { files: [createFile(toBackupName(1)), createFile(toBackupName(1), 'binary')] });
    writeBackups(place, both);
    expect(await isBackupComplete(place, both)).toBe(true);
    truncateSync(join(place, `${toBackupName(1)}.bin`), 3);
    expect(await isBackupComplete(place, both)).toBe(false);
    const moved = createManifest(2);
    symlinkSync(join(place, `${toBackupName(1)}.xml`), join(place, `${toBackupName(2)}.xml`));
    expect([await isBackupComplete(place, moved), await isBackupComplete(place, createManifest(3))]).toEqual([false, false]);
  });
});

describe('rotateBackups', () => {
  const NOW = new Date('2020-01-10T00:00:00.000Z');
  async function rotated(
    keep: { count?: number; days?: number },
    present: readonly BackupManifest[],
    { newest = createManifest(9), lost = [] as number[] } = {},
  ): Promise<{ gone: number[]; left: string[]; place: string }> {
    const place = createTemporaryFolder();
    writeBackups(place, newest, ...present);
    for (const day of lost) truncateSync(join(place, `${toBackupName(day)}.xml`), 1);
    const gone = await rotateBackups(place, newest, [newest, ...present], { count: keep.count, days: keep.days }, NOW);
    return { gone: gone.map((name) => Number(name.slice(15, 17))), left: names(place).filter((name) => name.endsWith('.json')), place };
  }
  const days = (...all: number[]): BackupManifest[] => all.map((day) => createManifest(day));

  it('rotateBackups removes backups above the count or age, with their files', async () => {
    expect((await rotated({}, days(8, 7))).gone).toEqual([]);
    expect((await rotated({ count: 3 }, days(8, 7, 6))).gone).toEqual([6]);
    expect((await rotated({ count: 1 }, days(8, 7))).gone).toEqual([8, 7]);
    // A backup of exactly this age stays.
    expect((await rotated({ days: 3 }, days(8, 7, 6))).gone).toEqual([6]);
    expect((await rotated({ count: 2, days: 3 }, days(8, 7, 6))).gone).toEqual([7, 6]);
    const { left: toPartialName, place } = await rotated({ count: 2 }, days(8, 7));
    expect(toPartialName).toEqual([8, 9].map((day) => `${toBackupName(day)}.json`));
    expect(names(place)).toHaveLength(4);
  });

  it('rotateBackups counts only complete backups, and keeps the last complete backup at any age', async () => {
    expect((await rotated({ count: 2 }, days(8, 7, 6), { lost: [8] })).gone).toEqual([6]);
    expect((await rotated({ count: 1 }, days(8, 7), { lost: [9] })).gone).toEqual([7]);
    expect((await rotated({ days: 0.5 }, days(8, 7), { newest: createManifest(9), lost: [9] })).gone).toEqual([9, 7]);
    expect((await rotated({ days: 0.5 }, days(8, 7))).gone).toEqual([8, 7]);
  });

  it('rotateBackups keeps backups of other appliances and kinds', async () => {
    const binary = createManifest(7, { files: [createFile(toBackupName(7), 'binary')] });
    const both = createManifest(6, { files: [createFile(toBackupName(6)), createFile(toBackupName(6), 'binary')] });
    const other = createManifest(5, { 'serial-number': 'S2' });
    const unknown = createManifest(4, { 'serial-number': null });
    expect((await rotated({ count: 1 }, [createManifest(8), binary, both, other, unknown])).gone).toEqual([8]);
    const newest = createManifest(9, { 'serial-number': null });
    expect((await rotated({ count: 1 }, [unknown, createManifest(8)], { newest })).gone).toEqual([4]);
    expect(
      (await rotated({ count: 1 }, [unknown], { newest: createManifest(9, { 'serial-number': null, appliance: 'vpn-2' }) })).gone,
    ).toEqual([]);
  });

  it('rotateBackups keeps the last complete backup of the same appliance and kinds', async () => {
    const place = createTemporaryFolder();
    const authentication = { method: AUTHENTICATION_METHOD, salt: '0'.repeat(32), 'hmac-sha256': 'x' } as const;
    const all = [createManifest(8), createManifest(7, { authentication }), createManifest(6, { 'serial-number': 'S2' }), createManifest(5)];
    writeBackups(place, ...all);
    const findName = async (manifest: BackupManifest, present = all): Promise<string | undefined> =>
      (await findLastGoodBackup(place, manifest, present))?.backup;
    expect(await findName(createManifest(9))).toBe(toBackupName(8));
    expect(await findName(createManifest(8))).toBe(toBackupName(7));
    expect(await findName(createManifest(9, { authentication }))).toBe(toBackupName(7));
    expect(await findName(createManifest(9, { 'serial-number': 'S3' }))).toBeUndefined();
    // A backup with a later time comes last.
    expect(await findName(createManifest(6))).toBe(toBackupName(5));
    expect(await findName(createManifest(4))).toBe(toBackupName(8));
    expect(await findName(createManifest(9, { time: toTime(8) }))).toBe(toBackupName(8));
    truncateSync(join(place, `${toBackupName(8)}.xml`), 1);
    expect(await findName(createManifest(9))).toBe(toBackupName(7));
  });
});

describe('recoverBackupFolder', () => {
  const toPartialName = (name: string, pid = 999999999): string => `${name}.${HOST_NAME_HASH}-${pid}-1.partial`;

  it('recoverBackupFolder completes a backup that has all its files, and removes other partial files', async () => {
    const place = createTemporaryFolder();
    writeBackups(place, createManifest(1), createManifest(2), createManifest(3));
    const beside = (day: number, text: string): void => {
      writeFileSync(join(place, toPartialName(`${toBackupName(day)}.json`)), text);
    };
    for (const day of [4, 5]) writeBackups(place, createManifest(day));
    for (const day of [4, 5]) {
      beside(day, readFileSync(join(place, `${toBackupName(day)}.json`), 'utf8'));
      writeFileSync(join(place, `${toBackupName(day)}.json`), '');
    }
    truncateSync(join(place, `${toBackupName(5)}.xml`), 1);
    beside(6, '{');
    writeFileSync(join(place, toPartialName(`${toBackupName(7)}.xml`)), 'half');
    const others = [toPartialName('notes.xml'), toPartialName(`${toBackupName(8)}.xml`, process.ppid), `${toBackupName(8)}.bin`];
    for (const name of others) writeFileSync(join(place, name), '');
    const removed = await recoverBackupFolder(place);
    expect(removed.toSorted()).toEqual(
      [
        `${toBackupName(5)}.xml`,
        toPartialName(`${toBackupName(5)}.json`),
        toPartialName(`${toBackupName(6)}.json`),
        toPartialName(`${toBackupName(7)}.xml`),
      ].toSorted(),
    );
    expect(await readBackupManifest(place, `${toBackupName(4)}.json`)).toEqual(createManifest(4));
    for (const name of others) expect([name, existsSync(join(place, name))]).toEqual([name, true]);
    for (const name of removed) expect([name, existsSync(join(place, name))]).toEqual([name, false]);
  });

  it('recoverBackupFolder removes a backup whose manifest cannot be renamed', async () => {
    const place = createTemporaryFolder();
    const write = async (day: number): Promise<BackupFileOutput> => {
      const output = await BackupFileOutput.create(join(place, `${toBackupName(day)}.xml`), false, undefined);
      await output.write(Buffer.from(CONTENT));
      expect(await output.end()).toEqual({ bytes: CONTENT.length, sha256, mac: undefined });
      return output;
    };
    const manifest = createManifest(1);
    expect(await commitBackup(place, manifest, [await write(1)])).toBe(join(place, `${manifest.backup}.json`));
    expect(readFileSync(join(place, `${manifest.backup}.json`), 'utf8')).toBe(`${JSON.stringify(manifest, null, 2)}\n`);
    expect(names(place)).toEqual([`${toBackupName(1)}.json`, `${toBackupName(1)}.xml`]);
    // A folder has the name of the manifest.
    mkdirSync(join(place, `${toBackupName(2)}.json`, 'x'), { recursive: true });
    const error = await expectFailure(commitBackup(place, createManifest(2), [await write(2)]));
    expect(error).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('cannot be written') as string });
    expect(names(place)).toEqual([`${toBackupName(1)}.json`, `${toBackupName(1)}.xml`, `${toBackupName(2)}.json`]);
  });
});
