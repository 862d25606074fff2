import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { BackupResult } from '../../../src/backup/run';
import { HOST_NAME_HASH } from '../../../src/files/atomic-file';
import { expectFailure, SYSTEM_INFORMATION_PATH, settingsFor } from '../../helpers/simulated-appliance';
import { startNamedSimulatorWithGateway, takeBackup } from '../../helpers/backup';
import { startChild, createTemporaryFolder, listNames, mountSmallDisk } from '../../helpers/transfer';
import { listOpenFiles } from '../../helpers/open-files';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

describe('a backup during a fault', () => {
  it.each(['half', 'headers', 5] as const)('a backup whose connection is cut at %s leaves the folder as it was', async (cut) => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    await takeBackup(gateway, { folder: path, what: 'both' });
    const before = listNames(path);
    simulator.fault({ match: ({ path: asked }) => asked.includes('binary-configuration'), cut, times: 3, afterEffect: true });
    const error = await expectFailure(gateway.run('backup.run', { folder: path, what: 'both', keep: 1 }));
    expect([error.code, listNames(path)]).toEqual(['BAD_RESPONSE', before]);
    expect(listOpenFiles()).toEqual([]);
  });

  it.each(['Busy', 'Service temporarily unavailable!', Buffer.from('no archive at all, but long enough').toString('base64')])(
    'a backup during a fault refuses %j with status 200',
    async (body) => {
      const { gateway, simulator } = await startNamedSimulatorWithGateway();
      const path = createTemporaryFolder();
      simulator.fault({ match: ({ path: asked }) => asked.includes('binary-configuration'), body });
      expect((await expectFailure(gateway.run('backup.run', { folder: path, what: 'binary' }))).code).toBe('BAD_RESPONSE');
      expect(listNames(path)).toEqual([]);
    },
  );

  it('a backup on a full or read-only disk leaves the folder as it was', async ({ skip }) => {
    const disk = mountSmallDisk(200 * 1024);
    if (!disk) skip('this process may not mount a file system');
    const { path = '' } = disk ?? {};
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    await takeBackup(gateway, { folder: path });
    const before = listNames(path);
    const large = `<configuration>${'<user>j.doe</user>\n'.repeat(50_000)}</configuration>`;
    for (const options of [{}, { passphrase: 'x' }]) {
      simulator.fault({ match: ({ path: asked }) => asked.endsWith('export-xml'), body: () => large });
      const error = await expectFailure(gateway.run('backup.run', { folder: path, ...options }));
      expect([error.code, error.message]).toEqual(['LIMIT', expect.stringContaining('no room left')]);
      expect(listNames(path)).toEqual(before);
    }
    disk?.readOnly();
    const error = await expectFailure(gateway.run('backup.run', { folder: path }));
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining('read-only')]);
    expect(listOpenFiles()).toEqual([]);
  });

  it('a killed backup run keeps the previous backup, and the next run removes its partial files', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const good = await takeBackup(gateway, { folder: path });
    const before = listNames(path);
    const half = httpResponse(200, `<configuration>${'<user/>'.repeat(400_000)}</configuration>`, { 'content-type': 'application/xml' });
    const server = await startRawServer((asked, socket) => {
      if (asked.path === SYSTEM_INFORMATION_PATH) return httpResponse(200, '{"system-information":{"serial-number":"S1"}}');
      socket.write(half.slice(0, half.length >> 1));
      return undefined;
    });
    const process = startChild('backup-child.ts', {
      settings: settingsFor(server),
      operation: 'backup.run',
      input: { folder: path, gzip: true },
    });
    while (listNames(path).length === before.length) await wait(20);
    // A second run must not remove the files of a running one.
    expect((await takeBackup(gateway, { folder: path })).cleaned).toEqual([]);
    process.kill('SIGKILL');
    await new Promise((resolve) => process.once('exit', resolve));
    expect(listNames(path).filter((name) => name.endsWith('.partial'))).toHaveLength(1);
    expect(listNames(path)).toEqual(expect.arrayContaining(before));
    const next = await takeBackup(gateway, { folder: path });
    expect(next.cleaned).toEqual([expect.stringMatching(/\.partial$/)]);
    expect(listNames(path).filter((name) => name.endsWith('.partial'))).toEqual([]);
    expect((await gateway.run('backup.verify', { folder: path, backup: good.backup })).data).toMatchObject({ ok: 1 });
  });

  it('a backup run completes or removes a backup whose run was killed between two renames', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const whole = await takeBackup(gateway, { folder: path, what: 'both' });
    const undone = await takeBackup(gateway, { folder: path, what: 'both' });
    // The state after a kill: the manifest still has its partial name, and only one of the files is renamed.
    const beside = (name: string): string => join(path, `${name}.json.0badcafe-1-1.partial`);
    for (const { backup } of [whole, undone]) renameSync(join(path, `${backup}.json`), beside(backup));
    rmSync(join(path, `${undone.backup}.bin`));
    const old = new Date(Date.now() - 2 * 86_400_000);
    for (const { backup } of [whole, undone]) execFileSync('touch', ['-d', old.toISOString(), beside(backup)]);
    await takeBackup(gateway, { folder: path });
    expect(listNames(path)).toEqual(expect.arrayContaining([`${whole.backup}.json`, `${whole.backup}.xml`, `${whole.backup}.bin`]));
    expect(listNames(path).filter((name) => name.startsWith(undone.backup) || name.endsWith('.partial'))).toEqual([]);
  });

  it('simultaneous backup runs complete a backup of a killed run without a conflict', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const firstBackups = await Promise.all(Array.from({ length: 8 }, () => takeBackup(gateway, { folder: path })));
    const [first] = [...firstBackups].sort((one, other) => (one.time < other.time ? -1 : 1));
    expect([first?.changed, first?.previous]).toEqual([true, null]);
    const pid = spawnSync(process.execPath, ['-e', '']).pid;
    for (const { backup } of firstBackups)
      renameSync(join(path, `${backup}.json`), join(path, `${backup}.json.${HOST_NAME_HASH}-${pid}-1.partial`));
    const more = await Promise.all(Array.from({ length: 16 }, () => takeBackup(gateway, { folder: path })));
    const expectedFiles = [...firstBackups, ...more].map(({ backup }) => `${backup}.json`);
    expect(listNames(path).filter((name) => name.endsWith('.json'))).toEqual(expectedFiles.sort());
    expect(listNames(path).filter((name) => name.endsWith('.partial'))).toEqual([]);
  });

  it('rotation does not remove a backup that is being written at the same time; the next run does', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const manifests = (): string[] => listNames(path).filter((name) => name.endsWith('.json'));
    await Promise.all(Array.from({ length: 6 }, () => takeBackup(gateway, { folder: path, keep: 1 })));
    expect(manifests()).toHaveLength(6);
    const { backup, rotated } = await takeBackup(gateway, { folder: path, keep: 1 });
    expect([manifests(), rotated]).toEqual([[`${backup}.json`], expect.objectContaining({ length: 6 })]);
  });
});

