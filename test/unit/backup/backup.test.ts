import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { XmlFingerprint } from '../../../src/backup/xml-fingerprint';
import type { BackupResult } from '../../../src/backup/run';
import { XmlCheck } from '../../../src/transfer/xml';
import { expectFailure, listRequestLines, startSimulatorWithGateway } from '../../helpers/simulated-appliance';
import {
  changeUserFullname,
  readManifestFile,
  BACKUP_NAME_PATTERN,
  startNamedSimulatorWithGateway,
  takeBackup,
} from '../../helpers/backup';
import { createTemporaryFolder, listNames, AWKWARD_PASSWORD } from '../../helpers/transfer';
import { listOpenFiles } from '../../helpers/open-files';

describe('backup.run', () => {
  it('backup.run writes files and a manifest, named after appliance, serial number and time', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const created = await takeBackup(gateway, { folder: path, what: 'both', password: AWKWARD_PASSWORD });
    expect(created.backup).toMatch(BACKUP_NAME_PATTERN);
    expect(listNames(path)).toEqual([`${created.backup}.bin`, `${created.backup}.json`, `${created.backup}.xml`]);
    expect(created).toMatchObject({ folder: path, appliance: 'vpn-1', changed: true, previous: null, rotated: [], cleaned: [] });
    expect(created.bytes).toBe(created.files.reduce((sum, { file }) => sum + statSync(join(path, file)).size, 0));
    const manifest = readManifestFile(created);
    expect(manifest).toMatchObject({ backup: created.backup, time: created.time, 'password-protected': true, format: 'gateway-backup/1' });
    expect([manifest['serial-number'], manifest.release]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
    expect(manifest.files.map(({ kind, content }) => [kind, content.verified])).toEqual([
      ['xml', 'xml'],
      ['binary', 'zip'],
    ]);
    expect(readFileSync(created.manifest, 'utf8')).not.toContain(JSON.stringify(AWKWARD_PASSWORD).slice(1, 8));
    expect(listRequestLines(simulator)).toHaveLength(3);
    expect((await gateway.run('backup.verify', { folder: path })).data).toMatchObject({ total: 1, ok: 1 });
  });

  it('backup.run can be canceled during the comparison, and leaves nothing', async () => {
    const { gateway } = await startSimulatorWithGateway({ variants: { largeExport: 4 } }, { name: 'vpn-1' });
    const path = createTemporaryFolder();
    const { bytes } = await takeBackup(gateway, { folder: path, what: 'binary' });
    const before = listNames(path);
    const abort = new AbortController();
    // Tries every turn of the event loop, because the comparison starts after the file is closed. Exports differ by a few bytes.
    let looking = true;
    const look = (): void => {
      const written = listNames(path).filter((name) => name.endsWith('.partial') && statSync(join(path, name)).size > bytes - 64);
      if (written.length > 0) abort.abort();
      else if (looking) setImmediate(look);
    };
    look();
    const error = await expectFailure(gateway.run('backup.run', { folder: path, what: 'binary' }, { signal: abort.signal })).finally(
      () => (looking = false),
    );
    expect([error.code, error.message, listNames(path)]).toEqual(['ABORTED', expect.stringContaining('compared'), before]);
    expect(listOpenFiles().filter((file) => file.startsWith(path))).toEqual([]);
  });

  it('backup.run reports whether the configuration changed, even if the exported bytes always differ', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const first = await takeBackup(gateway, { folder: path, what: 'both', password: AWKWARD_PASSWORD });
    const same = await takeBackup(gateway, { folder: path, what: 'both', password: AWKWARD_PASSWORD });
    // Secrets are encrypted anew, so the bytes differ although the configuration does not.
    expect(same.files.map(({ sha256 }) => sha256)).not.toEqual(first.files.map(({ sha256 }) => sha256));
    expect([same.changed, same.previous]).toEqual([false, first.backup]);
    changeUserFullname(simulator, 'Another');
    for (const what of ['both', 'xml', 'binary'])
      expect([what, (await takeBackup(gateway, { folder: path, what })).changed]).toEqual([what, true]);
    for (const what of ['both', 'xml', 'binary'])
      expect([what, (await takeBackup(gateway, { folder: path, what })).changed]).toEqual([what, false]);
    changeUserFullname(simulator, 'Yet another');
    expect((await takeBackup(gateway, { folder: path, what: 'binary', ignore: ['fullname'] })).changed).toBe(true);
    changeUserFullname(simulator, 'And another');
    expect((await takeBackup(gateway, { folder: path, what: 'binary', ignore: ['fullname'] })).changed).toBe(false);
  });

  it('backup.run compresses and encrypts so that openssl and gunzip can read the file', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const passphrase = `pass "phrase' & ü`;
    const created = await takeBackup(gateway, { folder: path, gzip: true, passphrase });
    const [file] = created.files;
    expect(file?.file).toBe(`${created.backup}.xml.gz.enc`);
    const enc = join(path, file?.file ?? '');
    const options = ['enc', '-d', '-aes-256-cbc', '-pbkdf2', '-iter', '600000', '-md', 'sha256', '-in', enc, '-pass', 'env:PASSPHRASE'];
    const opened = execFileSync('openssl', options, { env: { ...process.env, PASSPHRASE: passphrase } });
    const text = execFileSync('gunzip', ['-c'], { input: opened }).toString();
    expect(text).toMatch(/^<\?xml.*<\/configuration>\n$/s);
    expect(readFileSync(created.manifest, 'utf8')).not.toContain('phrase');
    expect((await gateway.run('backup.verify', { folder: path, passphrase })).data).toMatchObject({
      results: [{ ok: true, item: { checked: 'content' } }],
    });
    expect((await gateway.run('backup.verify', { folder: path })).data).toMatchObject({
      results: [{ ok: true, item: { checked: 'hash' } }],
    });
    const wrong = await expectFailure(gateway.run('backup.verify', { folder: path, passphrase: 'other' }));
    expect([wrong.code, wrong.message]).toEqual(['BAD_INPUT', expect.stringContaining('passphrase is wrong')]);
    expect((await takeBackup(gateway, { folder: path, gzip: true, passphrase })).changed).toBe(false);
    expect(listRequestLines(simulator)).toHaveLength(4);
    expect(listOpenFiles()).toEqual([]);
  });

  it('backup.run requires a folder before anything is sent', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    writeFileSync(join(path, 'file'), '');
    for (const wrong of [join(path, 'missing'), join(path, 'file')]) {
      for (const operation of ['run', 'list', 'verify', 'restore']) {
        const input = { folder: wrong, ...(operation === 'restore' && { backup: 'latest' }) };
        expect([operation, (await expectFailure(gateway.run(`backup.${operation}`, input))).code]).toEqual([operation, 'BAD_INPUT']);
      }
    }
    expect([listRequestLines(simulator), simulator.logins]).toEqual([[], 0]);
  });
});

