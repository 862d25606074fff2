import { existsSync, readFileSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { BackupResult } from '../../../src/backup/run';
import { listRequestLines } from '../../helpers/simulated-appliance';
import { changeUserFullname, startNamedSimulatorWithGateway, takeBackup } from '../../helpers/backup';
import { createTemporaryFolder, listNames } from '../../helpers/transfer';

const FUTURE = { time: '2099-01-01T00:00:00.000Z', stamp: '20990101T000000.000Z' };

/** As if the clock had been set back since. */
function postdate({ backup, folder: path, time, files }: BackupResult): void {
  const stamp = time.replaceAll(/[-:]/g, '');
  const manifest = readFileSync(join(path, `${backup}.json`), 'utf8')
    .replaceAll(stamp, FUTURE.stamp)
    .replaceAll(time, FUTURE.time);
  for (const name of [...files.map(({ file }) => file), `${backup}.json`])
    renameSync(join(path, name), join(path, name.replace(stamp, FUTURE.stamp)));
  writeFileSync(join(path, `${backup.replace(stamp, FUTURE.stamp)}.json`), manifest);
}

it.each([{ keep: 1 }, { keep: 1, 'keep-days': 1 }])('rotation keeps a new backup although the clock was set back: %j', async (keep) => {
  const { gateway, simulator } = await startNamedSimulatorWithGateway();
  const path = createTemporaryFolder();
  postdate(await takeBackup(gateway, { folder: path }));
  for (let night = 0; night < 2; night++) {
    changeUserFullname(simulator, `Night ${night}`);
    const created = await takeBackup(gateway, { folder: path, ...keep });
    expect([created.changed, created.rotated.includes(created.backup), existsSync(created.manifest)]).toEqual([true, false, true]);
    expect(listNames(path)).toEqual([`${created.backup}.json`, `${created.backup}.xml`]);
  }
  // It is compared with the previous backup, not with the one of a later time.
  expect((await takeBackup(gateway, { folder: path, keep: 3 })).changed).toBe(false);
});

it('a check of the whole folder reports backups with a damaged or missing manifest', async () => {
  const { gateway } = await startNamedSimulatorWithGateway();
  const path = createTemporaryFolder();
  const [first, second, third] = [
    await takeBackup(gateway, { folder: path }),
    await takeBackup(gateway, { folder: path }),
    await takeBackup(gateway, { folder: path }),
  ] as const;
  truncateSync(first.manifest, 100);
  rmSync(second.manifest);
  writeFileSync(join(path, 'notes.json'), '{}');
  const { data, envelope } = await gateway.run('backup.verify', { folder: path });
  expect(data).toMatchObject({ total: 3, ok: 1, failed: 2 });
  const bad = (data as { results: { ok: boolean; item: { backup: string } }[] }).results.filter(({ ok }) => !ok);
  expect(bad.map(({ item }) => item.backup).sort()).toEqual([first.backup, second.backup].sort());
  expect(envelope.ok).toBe(false);
  rmSync(third.manifest);
  await expect(gateway.run('backup.verify', { folder: path })).rejects.toMatchObject({ code: 'BAD_INPUT' });
});

it('a restore sends the password only with a backup that needs it, and reports the import', async () => {
  const { gateway, simulator } = await startNamedSimulatorWithGateway();
  const path = createTemporaryFolder();
  await takeBackup(gateway, { folder: path });
  const input = { folder: path, backup: 'latest', password: 'later <&>', 'backup-first': false };
  const { envelope } = await gateway.run('backup.restore', input);
  expect(envelope).toMatchObject({ ok: true, request: { method: 'POST', path: expect.stringContaining('import-xml') as string } });
  expect(listRequestLines(simulator).filter((line) => line.includes('import-xml'))).toHaveLength(1);
  // The form always has this part.
  const { body = '' } = simulator.requests.at(-1) ?? {};
  expect(body).toMatch(/name="password"\r\n\r\n\r\n--/);
  expect(body).not.toContain('later');
});

it('a backup run removes partial files of another host only if they are older than half a day', async () => {
  const { gateway } = await startNamedSimulatorWithGateway();
  const path = createTemporaryFolder();
  const hours = (count: number): Date => new Date(Date.now() - count * 3_600_000);
  const { files } = await takeBackup(gateway, { folder: path });
  const [old, young] = [1, 2].map((turn) => `${files[0]?.file}.0badcafe-4242-${turn}.partial`) as [string, string];
  for (const [name, age] of [
    [old, hours(13)],
    [young, hours(11)],
  ] as const) {
    writeFileSync(join(path, name), 'half');
    utimesSync(join(path, name), age, age);
  }
  const { cleaned } = await takeBackup(gateway, { folder: path });
  expect([cleaned, listNames(path).filter((name) => name.endsWith('.partial'))]).toEqual([[old], [young]]);
});
