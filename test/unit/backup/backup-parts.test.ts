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
import { listBackups } from '../../../src/backup/list';
import { AUTHENTICATION_METHOD, parseBackupManifest, type BackupFile, type BackupManifest } from '../../../src/backup/manifest';
import {
  createBackupName,
  parseBackupFileName,
  parseManifestFileName,
  isBackupName,
  isClaimFileName,
  nextUniqueTime,
} from '../../../src/backup/names';
import { StoredOutput } from '../../../src/backup/stored-file';
import { HOST_HASH } from '../../../src/files/atomic-file';
import { expectFailure } from '../../helpers/simulated-appliance';
import { createTemporaryFolder } from '../../helpers/temporary';

// What stands in a folder of backups, and what is made of it, without an appliance.

const nameOf = (day: number): string => `vpn-1_S1_202001${String(day).padStart(2, '0')}T000000.000Z`;
const timeOf = (day: number): string => `2020-01-${String(day).padStart(2, '0')}T00:00:00.000Z`;
const CONTENT = '<configuration/>';
const sha256 = createHash('sha256').update(CONTENT).digest('hex');

function fileOf(backup: string, kind: 'xml' | 'binary' = 'xml', more: object = {}): BackupFile {
  const file = `${backup}.${kind === 'xml' ? 'xml' : 'bin'}`;
  const content = { bytes: CONTENT.length, sha256, verified: 'xml', fingerprint: 'f' } as const;
  return { file, kind, bytes: CONTENT.length, sha256, compression: null, encryption: null, content, ...more };
}

function manifestOf(day: number, more: Partial<BackupManifest> = {}): BackupManifest {
  const backup = nameOf(day);
  return {
    format: 'gateway-backup/1',
    backup,
    appliance: 'vpn-1',
    'serial-number': 'S1',
    'host-name': null,
    'hardware-model': null,
    release: '22.7',
    time: timeOf(day),
    'password-protected': false,
    files: [fileOf(backup)],
    ...more,
  };
}

/** Puts backups into a folder: manifests and files. */
function put(place: string, ...manifests: readonly BackupManifest[]): void {
  for (const manifest of manifests) {
    writeFileSync(join(place, `${manifest.backup}.json`), JSON.stringify(manifest));
    for (const { file } of manifest.files) writeFileSync(join(place, file), CONTENT);
  }
}

const names = (place: string): string[] => readdirSync(place).sort();
const daysOf = (manifests: readonly BackupManifest[]): number[] => manifests.map(({ backup }) => Number(backup.slice(15, 17)));

