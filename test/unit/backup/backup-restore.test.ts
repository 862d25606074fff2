import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeConfigurationXml } from '../../../src/simulator/configuration-xml';
import type { Simulator } from '../../../src/simulator';
import type { BackupFile, BackupManifest } from '../../../src/backup/manifest';
import {
  expectFailure,
  gatewayFor,
  SYSTEM_INFORMATION_PATH,
  listRequestLines,
  startSimulatorWithGateway,
} from '../../helpers/simulated-appliance';
import { changeUserFullname, BACKUP_NAME_PATTERN, startNamedSimulatorWithGateway, takeBackup } from '../../helpers/backup';
import { createTemporaryFolder, listNames, AWKWARD_PASSWORD } from '../../helpers/transfer';
import { useFastKeyDerivation } from '../../helpers/cheap-keypair';
import { listOpenFiles } from '../../helpers/open-files';
import { eventually } from '../../helpers/eventually';

useFastKeyDerivation();

describe('backup.restore', () => {
  /** The configuration as one text. The password makes the secrets readable. */
  function plain({ state }: Simulator): string {
    const document = writeConfigurationXml(state.configuration, [...state.configuration.children.keys()], 'urn:x', '');
    return document.replace(/(type="secret">)[^<]*/g, '$1');
  }

  it.each([
    ['XML', { what: 'xml', password: AWKWARD_PASSWORD }],
    ['binary', { what: 'binary' }],
    ['both, compressed and encrypted', { what: 'both', gzip: true, passphrase: AWKWARD_PASSWORD }],
  ])('backup.restore makes a new backup before it restores %s', async (_name, { what, gzip, ...secrets }: Record<string, unknown>) => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const before = plain(simulator);
    const created = await takeBackup(gateway, { folder: path, what, gzip, ...secrets });
    changeUserFullname(simulator, 'Changed meanwhile');
    expect(plain(simulator)).not.toBe(before);
    const { data, envelope } = await gateway.run('backup.restore', {
      folder: path,
      backup: created.backup,
      ...(what === 'binary' && { import: 'full' }),
      ...secrets,
    });
    expect(plain(simulator)).toBe(before);
    expect(data).toMatchObject({ result: { errors: [] } });
    expect(envelope).toMatchObject({
      ok: true,
      changed: true,
      restored: created.backup,
      before: expect.stringMatching(BACKUP_NAME_PATTERN) as string,
    });
    expect(listNames(path).filter((name) => name.endsWith('.json'))).toHaveLength(2);
    await gateway.run('backup.restore', {
      folder: path,
      backup: String(envelope.before),
      'backup-first': false,
      ...(what === 'binary' && { import: 'full' }),
      ...secrets,
    });
    expect(plain(simulator)).toContain('Changed meanwhile');
    expect(listOpenFiles()).toEqual([]);
  });

  it('backup.restore refuses a backup of another appliance unless allowed', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const created = await takeBackup(gateway, { folder: path });
    const text = readFileSync(created.manifest, 'utf8');
    writeFileSync(created.manifest, text.replace(/"serial-number": "[^"]*"/, '"serial-number": "OTHER"'));
    const error = await expectFailure(gateway.run('backup.restore', { folder: path, backup: created.backup }));
    expect([error.code, error.message]).toEqual(['LIMIT', expect.stringContaining('OTHER')]);
    expect((await expectFailure(gateway.run('backup.restore', { folder: path, backup: 'latest' }))).code).toBe('BAD_INPUT');
    expect(listRequestLines(simulator).filter((line) => line.includes('import'))).toEqual([]);
    await gateway.run('backup.restore', { folder: path, backup: 'latest', 'any-appliance': true });
    expect(listRequestLines(simulator).filter((line) => line.includes('import'))).toHaveLength(1);
  });

  it('backup.restore selects the latest backup with a file of the requested kind', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const binary = await takeBackup(gateway, { folder: path, what: 'binary' });
    await takeBackup(gateway, { folder: path });
    const restored = async (input: object): Promise<unknown> =>
      (await gateway.run('backup.restore', { folder: path, backup: 'latest', 'backup-first': false, ...input })).envelope.restored;
    expect(await restored({ kind: 'binary' })).toBe(binary.backup);
    // A backup with both kinds: XML with a password, binary without.
    const both = await takeBackup(gateway, { folder: path, what: 'both', password: AWKWARD_PASSWORD });
    expect([await restored({ kind: 'binary' }), await restored({ password: AWKWARD_PASSWORD })]).toEqual([both.backup, both.backup]);
    const manifest = JSON.parse(readFileSync(both.manifest, 'utf8')) as BackupManifest;
    writeFileSync(both.manifest, JSON.stringify({ ...manifest, files: manifest.files.toReversed() }));
    await restored({ password: AWKWARD_PASSWORD });
    expect(listRequestLines(simulator).at(-1)).toContain('import-xml');
  });

  it('backup.restore waits for another import before it makes the new backup', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    await takeBackup(gateway, { folder: path });
    let done = (): void => undefined;
    const until = new Promise<void>((resolve) => (done = resolve));
    simulator.fault({ match: ({ path: asked }) => asked.includes('import-xml'), until });
    const states: string[] = [];
    const other = gateway.run('transfer.import-xml', { xml: '<configuration/>' });
    await eventually(() => expect(listRequestLines(simulator).at(-1)).toContain('import-xml'));
    const restored = gateway.run('backup.restore', { folder: path, backup: 'latest' }, { onProgress: ({ state }) => states.push(state) });
    await eventually(() => expect(states).toEqual(['waiting']));
    done();
    await Promise.all([other, restored]);
    const transfers = listRequestLines(simulator).filter((line) => /(import|export)-xml/.test(line));
    expect(transfers.map((line) => line.replace(/^.*\//, ''))).toEqual(['export-xml', 'import-xml', 'export-xml', 'import-xml']);
  });

  it('backup.restore imports nothing if the backup file is removed while the restore waits', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const created = await takeBackup(gateway, { folder: path });
    simulator.state.variants.transferMs = 300;
    const other = gateway.run('transfer.import-xml', { xml: '<configuration/>' });
    const restored = expectFailure(
      gateway.run(
        'backup.restore',
        { folder: path, backup: created.backup, 'backup-first': false },
        { onProgress: ({ state }) => state === 'waiting' && rmSync(join(path, created.files[0]?.file ?? ''), { force: true }) },
      ),
    );
    const [error] = await Promise.all([restored, other]);
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringMatching(/removed or changed.*Nothing was restored/)]);
    expect(listRequestLines(simulator).filter((line) => line.includes('import'))).toHaveLength(1);
  });

  it('backup.restore stops if the new backup fails, and says so', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    await takeBackup(gateway, { folder: path });
    simulator.fault({ match: ({ path: asked }) => asked.endsWith('export-xml'), body: '<html>Sorry</html>' });
    const error = await expectFailure(gateway.run('backup.restore', { folder: path, backup: 'latest' }));
    expect([error.code, error.message]).toEqual(['BAD_RESPONSE', expect.stringContaining('Nothing was restored')]);
    expect(listRequestLines(simulator).filter((line) => line.includes('import'))).toEqual([]);
  });

  it('backup.restore sends nothing without the secrets of the backup, or for a damaged backup', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const secret = await takeBackup(gateway, { folder: path, password: AWKWARD_PASSWORD, passphrase: 'p' });
    const restore = (input: Record<string, unknown>): Promise<unknown> =>
      gateway.run('backup.restore', { folder: path, backup: secret.backup, ...input });
    const before = listNames(path);
    expect((await expectFailure(restore({ password: AWKWARD_PASSWORD }))).message).toContain('Enter the passphrase');
    expect(listNames(path)).toEqual(before);
    const plain = await takeBackup(gateway, { folder: path });
    expect((await expectFailure(restore({ backup: plain.backup, passphrase: 'p' }))).message).toContain('was made without a passphrase');
    expect((await expectFailure(restore({ passphrase: 'p' }))).message).toContain('made with a password');
    expect((await expectFailure(restore({ passphrase: 'q', password: AWKWARD_PASSWORD }))).message).toContain('passphrase is wrong');
    expect((await expectFailure(restore({ kind: 'binary', passphrase: 'p' }))).message).toContain('holds no binary');
    const file = join(path, secret.files[0]?.file ?? '');
    const bytes = readFileSync(file);
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    writeFileSync(file, bytes);
    expect((await expectFailure(restore({ passphrase: 'p', password: AWKWARD_PASSWORD }))).code).toBe('BAD_INPUT');
    expect(listRequestLines(simulator).filter((line) => line.includes('import'))).toEqual([]);
  });

  it('backup.restore says why it refused a backup, and how to allow it', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const created = await takeBackup(gateway, { folder: path });
    const refusalMessage = async (input: Record<string, unknown>): Promise<string> =>
      (await expectFailure(gateway.run('backup.restore', { folder: path, backup: created.backup, ...input }))).message;
    const change = (from: RegExp, to: string): void =>
      writeFileSync(created.manifest, readFileSync(created.manifest, 'utf8').replace(from, to));
    const allow = 'Set any-appliance (Any appliance) if you want to restore it here.';
    const { 'serial-number': serial } = created;
    change(/"serial-number": "[^"]*"/, '"serial-number": "OTHER"');
    expect(await refusalMessage({})).toBe(
      `${created.backup} was not restored: it is from the appliance OTHER, but this is ${serial}. ${allow}`,
    );
    const { details } = await expectFailure(gateway.run('backup.restore', { folder: path, backup: created.backup }));
    expect(details.sent).toBe(false);
    simulator.fault({ match: ({ path: asked }) => asked === SYSTEM_INFORMATION_PATH, body: '{"system-information":{}}' });
    expect(await refusalMessage({})).toContain('it is unknown whether it is from this appliance');
    change(/"serial-number": "[^"]*"/, '"serial-number": null');
    expect(await refusalMessage({})).toBe(`${created.backup} was not restored: it is unknown whether it is from this appliance. ${allow}`);
    simulator.fault({ match: ({ path: asked }) => asked === SYSTEM_INFORMATION_PATH, body: '{"system-information":{}}', times: Infinity });
    // Two unknown serial numbers are not equal.
    expect(await refusalMessage({})).toContain('it is unknown whether it is from this appliance');
    expect(await refusalMessage({ 'any-appliance': true, kind: 'binary' })).toBe(`${created.backup} holds no binary.`);
    expect(await refusalMessage({ backup: 'latest', 'any-appliance': true, kind: 'binary' })).toBe(
      `There is no backup of this appliance in ${path}. List backups shows all backups.`,
    );
    expect(listRequestLines(simulator).filter((line) => line.includes('import'))).toEqual([]);
  });

  it('backup.restore protects its new backup like the restored one, and names the new one', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const both = await takeBackup(gateway, { folder: path, what: 'both', gzip: true, password: AWKWARD_PASSWORD, passphrase: 'p' });
    const secrets = { password: AWKWARD_PASSWORD, passphrase: 'p' };
    const { envelope } = await gateway.run('backup.restore', { folder: path, backup: both.backup, ...secrets });
    const before = JSON.parse(readFileSync(join(path, `${String(envelope.before)}.json`), 'utf8')) as BackupManifest;
    expect(before.files).toMatchObject([{ kind: 'xml', compression: 'gzip', encryption: expect.any(String) as string }]);
    expect(before['password-protected']).toBe(true);
    // XML is preferred.
    expect(listRequestLines(simulator).at(-1)).toContain('import-xml');
    const plain = await takeBackup(gateway, { folder: path, what: 'binary' });
    const second = await gateway.run('backup.restore', { folder: path, backup: plain.backup });
    const other = JSON.parse(readFileSync(join(path, `${String(second.envelope.before)}.json`), 'utf8')) as BackupManifest;
    expect(other.files).toMatchObject([{ kind: 'binary', compression: null, encryption: null }]);
    expect([other['password-protected'], listRequestLines(simulator).at(-1)]).toEqual([false, 'PUT /api/v1/system/binary-configuration']);
    expect(
      (await gateway.run('backup.restore', { folder: path, backup: plain.backup, 'backup-first': false })).envelope,
    ).not.toHaveProperty('before');
  });

  it('a dry run of backup.restore shows the import that it would send', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const created = await takeBackup(gateway, { folder: path, password: AWKWARD_PASSWORD });
    const before = listNames(path);
    const { envelope } = await gateway.run(
      'backup.restore',
      { folder: path, backup: 'latest', password: AWKWARD_PASSWORD },
      { dryRun: true },
    );
    expect(envelope.plan).toEqual([
      { method: 'POST', path: '/api/v1/system/maintenance/import-xml', body: { file: `${created.backup}.xml`, password: '••••' } },
    ]);
    expect(listNames(path)).toEqual(before);
    expect(listRequestLines(simulator).filter((line) => line.includes('import'))).toEqual([]);
  });
});

