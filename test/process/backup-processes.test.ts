import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { BackupResult } from '../../src/backup/run';
import { settingsFor } from '../helpers/simulated-appliance';
import { readManifestFile, startNamedSimulatorWithGateway, takeBackup } from '../helpers/backup';
import { startChild, createTemporaryFolder, listNames, readOutput } from '../helpers/transfer';

it('a process with a limit of 64 open files reads a folder with 3,001 manifests', async () => {
  const { gateway, simulator } = await startNamedSimulatorWithGateway();
  const path = createTemporaryFolder();
  const made = await takeBackup(gateway, { folder: path });
  const manifest = readManifestFile(made);
  for (let count = 0; count < 3000; count++) {
    const time = new Date(Date.UTC(2020, 0, 1) + count * 3_600_000).toISOString();
    const backup = made.backup.replace(/[^_]+$/, time.replaceAll(/[-:]/g, ''));
    const files = [{ ...manifest.files[0], file: `${backup}.xml` }];
    writeFileSync(join(path, `${backup}.json`), JSON.stringify({ ...manifest, backup, time, files }));
  }
  const { tls, ...settings } = settingsFor(simulator, { name: 'vpn-1' });
  const ask = async (operation: string, input: object): Promise<unknown> =>
    JSON.parse(
      await readOutput(
        startChild(
          'backup-child.ts',
          { settings: { ...settings, tls: { ca: tls?.ca } }, operation, input: { folder: path, ...input } },
          64,
        ),
      ),
    );
  const [list] = (await ask('backup.list', {})) as [BackupResult[]];
  expect([list.length, list[0]?.backup]).toEqual([3001, made.backup]);
  await ask('backup.restore', { backup: 'latest', 'backup-first': false });
  // Of all that had lost their file, none stays but the newest ones.
  const [last] = (await ask('backup.run', { keep: 2 })) as [BackupResult];
  expect([last.previous, last.rotated.length]).toEqual([made.backup, 3000]);
  expect(listNames(path)).toHaveLength(4);
});

it('processes that reserve a backup name in the same millisecond get different names', async () => {
  const { gateway, simulator } = await startNamedSimulatorWithGateway();
  const path = createTemporaryFolder();
  const { tls, ...settings } = settingsFor(simulator, { name: 'vpn-1' });
  const now = Date.UTC(2026, 10, 20, 2);
  const input = { folder: path };
  const task = { settings: { ...settings, tls: { ca: tls?.ca } }, operation: 'backup.run', now, times: 5 };
  const both = ['xml', 'binary', 'xml'].map((what) => startChild('backup-child.ts', { ...task, input: { ...input, what } }));
  const made = (await Promise.all(both.map(readOutput))).flatMap((text) => JSON.parse(text) as BackupResult[]);
  expect(new Set(made.map(({ backup }) => backup)).size).toBe(15);
  expect((await gateway.run('backup.verify', { folder: path })).data).toMatchObject({ total: 15, ok: 15 });
  expect(listNames(path)).toHaveLength(30);
});