describe('the name of a backup', () => {
  const name = nameOf(1);

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
  ])('is found in the name of its file: %s', (file, ofFile, ofManifest) => {
    expect([parseBackupFileName(file), parseManifestFileName(file)]).toEqual([ofFile, ofManifest]);
  });

  it('differs from other names', () => {
    expect([name, `a${name}`, 'a.b_c.d_20200101T000000.000Z', '-_-_20200101T000000.000Z'].map(isBackupName)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([`${name}x`, `.${name}`, ` ${name}`, `${name}.xml`, `../${name}`, ''].some(isBackupName)).toBe(false);
    expect([`${name}.claim`, `${name}.claims`, `x/${name}.claim`, `${name}-claim`].map(isClaimFileName)).toEqual([
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
  ])('is made of %j and %j', (appliance, serial, expected) => {
    expect(createBackupName(appliance, serial, new Date(0))).toBe(`${expected}_19700101T000000.000Z`);
  });

  it('has a time that no earlier one had', () => {
    const now = Date.now();
    const times = Array.from({ length: 50 }, () => nextUniqueTime().getTime());
    expect(times.every((time) => time >= now)).toBe(true);
    expect(new Set(times).size).toBe(50);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
  });
});

describe('parseBackupManifest', () => {
  const good = manifestOf(1);
  const [file] = good.files as [BackupFile];
  const read = (value: unknown): BackupManifest | undefined => parseBackupManifest(JSON.stringify(value), good.backup);
  const authentication = { method: AUTHENTICATION_METHOD, salt: '0'.repeat(32), 'hmac-sha256': 'x' };

  it.each<[object]>([
    [good],
    [{ ...good, 'serial-number': null, release: null, 'host-name': 'h', 'hardware-model': 'm' }],
    [{ ...good, format: 'gateway-backup/2', authentication }],
    [{ ...good, files: [file, fileOf(good.backup, 'binary', { compression: 'gzip', encryption: 'x', 'hmac-sha256': 'y' })] }],
    [{ ...good, files: [{ ...file, bytes: 0, content: { ...file.content, bytes: 0 } }] }],
  ])('reads a valid manifest: %#', (value) => {
    expect(read(value)).toEqual(value);
  });

  it.each([
    ['x'],
    [null],
    [{}],
    [{ ...good, format: 1 }],
    [{ ...good, format: 'gateway-snapshot/1' }],
    [{ ...good, format: 'x gateway-backup/1' }],
  ])('returns undefined for other JSON: %#', (value) => {
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
    [files({ ...file, file: `${nameOf(2)}.xml` })],
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
  ])('reports a damaged manifest: %#', (value) => {
    expect(() => read(value)).toThrow(/^it is damaged$/);
  });

  it('reports what else is wrong', () => {
    expect(() => parseBackupManifest('{', good.backup)).toThrow(/^it is damaged: it is not JSON$/);
    expect(() => read({ ...good, format: `gateway-backup/${'9'.repeat(90)}` })).toThrow(
      new RegExp(`^its format is "gateway-backup/${'9'.repeat(25)}", which this version does not know$`),
    );
    expect(() => read({ ...good, backup: nameOf(2) })).toThrow(/^it belongs to another backup name$/);
  });
});

describe('readBackupIndex', () => {
  it('lists backups newest first, unreadable manifests and missing ones', async () => {
    const place = createTemporaryFolder();
    // The time counts, of the same time the name.
    put(place, manifestOf(1), manifestOf(3, { time: timeOf(1) }), manifestOf(2), manifestOf(4, { time: timeOf(2) }));
    writeFileSync(join(place, `${nameOf(5)}.json`), '{');
    writeFileSync(join(place, `${nameOf(5)}.xml`), '');
    writeFileSync(join(place, `${nameOf(6)}.xml`), '');
    writeFileSync(join(place, `${nameOf(6)}.bin`), '');
    writeFileSync(join(place, `${nameOf(7)}.json`), '{}');
    mkdirSync(join(place, `${nameOf(8)}.xml`));
    symlinkSync(join(place, `${nameOf(1)}.json`), join(place, `${nameOf(9)}.json`));
    const { manifests, faults, orphans } = await readBackupIndex(place);
    expect(daysOf(manifests)).toEqual([4, 2, 3, 1]);
    expect([...faults.keys()]).toEqual([nameOf(5)]);
    expect(orphans).toEqual([nameOf(6)]);
    const path = join(place, `${nameOf(5)}.json`);
    const why =
      'cannot be used: it is damaged: it is not JSON. Its backup cannot be read without it. Restore the file, or move it out of the folder.';
    const first = await expectFailure(readBackupManifests(place));
    expect([first.code, first.message]).toEqual(['BAD_INPUT', `${path} ${why}`]);
    expect((await expectFailure(listBackups(place))).message).toBe(first.message);
    for (const day of [10, 11]) writeFileSync(join(place, `${nameOf(day)}.json`), '{');
    expect((await expectFailure(readBackupManifests(place))).message).toMatch(/out of the folder\. 2 more cannot be read either\.$/);
    expect(await expectFailure(readBackupIndex(join(place, 'none')))).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('cannot be read') as string,
    });
  });

  it('finds a backup by its name, by a file name, or as latest', async () => {
    const place = createTemporaryFolder();
    put(place, manifestOf(1), manifestOf(2));
    for (const wanted of [nameOf(1), `${nameOf(1)}.xml`, `${nameOf(1)}.json`, `/x/y/${nameOf(1)}.xml`, `C:\\x\\${nameOf(1)}`])
      expect((await findBackup(place, wanted)).backup).toBe(nameOf(1));
    expect((await findBackup(place, 'latest')).backup).toBe(nameOf(2));
    const listed = await listBackups(`${place}/x/..`);
    expect(listed).toMatchObject([{ backup: nameOf(2), folder: place }, { backup: nameOf(1) }]);
    for (const wanted of [nameOf(3), 'nonsense', `${nameOf(3)}.xml`]) {
      const error = await expectFailure(findBackupByName(place, wanted));
      expect([error.code, error.message]).toEqual([
        'BAD_INPUT',
        `There is no backup ${JSON.stringify(wanted)} in ${place}. List backups shows all backups.`,
      ]);
    }
    expect(findLatestBackup(place, [manifestOf(2), manifestOf(1)], ({ backup }) => backup === nameOf(1)).backup).toBe(nameOf(1));
    expect(() => findLatestBackup(place, [manifestOf(1)], () => false)).toThrow(
      `There is no backup of this appliance in ${place}. List backups shows all backups.`,
    );
    expect(await readBackupManifest(place, 'notes.json')).toBeUndefined();
    expect(await readBackupManifest(place, `${nameOf(5)}.json`)).toBeUndefined();
    // A manifest that is as large as one may be, and one that is larger.
    const padded = JSON.stringify(manifestOf(1)).padEnd(256 * 1024);
    const path = join(place, `${nameOf(1)}.json`);
    writeFileSync(path, padded);
    expect((await findBackupByName(place, nameOf(1))).backup).toBe(nameOf(1));
    writeFileSync(path, `${padded} `);
    expect((await expectFailure(findBackupByName(place, nameOf(1)))).message).toContain('cannot be used: it is too large for a manifest.');
  });

  it('reports which backups are complete', async () => {
    const place = createTemporaryFolder();
    const both = manifestOf(1, { files: [fileOf(nameOf(1)), fileOf(nameOf(1), 'binary')] });
    put(place, both);
    expect(await isBackupComplete(place, both)).toBe(true);
    truncateSync(join(place, `${nameOf(1)}.bin`), 3);
    expect(await isBackupComplete(place, both)).toBe(false);
    const moved = manifestOf(2);
    symlinkSync(join(place, `${nameOf(1)}.xml`), join(place, `${nameOf(2)}.xml`));
    expect([await isBackupComplete(place, moved), await isBackupComplete(place, manifestOf(3))]).toEqual([false, false]);
  });
});

