import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/model/error';
import type { ErrorCode } from '../../../src/model/error-codes';
import { CONFIGURATION_ROOT } from '../../../src/model/path';
import { toFileSegments } from '../../../src/snapshot/resource-file-names';
import { SnapshotFolder } from '../../../src/snapshot/snapshot-folder';
import { serializeManifest, type SnapshotManifest } from '../../../src/snapshot/manifest';
import { DependencyScheduler } from '../../../src/snapshot/dependency-scheduler';
import { HOST_NAME_HASH } from '../../../src/files/atomic-file';
import { expectFailure } from '../../helpers/simulated-appliance';
import { withPatchedFileHandles } from '../../helpers/journal';
import { listFiles, SNAPSHOT_MANIFEST_FILE } from '../../helpers/snapshot';
import { createTemporaryFolder } from '../../helpers/temporary';

// Snapshot files and the order of a revert, without an appliance.

const toPath = (path: string): string => `${CONFIGURATION_ROOT}/${path}`;
const NONE: ReadonlySet<string> = new Set();
const origin = { appliance: 'vpn', 'serial-number': 'S', release: null, path: CONFIGURATION_ROOT, ignore: [] };

function writeFiles(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** A folder with these files and a matching manifest. */
function folderOf(files: Record<string, string> = {}, more: Partial<SnapshotManifest> = {}): string {
  const folder = createTemporaryFolder();
  writeFiles(folder, { ...files, [SNAPSHOT_MANIFEST_FILE]: serializeManifest({ ...origin, roots: ['users'], names: {}, ...more }) });
  return folder;
}

describe('SnapshotFolder', () => {
  it('SnapshotFolder writes only files that differ, and returns added, changed or same', async () => {
    const folder = folderOf({ 'users/x.json': '{}\r\n', 'users/y.json': '{\r\n  "a": 1\r\n}\r\n' });
    const open = await SnapshotFolder.open(folder);
    let synced = 0;
    await withPatchedFileHandles({ sync: (own) => (synced++, own()) }, async () => {
      const text = '{\n  "a": "grün",\n  "b": 1\n}\n';
      expect(await open.write(toPath('users/a/b'), { b: 1, a: 'grün' }, NONE)).toEqual({ change: 'added', bytes: Buffer.byteLength(text) });
      expect(readFileSync(join(folder, 'users/a/b.json'), 'utf8')).toBe(text);
    });
    // The next run repairs the folder after a crash.
    expect([synced, statSync(join(folder, 'users/a')).mode & 0o777]).toEqual([0, 0o700]);
    const again = await SnapshotFolder.open(folder);
    const readOutcome = async (name: string, resource: object): Promise<string> =>
      (await again.write(toPath(name), { ...resource }, NONE)).change;
    expect([await readOutcome('users/a/b', { a: 'grün', b: 1 }), await readOutcome('users/a/b', { a: 'rot' })]).toEqual([
      'same',
      'changed',
    ]);
    // Git may have changed the line ends.
    expect([await readOutcome('users/x', {}), await readOutcome('users/y', { a: 1 }), await readOutcome('users/z', {})]).toEqual([
      'same',
      'same',
      'added',
    ]);
    expect(readFileSync(join(folder, 'users/x.json'), 'utf8')).toBe('{}\r\n');
    expect(await readOutcome('users/y', { a: 2 })).toBe('changed');
    expect(await readOutcome('users/y', { password: 'planted' })).toBe('changed');
    expect(readFileSync(join(folder, 'users/y.json'), 'utf8')).toBe('{\n  "password": "***"\n}\n');
  });

  it('SnapshotFolder throws if another file or folder has the name that it needs, and leaves no partial file', async () => {
    const folder = folderOf({ 'users/x.json/y': '', 'users/f': '' });
    const open = await SnapshotFolder.open(folder);
    const before = listFiles(folder);
    const readOutcome = async (name: string): Promise<string> => (await expectFailure(open.write(toPath(name), {}, NONE))).message;
    expect(await readOutcome('users/x')).toBe(`${join(folder, 'users/x.json')} cannot be written: it is a folder (EISDIR).`);
    expect(await readOutcome('users/f/g')).toMatch(/users\/f\/g\.json cannot be written: .*\(E(?:EXIST|NOTDIR)\)\.$/);
    const broken = () => Promise.reject(Object.assign(new Error('broken'), { code: 'EIO' }));
    await withPatchedFileHandles({ write: broken }, async () => {
      expect(await readOutcome('users/new')).toBe(`${join(folder, 'users/new.json')} cannot be written: the disk does not answer (EIO).`);
    });
    expect(listFiles(folder)).toEqual(before);
    const loop = join(folder, 'users/loop.json');
    symlinkSync('loop.json', loop);
    expect(await readOutcome('users/loop')).toBe(`${loop} cannot be written: it is a symbolic link, or links lead in a circle (ELOOP).`);
  });

  it('SnapshotFolder reads its files, and reports damaged files by name', async () => {
    const folder = folderOf({ 'users/x.json': '\ufeff{"a":1}', 'users/y.json': '{', 'users/z.json': '[]' });
    const open = await SnapshotFolder.openExisting(folder);
    const readOutcome = async (name: string): Promise<string> => {
      const error = await expectFailure(open.read(['users', name]));
      expect(error.code).toBe('BAD_INPUT');
      return error.message.replace(join(folder, 'users', name), 'x');
    };
    expect(await open.read(['users', 'x.json'])).toEqual({ a: 1 });
    expect(await readOutcome('none.json')).toBe('x cannot be read: it, or its folder, does not exist (ENOENT).');
    expect(await readOutcome('y.json')).toBe('x is damaged: it is not JSON. Restore the file from Git or a backup, or remove it.');
    expect(await readOutcome('z.json')).toBe('x is damaged: it is not an object. Restore the file from Git or a backup, or remove it.');
    const other = createTemporaryFolder();
    expect((await SnapshotFolder.open(other)).manifest).toBeUndefined();
    expect(await (await SnapshotFolder.open(other)).entries(CONFIGURATION_ROOT)).toEqual([]);
    expect((await expectFailure(SnapshotFolder.openExisting(other))).message).toBe(
      `${other} is not a snapshot folder: it has no ${SNAPSHOT_MANIFEST_FILE}. Take a snapshot into it first.`,
    );
  });

  it.each(['con', 'x.json', 'n'.repeat(200), 'Users'])(
    'SnapshotFolder lists its own top-level files of %s, so that they can be removed',
    async (segment) => {
      const paths = [toPath(segment), toPath(`${segment}/child`)];
      const files = new Map(paths.map((path) => [toFileSegments(path, new Set([toPath('Users')])).join('/'), path]));
      const names = Object.fromEntries([...files].filter(([file]) => file.includes('%~')));
      const folder = folderOf(Object.fromEntries([...files.keys()].map((file) => [file, '{}'])), { roots: [segment], names });
      const open = await SnapshotFolder.openExisting(folder);
      const entries = await open.entries(CONFIGURATION_ROOT);
      expect(new Map(entries.map(([path, segments]) => [segments.join('/'), path]))).toEqual(files);
    },
  );

  it('SnapshotFolder lists only files under its roots', async () => {
    const ours = ['users.json', 'users/x.json', 'users/a%20b/c.json', 'system/log.json', '%.json'];
    const named = 'users/long%~0123456789ab.json';
    const others = [
      'other/x.json',
      'users/read-me.txt',
      'users/No Name.json',
      '.hidden/users/x.json',
      'notes.json',
      'users/un%~named.json',
    ];
    const { pid: ended } = spawnSync(process.execPath, ['-e', '']);
    const partials = [`users/a%20b/c.json.${HOST_NAME_HASH}-${ended}-1.partial`, `users/y.json.${HOST_NAME_HASH}-${ended}-1.partial`];
    const foreign = [`other/x.json.${HOST_NAME_HASH}-${ended}-1.partial`, `users/z.json.${HOST_NAME_HASH}-${process.ppid}-1.partial`];
    const files = Object.fromEntries([...ours, named, ...others, ...partials, ...foreign].map((name) => [name, '{}']));
    const folder = folderOf(files, { roots: ['users', 'system'], names: { [named]: toPath('users/long') } });
    mkdirSync(join(folder, 'users/folder.json'));
    symlinkSync(join(folder, 'users/x.json'), join(folder, 'users/link.json'));
    const open = await SnapshotFolder.openExisting(folder);
    const listEntries = async (place: string): Promise<string[]> => (await open.entries(place)).map(([, names]) => names.join('/')).sort();
    expect(await listEntries(CONFIGURATION_ROOT)).toEqual([...ours, named].sort());
    expect(await listEntries(toPath('users'))).toEqual([named, ...ours.slice(0, 3)].sort());
    expect(await listEntries(toPath('users/long'))).toEqual([named]);
    expect((await open.entries(toPath('users/a%20b/c'))).map(([place]) => place)).toEqual([toPath('users/a%20b/c')]);
    // Partial files of a killed run are removed.
    expect(listFiles(folder).filter((name) => name.endsWith('.partial'))).toEqual([...foreign].sort());
    const part = await SnapshotFolder.openExisting(folderOf(files, { path: toPath('users/a%20b') }));
    expect((await part.entries(CONFIGURATION_ROOT)).map(([place]) => place)).toEqual([toPath('users/a%20b/c')]);
    const emptied = await SnapshotFolder.openExisting(folder);
    expect(emptied.manifest.roots).toEqual(['system', 'users']);
  });

  it('SnapshotFolder removes files of deleted resources and empty folders', async () => {
    const folder = folderOf({ 'users/a/b/c.json': '', 'users/a/d.json': '', 'users/e/f.json/g': '', 'users/h/i/j.json': '' });
    const open = await SnapshotFolder.open(folder);
    await open.remove(['users', 'h', 'i', 'j.json']);
    expect(() => statSync(join(folder, 'users/h'))).toThrow('ENOENT');
    await open.remove(['users', 'a', 'b', 'c.json']);
    expect(listFiles(folder)).toEqual([SNAPSHOT_MANIFEST_FILE, 'users/a/d.json', 'users/e/f.json/g']);
    await open.remove(['users', 'a', 'd.json']);
    await open.remove(['users', 'a', 'd.json']);
    const [message] = [(await expectFailure(open.remove(['users', 'e', 'f.json']))).message];
    expect(message).toContain(`${join(folder, 'users/e/f.json')} cannot be written: `);
    expect(() => statSync(join(folder, 'users/a'))).toThrow('ENOENT');
    // The folder itself stays.
    const empty = createTemporaryFolder();
    writeFiles(empty, { 'x.json': '' });
    await (await SnapshotFolder.open(empty)).remove(['x.json']);
    expect(statSync(empty).isDirectory()).toBe(true);
    await open.renameFile(['users', 'e'], ['users', 'E']);
    expect(listFiles(folder)).toEqual([SNAPSHOT_MANIFEST_FILE, 'users/E/f.json/g']);
  });

  it('the manifest of a SnapshotFolder lists the resource path of each file whose name does not show it', async () => {
    const folder = createTemporaryFolder();
    const open = await SnapshotFolder.open(folder);
    const alike = new Set([toPath('users/x'), toPath('users/X')]);
    for (const name of ['x', 'X', 'y']) await open.write(toPath(`users/${name}`), {}, alike);
    await open.writeManifest({ ...origin, appliance: 'größe', roots: ['users'] }, [['users/old%~1.json', toPath('users/old')]]);
    const { manifest } = await SnapshotFolder.openExisting(folder);
    expect(manifest.appliance).toBe('größe');
    expect(Object.values(manifest.names).sort()).toEqual([toPath('users/X'), toPath('users/old'), toPath('users/x')]);
    for (const [name, place] of Object.entries(manifest.names).filter(([, place]) => !place.endsWith('old'))) {
      expect(name).toMatch(/^users\/x%~[0-9a-f]{12}\.json$/i);
      expect((await (await SnapshotFolder.open(folder)).entries(place)).map(([, names]) => names.join('/'))).toEqual([name]);
    }
    const before = statSync(join(folder, SNAPSHOT_MANIFEST_FILE), { bigint: true }).ctimeNs;
    const { names, ...same } = manifest;
    await (await SnapshotFolder.open(folder)).writeManifest(same, Object.entries(names));
    expect(statSync(join(folder, SNAPSHOT_MANIFEST_FILE), { bigint: true }).ctimeNs).toBe(before);
  });
});

describe('DependencyScheduler with refusals', () => {
  const refuse = (code: ErrorCode): Promise<void> => Promise.reject(new GatewayError(code, 'It refers to nothing.'));
  const settled = (): Promise<void> => new Promise(setImmediate);

  /** Runs all items at once. Each is refused until its dependencies are done. Returns the attempts in order. */
  async function tried(needs: Record<string, string | undefined>, code: ErrorCode = 'REJECTED', atOnce = 9): Promise<string[]> {
    const turns = new DependencyScheduler(Object.keys(needs), atOnce);
    const done = new Set<string>();
    const log: string[] = [];
    const work = async (place: string, need: string | undefined): Promise<void> => {
      await settled();
      const isRefused = need !== undefined && !done.has(need);
      log.push(isRefused ? `${place}?` : place);
      if (isRefused) return refuse(code);
      done.add(place);
    };
    const all = Object.entries(needs).map(([place, need]) => turns.run(place, () => work(place, need)));
    const ended = await Promise.allSettled(all);
    return [...log, ...ended.flatMap(({ status }, index) => (status === 'rejected' ? [`${Object.keys(needs)[index]}!`] : []))];
  }

  it.each(['REJECTED', 'NOT_FOUND', 'INVALID_REQUEST'] as const)(
    'DependencyScheduler retries a refused item (%s) after all others',
    async (code) => {
      expect(await tried({ '/a': '/b', '/b': '/c', '/c': undefined }, code)).toEqual(['/a?', '/b?', '/c', '/a?', '/b', '/a']);
    },
  );

  it('DependencyScheduler stops after one more attempt without progress', async () => {
    expect(await tried({ '/a': '/never', '/b': undefined })).toEqual(['/a?', '/b', '/a?', '/a!']);
    expect(await tried({ '/a': '/b', '/b': '/a' })).toEqual(['/a?', '/b?', '/a!', '/b!']);
    expect(await tried({ '/a': '/never' }, 'TIMEOUT')).toEqual(['/a?', '/a!']);
  });

  it('DependencyScheduler runs an item after its parent, whatever the outcome of the parent', async () => {
    expect(await tried({ '/a/b/c': undefined, '/a': '/z', '/ab': undefined, '/z': undefined })).toEqual([
      '/a?',
      '/ab',
      '/z',
      '/a',
      '/a/b/c',
    ]);
    expect(await tried({ '/ab/c': undefined, '/a': '/z', '/z': undefined })).toEqual(['/ab/c', '/a?', '/z', '/a']);
    expect(await tried({ '/a/b': undefined, '/a': '/never' })).toEqual(['/a?', '/a/b', '/a!']);
    expect(await tried({ '/a/b/c': '/a/x', '/a/x': undefined, '/a': undefined })).toEqual(['/a', '/a/b/c?', '/a/x', '/a/b/c']);
  });

  it('DependencyScheduler stops at once after an error that every item would get', async () => {
    const turns = new DependencyScheduler(['/a', '/b', '/c', '/d'], 9);
    const log: string[] = [];
    const work = async (place: string, code: ErrorCode): Promise<void> => {
      log.push(place);
      return refuse(code);
    };
    const waiting = [turns.run('/a', () => work('/a', 'REJECTED')), turns.run('/b', () => work('/b', 'REJECTED'))].map(expectFailure);
    await settled();
    expect(log).toEqual(['/a', '/b']);
    expect((await expectFailure(turns.run('/c', () => work('/c', 'UNAUTHORIZED')))).code).toBe('UNAUTHORIZED');
    expect((await Promise.all(waiting)).map(({ code }) => code)).toEqual(['REJECTED', 'REJECTED']);
    expect((await expectFailure(turns.run('/d', () => work('/d', 'REJECTED')))).code).toBe('REJECTED');
    expect(log).toEqual(['/a', '/b', '/c', '/d']);
  });

  it('DependencyScheduler continues with further items while all running ones wait', async () => {
    // Two at a time: when both wait, they are tried again.
    const turns = new DependencyScheduler(['/a', '/b', '/c'], 2);
    const waiting = ['/a', '/b'].map((place) => expectFailure(turns.run(place, () => refuse('REJECTED'))));
    expect((await waiting[0])?.code).toBe('REJECTED');
    await turns.run('/c', () => Promise.resolve());
    expect((await waiting[1])?.code).toBe('REJECTED');
  });
});
