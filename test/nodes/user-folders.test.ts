import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UserFolderBrowser } from '../../nodes/admin/user-folders';

describe('the folders of a dialog', () => {
  let work: string;
  let root: string;
  let folders: UserFolderBrowser;
  beforeEach(() => {
    work = realpathSync(mkdtempSync(join(tmpdir(), 'gateway-folders-')));
    root = join(work, 'user');
    for (const name of ['user/backups/vpn-1', 'user/.config', 'user/node_modules', 'outside/secret'])
      mkdirSync(join(work, name), { recursive: true });
    writeFileSync(join(root, 'flows.json'), '[]');
    folders = new UserFolderBrowser(root);
  });
  afterEach(() => rmSync(work, { recursive: true, force: true }));

  it('the folder picker lists folders below the user directory, but no files, hidden folders and programs', async () => {
    expect(await folders.list('')).toMatchObject({ state: 'none', path: root, names: [], folders: ['backups'] });
    const backups = join(root, 'backups');
    expect(await folders.list(backups)).toMatchObject({ state: 'writable', path: backups, names: ['backups'], folders: ['vpn-1'] });
    expect(await folders.list(join(root, 'flows.json'))).toMatchObject({ state: 'no-folder', path: root });
  });

  it('the folder picker shows the nearest existing parent of a folder that does not exist', async () => {
    expect(await folders.list(join(root, 'backups', 'new', 'er'))).toMatchObject({ state: 'missing', path: join(root, 'backups') });
  });

  it('the folder picker reveals nothing about folders outside the user directory', async () => {
    const outside = { state: 'outside', path: root, folders: ['backups'] };
    for (const path of [work, join(work, 'outside'), join(work, 'gone'), join(root, '..', 'outside'), '/', 'relative', `${root}-other`])
      expect(await folders.list(path), path).toMatchObject(outside);
  });

  it('the folder picker rejects a path that is too long without reading the file system', async () => {
    const long = join(root, 'backups', ...new Array<string>(1000).fill('deep'));
    expect(await folders.list(long)).toMatchObject({ state: 'outside', path: root });
    expect(await folders.list(long.slice(0, 4096))).toMatchObject({ state: 'missing', path: join(root, 'backups') });
    await expect(folders.create(long, 'new')).rejects.toThrow('cannot write');
  });

  it('the folder picker follows no link out of the user directory', async () => {
    symlinkSync(join(work, 'outside'), join(root, 'link'));
    symlinkSync(join(work, 'nowhere'), join(root, 'dangling'));
    for (const path of ['link', 'link/secret', 'link/gone', 'dangling', 'dangling/deeper'])
      expect(await folders.list(join(root, path)), path).toMatchObject({ state: 'outside', path: root, folders: ['backups'] });
    await expect(folders.create(join(root, 'link'), 'new')).rejects.toThrow('cannot write');
    expect(existsSync(join(work, 'outside', 'new'))).toBe(false);
  });

  it('the folder picker creates a folder below the user directory, even if the user directory is a link', async () => {
    symlinkSync(root, join(work, 'link-to-user'));
    const linked = new UserFolderBrowser(join(work, 'link-to-user'));
    const created = join(work, 'link-to-user', 'backups', 'vpn-2');
    expect(await linked.create(join(root, 'backups'), 'vpn-2')).toMatchObject({ state: 'writable', path: created });
    expect(existsSync(join(root, 'backups', 'vpn-2'))).toBe(true);
    await expect(linked.create(join(root, 'backups'), 'vpn-2')).rejects.toThrow('exists already');
  });

  it('the folder picker refuses to create a folder with a hidden name or a name that is a path', async () => {
    for (const name of ['', '.', '..', '.ssh', '../x', 'a/b', 'a\\b', 'a\0b', 'x'.repeat(101), 'node_modules', 'end.', 'C:'])
      await expect(folders.create(root, name), JSON.stringify(name)).rejects.toThrow('is not a name for a folder');
  });
});