describe('rotateBackups', () => {
  const NOW = new Date('2020-01-10T00:00:00.000Z');
  async function rotated(
    keep: { count?: number; days?: number },
    present: readonly BackupManifest[],
    { newest = manifestOf(9), lost = [] as number[] } = {},
  ): Promise<{ gone: number[]; left: string[]; place: string }> {
    const place = createTemporaryFolder();
    put(place, newest, ...present);
    for (const day of lost) truncateSync(join(place, `${nameOf(day)}.xml`), 1);
    const gone = await rotateBackups(place, newest, [newest, ...present], { count: keep.count, days: keep.days }, NOW);
    return { gone: gone.map((name) => Number(name.slice(15, 17))), left: names(place).filter((name) => name.endsWith('.json')), place };
  }
  const days = (...all: number[]): BackupManifest[] => all.map((day) => manifestOf(day));

  it('removes backups above the count or age with their files', async () => {
    expect((await rotated({}, days(8, 7))).gone).toEqual([]);
    expect((await rotated({ count: 3 }, days(8, 7, 6))).gone).toEqual([6]);
    expect((await rotated({ count: 1 }, days(8, 7))).gone).toEqual([8, 7]);
    // The one that is exactly so old stays.
    expect((await rotated({ days: 3 }, days(8, 7, 6))).gone).toEqual([6]);
    expect((await rotated({ count: 2, days: 3 }, days(8, 7, 6))).gone).toEqual([7, 6]);
    const { left, place } = await rotated({ count: 2 }, days(8, 7));
    expect(left).toEqual([8, 9].map((day) => `${nameOf(day)}.json`));
    expect(names(place)).toHaveLength(4);
  });

  it('counts only complete backups, and keeps the last complete one at any age', async () => {
    expect((await rotated({ count: 2 }, days(8, 7, 6), { lost: [8] })).gone).toEqual([6]);
    expect((await rotated({ count: 1 }, days(8, 7), { lost: [9] })).gone).toEqual([7]);
    expect((await rotated({ days: 0.5 }, days(8, 7), { newest: manifestOf(9), lost: [9] })).gone).toEqual([9, 7]);
    expect((await rotated({ days: 0.5 }, days(8, 7))).gone).toEqual([8, 7]);
  });

  it('keeps backups of other appliances and kinds', async () => {
    const binary = manifestOf(7, { files: [fileOf(nameOf(7), 'binary')] });
    const both = manifestOf(6, { files: [fileOf(nameOf(6)), fileOf(nameOf(6), 'binary')] });
    const other = manifestOf(5, { 'serial-number': 'S2' });
    const unknown = manifestOf(4, { 'serial-number': null });
    expect((await rotated({ count: 1 }, [manifestOf(8), binary, both, other, unknown])).gone).toEqual([8]);
    const newest = manifestOf(9, { 'serial-number': null });
    expect((await rotated({ count: 1 }, [unknown, manifestOf(8)], { newest })).gone).toEqual([4]);
    expect((await rotated({ count: 1 }, [unknown], { newest: manifestOf(9, { 'serial-number': null, appliance: 'vpn-2' }) })).gone).toEqual(
      [],
    );
  });

  it('leaves the last complete backup of the same series for comparison', async () => {
    const place = createTemporaryFolder();
    const authentication = { method: AUTHENTICATION_METHOD, salt: '0'.repeat(32), 'hmac-sha256': 'x' } as const;
    const all = [manifestOf(8), manifestOf(7, { authentication }), manifestOf(6, { 'serial-number': 'S2' }), manifestOf(5)];
    put(place, ...all);
    const found = async (manifest: BackupManifest, present = all): Promise<string | undefined> =>
      (await findLastGoodBackup(place, manifest, present))?.backup;
    expect(await found(manifestOf(9))).toBe(nameOf(8));
    expect(await found(manifestOf(8))).toBe(nameOf(7));
    expect(await found(manifestOf(9, { authentication }))).toBe(nameOf(7));
    expect(await found(manifestOf(9, { 'serial-number': 'S3' }))).toBeUndefined();
    // What claims to be younger comes last.
    expect(await found(manifestOf(6))).toBe(nameOf(5));
    expect(await found(manifestOf(4))).toBe(nameOf(8));
    expect(await found(manifestOf(9, { time: timeOf(8) }))).toBe(nameOf(8));
    truncateSync(join(place, `${nameOf(8)}.xml`), 1);
    expect(await found(manifestOf(9))).toBe(nameOf(7));
  });
});

