import { appendFileSync, copyFileSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { BackupResult } from '../../../../src/backup/run';
import type { Gateway } from '../../../../src/gateway/gateway';
import type { Simulator } from '../../../../src/simulator';
import { expectFailure, listRequestLines } from '../../../helpers/simulated-appliance';
import { changeUserFullname, readManifestFile, startNamedSimulatorWithGateway, takeBackup } from '../../../helpers/backup';
import { createTemporaryFolder, listNames } from '../../../helpers/transfer';
import { listOpenFiles } from '../../../helpers/open-files';
import { useFastKeyDerivation } from '../../../helpers/cheap-keypair';

useFastKeyDerivation();

const PASSPHRASE = 'of the nightly backup';
const imports = (simulator: Simulator): string[] => listRequestLines(simulator).filter((line) => line.includes('import'));
const fileOf = ({ folder: path, files }: BackupResult): string => join(path, files[0]?.file ?? '');

/** A backup under another name and time, made by somebody who can write to the folder and knows the format. */
function relabel(
  { backup, folder: path, time, files }: BackupResult,
  year: string,
  more: (text: string) => string = (text) => text,
): string {
  const other = backup.replace(/_\d{4}(?=\d{4}T)/, `_${year}`);
  const text = more(readFileSync(join(path, `${backup}.json`), 'utf8'))
    .replaceAll(backup, other)
    .replaceAll(time, time.replace(/^\d{4}/, year));
  writeFileSync(join(path, `${other}.json`), text);
  for (const { file } of files) copyFileSync(join(path, file), join(path, file.replace(backup, other)));
  return other;
}

async function restoreFails(gateway: Gateway, path: string, backup = 'latest', more: Record<string, unknown> = {}): Promise<string> {
  const error = await expectFailure(gateway.run('backup.restore', { folder: path, backup, passphrase: PASSPHRASE, ...more }));
  expect(error.code).toBe('BAD_INPUT');
  return error.message;
}

describe('a restore with a passphrase', () => {
  it('a restore with a passphrase refuses a plain backup and says so', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    await takeBackup(gateway, { folder: path, passphrase: PASSPHRASE });
    const plain = await takeBackup(gateway, { folder: path });
    const message = await restoreFails(gateway, path);
    expect(message).toContain(`${plain.backup}.xml was made without a passphrase`);
    expect(imports(simulator)).toEqual([]);
    // Without a passphrase nothing changes.
    await gateway.run('backup.restore', { folder: path, backup: plain.backup, 'backup-first': false });
    expect(imports(simulator)).toHaveLength(1);
  });

  it('a restore with a passphrase refuses a plain file in place of the encrypted one, whatever the manifest says', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const created = await takeBackup(gateway, { folder: path, passphrase: PASSPHRASE });
    const plain = await takeBackup(gateway, { folder: path });
    copyFileSync(fileOf(plain), fileOf(created));
    const [{ bytes, sha256, content } = readManifestFile(created).files[0]!] = readManifestFile(plain).files;
    const manifest = readManifestFile(created);
    const forged = { ...manifest.files[0], bytes, sha256, content };
    writeFileSync(created.manifest, JSON.stringify({ ...manifest, files: [forged] }));
    expect(await restoreFails(gateway, path, created.backup)).toContain('manifest was changed');
    writeFileSync(created.manifest, JSON.stringify({ ...manifest, files: [{ ...forged, encryption: null }] }));
    expect(await restoreFails(gateway, path, created.backup)).toContain('without a passphrase');
    expect(imports(simulator)).toEqual([]);
  });

  it('a restore with a passphrase refuses a backup of another passphrase or with the MAC of another backup', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const created = await takeBackup(gateway, { folder: path, passphrase: PASSPHRASE });
    const foreign = await takeBackup(gateway, { folder: path, passphrase: 'mine' });
    expect(await restoreFails(gateway, path)).toContain('passphrase is wrong');
    const { authentication } = readManifestFile(created);
    writeFileSync(foreign.manifest, JSON.stringify({ ...readManifestFile(foreign), authentication }));
    expect(await restoreFails(gateway, path)).toContain('manifest was changed');
    expect(imports(simulator)).toEqual([]);
  });

  it('a restore with a passphrase refuses an old backup under a new name', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const old = await takeBackup(gateway, { folder: path, passphrase: PASSPHRASE });
    const other = relabel(old, '2099');
    expect(await restoreFails(gateway, path)).toContain(`${other}.json`);
    expect(await restoreFails(gateway, path, other)).toContain('manifest was changed');
    // A renamed backup is invalid even without a passphrase.
    renameSync(old.manifest, join(path, `${other}.json`));
    const error = await expectFailure(gateway.run('backup.restore', { folder: path, backup: other }));
    expect(error.message).toContain('another backup name');
    expect(imports(simulator)).toEqual([]);
  });

  it('a restore with a passphrase refuses a backup of another appliance that has the same serial number', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const created = await takeBackup(gateway, { folder: path, passphrase: PASSPHRASE });
    const text = readFileSync(created.manifest, 'utf8');
    writeFileSync(created.manifest, text.replace(/"serial-number": "[^"]*"/, '"serial-number": "FOREIGN"'));
    expect(await restoreFails(gateway, path, created.backup, { 'any-appliance': true })).toContain('manifest was changed');
    expect(imports(simulator)).toEqual([]);
  });

  it.each(['hmac-sha256', 'authentication'])(
    'a restore with a passphrase refuses a backup without %s and says what to do',
    async (name) => {
      const { gateway, simulator } = await startNamedSimulatorWithGateway();
      const path = createTemporaryFolder();
      const created = await takeBackup(gateway, { folder: path, passphrase: PASSPHRASE });
      const { authentication, ...manifest } = readManifestFile(created);
      const files = manifest.files.map((file) => ({ ...file, 'hmac-sha256': undefined }));
      const old = name === 'authentication' ? { ...manifest, format: 'gateway-backup/1' } : { ...manifest, authentication, files };
      writeFileSync(created.manifest, JSON.stringify(old));
      expect(await restoreFails(gateway, path)).toMatch(/no authentication code.*openssl.*transfer node/);
      expect(imports(simulator)).toEqual([]);
    },
  );

  it('a restore with a passphrase and backup.verify reject the same backups', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const good = await takeBackup(gateway, { folder: path, passphrase: PASSPHRASE, gzip: true, what: 'both' });
    const plain = await takeBackup(gateway, { folder: path });
    const other = relabel(good, '2001');
    const check = async (more: object): Promise<unknown> =>
      ((await gateway.run('backup.verify', { folder: path, ...more })).data as { results: { item: { backup: string } }[] }).results.sort(
        (a, b) => (a.item.backup < b.item.backup ? -1 : 1),
      );
    const error = (text: string): unknown => ({ code: 'BAD_INPUT', message: expect.stringContaining(text) as string });
    expect(await check({ passphrase: PASSPHRASE })).toMatchObject([
      { item: { backup: other }, ok: false, error: error('manifest was changed') },
      { item: { backup: good.backup, checked: 'content', authentic: true }, ok: true },
      { item: { backup: plain.backup }, ok: false, error: error('without a passphrase') },
    ]);
    expect(await check({})).toMatchObject([
      { item: { backup: other, checked: 'hash', authentic: false }, ok: true },
      { item: { backup: good.backup, checked: 'hash', authentic: false }, ok: true },
      { item: { backup: plain.backup, checked: 'content', authentic: false }, ok: true },
    ]);
  });

  it('a backup with a passphrase is compared only with backups of the same passphrase', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const night = (): Promise<BackupResult> => takeBackup(gateway, { folder: path, passphrase: PASSPHRASE });
    const first = await night();
    await takeBackup(gateway, { folder: path });
    const second = await night();
    expect(second).toMatchObject({ changed: false, previous: first.backup });
    changeUserFullname(simulator, 'By an intruder');
    // An attacker would record the current configuration in the last manifest to hide a change.
    const { content } = readManifestFile(await takeBackup(gateway, { folder: path })).files[0]!;
    const manifest = readManifestFile(second);
    writeFileSync(second.manifest, JSON.stringify({ ...manifest, files: [{ ...manifest.files[0], content }] }));
    expect(await night()).toMatchObject({ changed: true, previous: null });
  });
});