describe('rotation after a backup', () => {
  it('the rotation of backups keeps the given number, and removes no foreign file', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const mine = ['vpn-1_notes.xml', 'vpn-1_X_20200101T000000.000Z.xml', 'old.json', 'vpn-1_X_20200101T000000.000Z.json'];
    for (const name of mine) writeFileSync(join(path, name), '{}');
    const binary = await takeBackup(gateway, { folder: path, what: 'binary' });
    const created: BackupResult[] = [];
    for (let count = 0; count < 4; count++) created.push(await takeBackup(gateway, { folder: path, keep: 2 }));
    expect(created.map(({ rotated }) => rotated)).toEqual([[], [], [created[0]?.backup], [created[1]?.backup]]);
    const expectedFiles = [binary.backup, created[2]?.backup, created[3]?.backup].flatMap((name) => [
      `${name}.json`,
      `${name}.${name === binary.backup ? 'bin' : 'xml'}`,
    ]);
    expect(listNames(path)).toEqual([...mine, ...expectedFiles].sort());
    const { data } = await gateway.run('backup.list', { folder: path });
    expect((data as BackupResult[]).map(({ backup }) => backup)).toEqual([created[3]?.backup, created[2]?.backup, binary.backup]);
  });

  it('the rotation of backups never removes the last complete backup by age', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const old = await takeBackup(gateway, { folder: path });
    age(path, old, 10);
    const created = await takeBackup(gateway, { folder: path, 'keep-days': 7 });
    expect(created.rotated).toHaveLength(1);
    expect((await takeBackup(gateway, { folder: path, 'keep-days': 0.000000001 })).rotated).toEqual([created.backup]);
  });

  it('the rotation of backups counts only complete backups', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const good = await takeBackup(gateway, { folder: path });
    const lost = await takeBackup(gateway, { folder: path });
    rmSync(join(path, `${lost.backup}.xml`));
    const third = await takeBackup(gateway, { folder: path, keep: 2 });
    expect([third.previous, third.rotated]).toEqual([good.backup, []]);
    expect(new Set((await takeBackup(gateway, { folder: path, keep: 2 })).rotated)).toEqual(new Set([good.backup, lost.backup]));
  });

  it('the rotation of backups does not run if the export fails', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    await takeBackup(gateway, { folder: path });
    const before = listNames(path);
    simulator.fault({ match: ({ path: asked }) => asked.endsWith('export-xml'), body: '<html>Sorry</html>' });
    expect((await expectFailure(gateway.run('backup.run', { folder: path, keep: 1 }))).code).toBe('BAD_RESPONSE');
    expect(listNames(path)).toEqual(before);
  });
});