describe('recoverBackupFolder', () => {
  const left = (name: string, pid = 999999999): string => `${name}.${HOST_HASH}-${pid}-1.partial`;

  it('completes a backup that has all its files, and removes other partial files', async () => {
    const place = createTemporaryFolder();
    put(place, manifestOf(1), manifestOf(2), manifestOf(3));
    const beside = (day: number, text: string): void => {
      writeFileSync(join(place, left(`${nameOf(day)}.json`)), text);
    };
    for (const day of [4, 5]) put(place, manifestOf(day));
    for (const day of [4, 5]) {
      beside(day, readFileSync(join(place, `${nameOf(day)}.json`), 'utf8'));
      writeFileSync(join(place, `${nameOf(day)}.json`), '');
    }
    truncateSync(join(place, `${nameOf(5)}.xml`), 1);
    beside(6, '{');
    writeFileSync(join(place, left(`${nameOf(7)}.xml`)), 'half');
    const others = [left('notes.xml'), left(`${nameOf(8)}.xml`, process.ppid), `${nameOf(8)}.bin`];
    for (const name of others) writeFileSync(join(place, name), '');
    const removed = await recoverBackupFolder(place);
    expect(removed.toSorted()).toEqual(
      [`${nameOf(5)}.xml`, left(`${nameOf(5)}.json`), left(`${nameOf(6)}.json`), left(`${nameOf(7)}.xml`)].toSorted(),
    );
    expect(await readBackupManifest(place, `${nameOf(4)}.json`)).toEqual(manifestOf(4));
    for (const name of others) expect([name, existsSync(join(place, name))]).toEqual([name, true]);
    for (const name of removed) expect([name, existsSync(join(place, name))]).toEqual([name, false]);
  });

  it('removes a backup whose manifest cannot be renamed', async () => {
    const place = createTemporaryFolder();
    const write = async (day: number): Promise<StoredOutput> => {
      const output = await StoredOutput.create(join(place, `${nameOf(day)}.xml`), false, undefined);
      await output.write(Buffer.from(CONTENT));
      expect(await output.end()).toEqual({ bytes: CONTENT.length, sha256, mac: undefined });
      return output;
    };
    const manifest = manifestOf(1);
    expect(await commitBackup(place, manifest, [await write(1)])).toBe(join(place, `${manifest.backup}.json`));
    expect(readFileSync(join(place, `${manifest.backup}.json`), 'utf8')).toBe(`${JSON.stringify(manifest, null, 2)}\n`);
    expect(names(place)).toEqual([`${nameOf(1)}.json`, `${nameOf(1)}.xml`]);
    // A folder has the name of the manifest.
    mkdirSync(join(place, `${nameOf(2)}.json`, 'x'), { recursive: true });
    const error = await expectFailure(commitBackup(place, manifestOf(2), [await write(2)]));
    expect(error).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('cannot be written') as string });
    expect(names(place)).toEqual([`${nameOf(1)}.json`, `${nameOf(1)}.xml`, `${nameOf(2)}.json`]);
  });
});