it('backup.restore can restore a backup to another appliance', async () => {
  const first = await startNamedSimulatorWithGateway();
  const second = await startSimulatorWithGateway({}, { name: 'vpn-2' });
  const path = createTemporaryFolder();
  changeUserFullname(first.simulator, 'From the first');
  const created = await takeBackup(first.gateway, { folder: path, password: AWKWARD_PASSWORD });
  await second.gateway.run('backup.restore', { folder: path, backup: created.backup, password: AWKWARD_PASSWORD, 'any-appliance': true });
  expect((await takeBackup(second.gateway, { folder: path, password: AWKWARD_PASSWORD })).appliance).toBe('vpn-2');
  expect(gatewayFor(second.simulator).name).not.toBe('vpn-2');
});

describe('the reference of a backup run', () => {
  it('a backup run compares each kind of file with the last backup made with the same passphrase', async () => {
    const { gateway } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    const created = async (passphrase?: string) =>
      takeBackup(gateway, { folder: path, what: 'both', gzip: true, ...(passphrase && { passphrase }) });
    const first = await created('p');
    expect(first.files.map(({ file }) => file)).toEqual(['xml', 'bin'].map((kind) => `${first.backup}.${kind}.gz.enc`));
    expect(first.backup).toContain(`_${String(first['serial-number'])}_`);
    const second = await created('p');
    expect([first.previous, second.previous, second.changed]).toEqual([null, first.backup, false]);
    expect((await created('another')).previous).toBeNull();
    const [plain, next] = [await created(), await created()];
    expect([next.previous, next.changed, plain.files[0]?.file]).toEqual([plain.backup, false, `${plain.backup}.xml.gz`]);
    // One of two parts of the previous backup has changed.
    const manifest = JSON.parse(readFileSync(next.manifest, 'utf8')) as BackupManifest;
    const [xml, binary] = manifest.files as [BackupFile, BackupFile];
    writeFileSync(
      next.manifest,
      JSON.stringify({ ...manifest, files: [xml, { ...binary, content: { ...binary.content, fingerprint: 'x' } }] }),
    );
    expect(await created()).toMatchObject({ previous: next.backup, changed: true });
  });

  it('a backup run beside a damaged manifest makes its backup, but has nothing to compare it with', async () => {
    const { gateway, simulator } = await startNamedSimulatorWithGateway();
    const path = createTemporaryFolder();
    writeFileSync((await takeBackup(gateway, { folder: path })).manifest, '{');
    simulator.fault({ match: ({ path: asked }) => asked === SYSTEM_INFORMATION_PATH, body: '{"system-information":{}}' });
    const error = await expectFailure(gateway.run('backup.run', { folder: path }));
    expect(error.message).toMatch(
      /^The backup vpn-1_unknown_\S+ was made, but comparing it with the others or removing an old one failed: .* cannot be used: /,
    );
    expect(listNames(path).filter((name) => name.endsWith('.xml'))).toHaveLength(2);
    // Content that is not a ZIP cannot be a backup without a password.
    const body = Buffer.from('no archive at all, but long enough').toString('base64');
    simulator.fault({ match: ({ path: asked }) => asked.includes('binary-configuration'), body });
    expect((await expectFailure(gateway.run('backup.run', { folder: createTemporaryFolder(), what: 'binary' }))).message).toContain(
      'it is not a ZIP',
    );
  });
});