describe('an import from a backup', () => {
  const SECRET = { passphrase: PASSPHRASE };

  /** Replaces the file as soon as the export of the new backup has begun. */
  async function swapped(options: Record<string, unknown>, swap: (wanted: string, other: string) => void): Promise<string> {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const { backup, ...wanted } = await takeBackup(gateway, { folder: path, ...options });
    changeUserFullname(simulator, 'Of the other');
    const other = await takeBackup(gateway, { folder: path, ...options });
    // A time that can be restored to the nanosecond.
    utimesSync(fileOf({ backup, ...wanted }), 1e9, 1e9);
    let exports = 0;
    const match = ({ path: asked, method }: { path: string; method: string }): boolean => {
      if (method === 'POST' && /export-xml|binary-configuration/.test(asked) && exports++ === 0) {
        swap(fileOf({ backup, ...wanted }), fileOf(other));
      }
      return false;
    };
    simulator.fault({ match, status: 500 });
    const passphrase = options.passphrase !== undefined && SECRET;
    const error = await expectFailure(gateway.run('backup.restore', { folder: path, backup, ...passphrase }));
    expect([error.code, exports]).toEqual(['BAD_INPUT', 1]);
    // A request without its last byte gets no response and changes nothing.
    const imports = simulator.requests.filter(({ path: asked, method }) => asked.includes('import-xml') || method === 'PUT');
    expect(imports.filter(({ status, body }) => status !== 0 || body !== '')).toEqual([]);
    expect(listOpenFiles().filter((file) => file.startsWith(path))).toEqual([]);
    return error.message;
  }

  it.each<[string, (wanted: string, other: string) => void]>([
    ['that was put in its place', (wanted, other) => renameSync(other, wanted)],
    ['behind a link in its place', (wanted, other) => (rmSync(wanted), symlinkSync(other, wanted))],
    ['that became longer', (wanted) => appendFileSync(wanted, ' ')],
  ])('an import from a backup refuses a file that was %s during the backup before it', async (_name, swap) => {
    expect(await swapped({}, swap)).toMatch(/was removed or changed after the check\. Nothing was restored/);
  });

  it.each([
    ['plain', {}],
    ['compressed', { gzip: true }],
    ['encrypted', SECRET],
    ['compressed and encrypted', { gzip: true, ...SECRET }],
    ['binary', { what: 'binary' }],
  ])(
    'an import refuses a changed backup file (%s) even if its time stamps are the old ones',
    async (_name, options: Record<string, unknown>) => {
      expect(await swapped(options, writeUnseen)).toMatch(/changed while it was sent.*Nothing was restored/);
    },
  );

  /** Changes one byte in the middle, in place, and restores the modification time. */
  function writeUnseen(file: string): void {
    const bytes = readFileSync(file);
    const offset = Math.max(bytes.indexOf('fullname'), bytes.length >> 1);
    bytes[offset] = (bytes[offset] ?? 0) ^ 1;
    writeFileSync(file, bytes);
    utimesSync(file, 1e9, 1e9);
  }
});

it('files with secrets can be read only by their owner', async () => {
  const { gateway } = await startNamedSimulatorWithGateway();
  const path = createTemporaryFolder();
  await takeBackup(gateway, { folder: path, what: 'both', gzip: true });
  await takeBackup(gateway, { folder: path, passphrase: PASSPHRASE });
  expect(listNames(path)).toHaveLength(5);
  for (const name of listNames(path)) expect([name, statSync(join(path, name)).mode & 0o777]).toEqual([name, 0o600]);
});
