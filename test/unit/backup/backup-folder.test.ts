import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createBackupName, isBackupName } from '../../../src/backup/names';
import { expectFailure } from '../../helpers/simulated-appliance';
import { startNamedSimulatorWithGateway, takeBackup } from '../../helpers/backup';
import { createTemporaryFolder, listNames } from '../../helpers/transfer';
import { listOpenFiles } from '../../helpers/open-files';

/** The name of a backup that somebody else may have made. */
const other = (day: number): string => `vpn-1_X_202001${String(day).padStart(2, '0')}T000000.000Z`;

describe('a backup folder', () => {
  it.each<[string, (path: string) => void, RegExp]>([
    ['cut short', (path) => truncateSync(path, 100), /not JSON/],
    ['empty', (path) => truncateSync(path, 0), /not JSON/],
    ['huge', (path) => truncateSync(path, 2 ** 31), /too large/],
    ['of a later version', (path) => replace(path, 'gateway-backup/1', 'gateway-backup/9'), /does not know/],
    ['without a hash', (path) => replace(path, '"sha256"', '"sha1"'), /damaged/],
    ['with a file of another folder', (path) => replace(path, '"file": "', '"file": "../'), /damaged/],
  ])('a backup folder names a manifest that is %s, and does not select a latest backup', async (_name, spoil, words) => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const good = await takeBackup(gateway, { folder: path });
    const bad = await takeBackup(gateway, { folder: path });
    spoil(bad.manifest);
    for (const [operation, input] of [
      ['list', {}],
      ['verify', { backup: bad.backup }],
      ['verify', { backup: 'latest' }],
      ['restore', { backup: 'latest' }],
      ['restore', { backup: bad.backup }],
    ] as const) {
      const error = await expectFailure(gateway.run(`backup.${operation}`, { folder: path, ...input }));
      expect([operation, error.code, error.message]).toEqual([operation, 'BAD_INPUT', expect.stringMatching(words)]);
      expect(error.message).toContain(bad.manifest);
    }
    const created = await expectFailure(gateway.run('backup.run', { folder: path }));
    expect([created.code, created.message]).toEqual(['BAD_INPUT', expect.stringMatching(/^The backup \S+ was made, but .*cannot be used/)]);
    expect(listNames(path).filter((name) => name.endsWith('.json'))).toHaveLength(3);
    // The complete backup can be selected by its name.
    expect((await gateway.run('backup.restore', { folder: path, backup: good.backup })).envelope.ok).toBe(true);
    const { data } = await gateway.run('backup.verify', { folder: path });
    expect(data).toMatchObject({ total: 4, ok: 3, failed: 1 });
  });

  it('a backup folder with links, pipes, folders and 2,000 foreign files works, and none of them is touched', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const outside = createTemporaryFolder();
    const elsewhere = await takeBackup(gateway, { folder: outside });
    for (let count = 0; count < 2000; count++) writeFileSync(join(path, `photo-${count}.json`), '{}');
    for (const [day, kind] of ['.json', '.xml', '.json.0badcafe-1-1.partial', '.xml.gz.0badcafe-1-1.partial'].entries()) {
      execFileSync('mkfifo', [join(path, other(day + 1) + kind)]);
      mkdirSync(join(path, other(day + 5) + kind));
      symlinkSync(other(day + 9) + kind, join(path, other(day + 9) + kind));
      symlinkSync('/', join(path, other(day + 13) + kind));
    }
    symlinkSync(elsewhere.manifest, join(path, `${elsewhere.backup}.json`));
    symlinkSync(join(outside, `${elsewhere.backup}.xml`), join(path, `${elsewhere.backup}.xml`));
    const before = listNames(path);
    const first = await takeBackup(gateway, { folder: path, keep: 1 });
    const second = await takeBackup(gateway, { folder: path, keep: 1 });
    expect([first.previous, second.previous, second.rotated, second.cleaned]).toEqual([null, first.backup, [first.backup], []]);
    expect(listNames(path)).toEqual([...before, `${second.backup}.json`, `${second.backup}.xml`].sort());
    expect((await gateway.run('backup.list', { folder: path })).data).toHaveLength(1);
    expect((await gateway.run('backup.verify', { folder: path })).data).toMatchObject({ total: 1, ok: 1 });
    expect((await expectFailure(gateway.run('backup.restore', { folder: path, backup: elsewhere.backup }))).code).toBe('BAD_INPUT');
    expect(listNames(outside)).toHaveLength(2);
    expect(listOpenFiles()).toEqual([]);
  });

  it.each<[string, (path: string, spare: string) => void]>([
    ['a pipe', (path) => void execFileSync('mkfifo', [path])],
    ['a folder', (path) => void mkdirSync(path)],
    ['a link to the same content', (path, spare) => symlinkSync(spare, path)],
  ])('a backup folder treats a backup as bad if %s is in the place of its file', async (_name, put) => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const created = await takeBackup(gateway, { folder: path });
    const file = join(path, `${created.backup}.xml`);
    const spare = join(createTemporaryFolder(), 'spare');
    writeFileSync(spare, readFileSync(file));
    rmSync(file);
    put(file, spare);
    for (const operation of ['verify', 'restore']) {
      const error = await expectFailure(gateway.run(`backup.${operation}`, { folder: path, backup: created.backup }));
      expect([operation, error.code, error.message]).toEqual([operation, 'BAD_INPUT', expect.stringContaining(`${created.backup}.xml`)]);
    }
    expect((await takeBackup(gateway, { folder: path })).previous).toBeNull();
  });
});

function replace(path: string, text: string, by: string): void {
  writeFileSync(path, readFileSync(path, 'utf8').replace(text, by));
}

it.each([
  ['vpn.example.com', 'SN-1', 'vpn.example.com_SN-1'],
  ['aux.corp', 'Com1.x', 'aux-corp_Com1-x'],
  ['console.corp', 'com', 'console.corp_com'],
  ['Büro 10:30 / *?"<>|', '', 'Bu-ro-10-30_unknown'],
  ['..\\x.', 'a'.repeat(300), `x_${'a'.repeat(60)}`],
])('a backup has a valid name on every file system for %j, %j', (appliance, serial, name) => {
  const whole = createBackupName(appliance, serial, new Date('2026-11-22T03:00:00.001Z'));
  expect(whole).toBe(`${name}_20261122T030000.001Z`);
  expect(isBackupName(whole)).toBe(true);
});