/** Sets the time of a backup back by a number of days. */
function age(path: string, { backup }: BackupResult, days: number): void {
  const manifest = join(path, `${backup}.json`);
  const time = new Date(Date.now() - days * 86_400_000).toISOString();
  const older = backup.replace(/[^_]+$/, time.replaceAll(/[-:]/g, ''));
  const text = readFileSync(manifest, 'utf8')
    .replaceAll(backup, older)
    .replace(/"time": "[^"]+"/, `"time": "${time}"`);
  writeFileSync(join(path, `${older}.json`), text);
  renameSync(join(path, `${backup}.xml`), join(path, `${older}.xml`));
  rmSync(manifest);
}

describe('changed', () => {
  const readContent = (content: string): string => {
    const fingerprint = new XmlFingerprint();
    const check = new XmlCheck(fingerprint);
    check.write(Buffer.from(`<configuration><a>1</a>${content}</configuration>`));
    check.end();
    return fingerprint.digest();
  };

  it.each([
    'exported-at',
    'created-on',
    'modified-date',
    'creation-time',
    'last-login',
    'last-backup-time',
    'timestamp',
    'password-encrypted',
  ])('the comparison of XML backups ignores %s', (name) =>
    expect(readContent(`<${name}>1</${name}>`)).toBe(readContent(`<${name}>2</${name}>`)),
  );

  it.each([
    ['a role named secret', '<role name="secret"><vlan>1</vlan></role>', '<role name="secret"><vlan>2</vlan></role>'],
    ['an encrypted transport', '<link transport="encrypted"><port>1</port></link>', '<link transport="encrypted"><port>2</port></link>'],
    ['a switch for timestamps', '<include-timestamp>true</include-timestamp>', '<include-timestamp>false</include-timestamp>'],
    ['a switch for encryption', '<traffic-encrypted> yes </traffic-encrypted>', '<traffic-encrypted>no</traffic-encrypted>'],
    ['a switch as an attribute', '<log include-timestamp="on"/>', '<log include-timestamp="off"/>'],
  ])('the comparison of XML backups includes %s', (_name, one, other) => expect(readContent(one)).not.toBe(readContent(other)));

  it.each([
    ['an encrypted value', '<key type="secret">1</key>', '<key type="secret">2</key>'],
    ['what is in an encrypted element', '<x-encrypted><a>true</a>1</x-encrypted>', '<x-encrypted><a>false</a>2</x-encrypted>'],
    ['a time as an attribute', '<log timestamp="1"/>', '<log timestamp="2"/>'],
  ])('the comparison of binary backups ignores %s', (_name, one, other) => expect(readContent(one)).toBe(readContent(other)));

  it.each(['backup-time', 'export-time', 'start-date', 'time-zone', 'last-resort', 'idle-timeout'])(
    'the comparison of binary backups includes %s',
    (name) => expect(readContent(`<${name}>1</${name}>`)).not.toBe(readContent(`<${name}>2</${name}>`)),
  );
});