describe('backup.verify', () => {
  it('backup.verify finds changed, cut and missing files', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const [good, changed, cut, lost] = [
      await takeBackup(gateway, { folder: path }),
      await takeBackup(gateway, { folder: path }),
      await takeBackup(gateway, { folder: path, gzip: true }),
      await takeBackup(gateway, { folder: path }),
    ];
    const fileOf = ({ files }: BackupResult): string => join(path, files[0]?.file ?? '');
    const bytes = readFileSync(fileOf(changed));
    bytes[bytes.indexOf('users')] = 0x55;
    writeFileSync(fileOf(changed), bytes);
    writeFileSync(fileOf(cut), readFileSync(fileOf(cut)).subarray(0, -20));
    rmSync(fileOf(lost));
    const { data, envelope } = await gateway.run('backup.verify', { folder: path });
    expect(data).toMatchObject({ total: 4, ok: 1, failed: 3 });
    expect(envelope).toMatchObject({ ok: false, request: null, requests: 0 });
    const { results } = data as { results: { item: { backup: string }; ok: boolean }[] };
    expect(results.filter(({ ok }) => ok).map(({ item }) => item.backup)).toEqual([good.backup]);
    expect((await expectFailure(gateway.run('backup.verify', { folder: path, backup: cut.backup }))).code).toBe('BAD_INPUT');
    expect((await expectFailure(gateway.run('backup.verify', { folder: path, backup: 'none' }))).code).toBe('BAD_INPUT');
  });
});
