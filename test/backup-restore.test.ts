import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeDocument } from '../src/simulator/document';
import type { Simulator } from '../src/simulator';
import type { BackupFile, Manifest } from '../src/backup/manifest';
import { failure, gatewayFor, INFO, lines, pair } from './library/appliance';
import { change, NAME, named, run } from './library/backup';
import { folder, names, PASSWORD } from './library/transfer';
import { quickKeys } from './library/quick-keys';
import { openFiles } from './support/open-files';
import { eventually } from './support/eventually';

quickKeys();

describe('restore', () => {
  /** The configuration as one text, with secrets in the clear of one password. */
  function plain({ state }: Simulator): string {
    const document = writeDocument(state.configuration, [...state.configuration.children.keys()], 'urn:x', '');
    return document.replace(/(type="secret">)[^<]*/g, '$1');
  }

  it.each([
    ['XML', { what: 'xml', password: PASSWORD }],
    ['binary', { what: 'binary' }],
    ['both, compressed and encrypted', { what: 'both', gzip: true, passphrase: PASSWORD }],
  ])('brings back %s after a fresh backup', async (_name, { what, gzip, ...secrets }: Record<string, unknown>) => {
    const { gateway, simulator } = await named();
    const path = folder();
    const before = plain(simulator);
    const made = await run(gateway, { folder: path, what, gzip, ...secrets });
    change(simulator, 'Changed meanwhile');
    expect(plain(simulator)).not.toBe(before);
    const { data, envelope } = await gateway.run('backup.restore', {
      folder: path,
      backup: made.backup,
      ...(what === 'binary' && { import: 'full' }),
      ...secrets,
    });
    expect(plain(simulator)).toBe(before);
    expect(data).toMatchObject({ result: { errors: [] } });
    expect(envelope).toMatchObject({ ok: true, changed: true, restored: made.backup, before: expect.stringMatching(NAME) as string });
    expect(names(path).filter((name) => name.endsWith('.json'))).toHaveLength(2);
    await gateway.run('backup.restore', {
      folder: path,
      backup: String(envelope.before),
      'backup-first': false,
      ...(what === 'binary' && { import: 'full' }),
      ...secrets,
    });
    expect(plain(simulator)).toContain('Changed meanwhile');
    expect(openFiles()).toEqual([]);
  });

  it('refuses that of another appliance unless told otherwise', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const made = await run(gateway, { folder: path });
    const text = readFileSync(made.manifest, 'utf8');
    writeFileSync(made.manifest, text.replace(/"serial-number": "[^"]*"/, '"serial-number": "OTHER"'));
    const error = await failure(gateway.run('backup.restore', { folder: path, backup: made.backup }));
    expect([error.code, error.message]).toEqual(['LIMIT', expect.stringContaining('OTHER')]);
    expect((await failure(gateway.run('backup.restore', { folder: path, backup: 'latest' }))).code).toBe('BAD_INPUT');
    expect(lines(simulator).filter((line) => line.includes('import'))).toEqual([]);
    await gateway.run('backup.restore', { folder: path, backup: 'latest', 'any-appliance': true });
    expect(lines(simulator).filter((line) => line.includes('import'))).toHaveLength(1);
  });

  it('takes the latest that holds what is asked for', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const binary = await run(gateway, { folder: path, what: 'binary' });
    await run(gateway, { folder: path });
    const restored = async (input: object): Promise<unknown> =>
      (await gateway.run('backup.restore', { folder: path, backup: 'latest', 'backup-first': false, ...input })).envelope.restored;
    expect(await restored({ kind: 'binary' })).toBe(binary.backup);
    // One that holds both has what is asked for, and XML has a password, binary none.
    const both = await run(gateway, { folder: path, what: 'both', password: PASSWORD });
    expect([await restored({ kind: 'binary' }), await restored({ password: PASSWORD })]).toEqual([both.backup, both.backup]);
    const manifest = JSON.parse(readFileSync(both.manifest, 'utf8')) as Manifest;
    writeFileSync(both.manifest, JSON.stringify({ ...manifest, files: manifest.files.toReversed() }));
    await restored({ password: PASSWORD });
    expect(lines(simulator).at(-1)).toContain('import-xml');
  });

  it('waits for another import before it makes the backup', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    await run(gateway, { folder: path });
    let done = (): void => undefined;
    const until = new Promise<void>((resolve) => (done = resolve));
    simulator.fault({ match: ({ path: asked }) => asked.includes('import-xml'), until });
    const states: string[] = [];
    const other = gateway.run('transfer.import-xml', { xml: '<configuration/>' });
    await eventually(() => expect(lines(simulator).at(-1)).toContain('import-xml'));
    const restored = gateway.run('backup.restore', { folder: path, backup: 'latest' }, { onProgress: ({ state }) => states.push(state) });
    await eventually(() => expect(states).toEqual(['waiting']));
    done();
    await Promise.all([other, restored]);
    const sent = lines(simulator).filter((line) => /(import|export)-xml/.test(line));
    expect(sent.map((line) => line.replace(/^.*\//, ''))).toEqual(['export-xml', 'import-xml', 'export-xml', 'import-xml']);
  });

  it('imports nothing when its file went away while it waited', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const made = await run(gateway, { folder: path });
    simulator.state.variants.transferMs = 300;
    const other = gateway.run('transfer.import-xml', { xml: '<configuration/>' });
    const restored = failure(
      gateway.run(
        'backup.restore',
        { folder: path, backup: made.backup, 'backup-first': false },
        { onProgress: ({ state }) => state === 'waiting' && rmSync(join(path, made.files[0]?.file ?? ''), { force: true }) },
      ),
    );
    const [error] = await Promise.all([restored, other]);
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringMatching(/gone or changed.*Nothing was restored/)]);
    expect(lines(simulator).filter((line) => line.includes('import'))).toHaveLength(1);
  });

  it('does nothing when the backup before it fails, and says so', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    await run(gateway, { folder: path });
    simulator.fault({ match: ({ path: asked }) => asked.endsWith('export-xml'), body: '<html>Sorry</html>' });
    const error = await failure(gateway.run('backup.restore', { folder: path, backup: 'latest' }));
    expect([error.code, error.message]).toEqual(['BAD_RESPONSE', expect.stringContaining('Nothing was restored')]);
    expect(lines(simulator).filter((line) => line.includes('import'))).toEqual([]);
  });

  it('sends nothing of a damaged one, and asks for the secrets that it needs', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const secret = await run(gateway, { folder: path, password: PASSWORD, passphrase: 'p' });
    const restore = (input: Record<string, unknown>): Promise<unknown> =>
      gateway.run('backup.restore', { folder: path, backup: secret.backup, ...input });
    const before = names(path);
    expect((await failure(restore({ password: PASSWORD }))).message).toContain('give the passphrase');
    expect(names(path)).toEqual(before);
    const plain = await run(gateway, { folder: path });
    expect((await failure(restore({ backup: plain.backup, passphrase: 'p' }))).message).toContain('was made without a passphrase');
    expect((await failure(restore({ passphrase: 'p' }))).message).toContain('made with a password');
    expect((await failure(restore({ passphrase: 'q', password: PASSWORD }))).message).toContain('passphrase is wrong');
    expect((await failure(restore({ kind: 'binary', passphrase: 'p' }))).message).toContain('holds no binary');
    const file = join(path, secret.files[0]?.file ?? '');
    const bytes = readFileSync(file);
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    writeFileSync(file, bytes);
    expect((await failure(restore({ passphrase: 'p', password: PASSWORD }))).code).toBe('BAD_INPUT');
    expect(lines(simulator).filter((line) => line.includes('import'))).toEqual([]);
  });

  it('says of what was not restored why, and what was meant', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const made = await run(gateway, { folder: path });
    const told = async (input: Record<string, unknown>): Promise<string> =>
      (await failure(gateway.run('backup.restore', { folder: path, backup: made.backup, ...input }))).message;
    const change = (from: RegExp, to: string): void => writeFileSync(made.manifest, readFileSync(made.manifest, 'utf8').replace(from, to));
    const allow = 'Give any-appliance (Any appliance) if that is meant.';
    const { 'serial-number': serial } = made;
    change(/"serial-number": "[^"]*"/, '"serial-number": "OTHER"');
    expect(await told({})).toBe(`${made.backup} was not restored: it is of the appliance OTHER, this is ${serial}. ${allow}`);
    const { details } = await failure(gateway.run('backup.restore', { folder: path, backup: made.backup }));
    expect(details.sent).toBe(false);
    simulator.fault({ match: ({ path: asked }) => asked === INFO, body: '{"system-information":{}}' });
    expect(await told({})).toContain('it cannot be told whether it is of this appliance');
    change(/"serial-number": "[^"]*"/, '"serial-number": null');
    expect(await told({})).toBe(`${made.backup} was not restored: it cannot be told whether it is of this appliance. ${allow}`);
    simulator.fault({ match: ({ path: asked }) => asked === INFO, body: '{"system-information":{}}', times: Infinity });
    // Nobody knows of both: that makes them no more alike.
    expect(await told({})).toContain('it cannot be told whether it is of this appliance');
    expect(await told({ 'any-appliance': true, kind: 'binary' })).toBe(`${made.backup} holds no binary.`);
    expect(await told({ backup: 'latest', 'any-appliance': true, kind: 'binary' })).toBe(
      `There is no backup of this appliance in ${path}. List backups shows those that there are.`,
    );
    expect(lines(simulator).filter((line) => line.includes('import'))).toEqual([]);
  });

  it('makes the backup before it in the way of the one that is restored, and names it', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const both = await run(gateway, { folder: path, what: 'both', gzip: true, password: PASSWORD, passphrase: 'p' });
    const secrets = { password: PASSWORD, passphrase: 'p' };
    const { envelope } = await gateway.run('backup.restore', { folder: path, backup: both.backup, ...secrets });
    const before = JSON.parse(readFileSync(join(path, `${String(envelope.before)}.json`), 'utf8')) as Manifest;
    expect(before.files).toMatchObject([{ kind: 'xml', compression: 'gzip', encryption: expect.any(String) as string }]);
    expect(before['password-protected']).toBe(true);
    // Of both, XML is what an appliance takes.
    expect(lines(simulator).at(-1)).toContain('import-xml');
    const plain = await run(gateway, { folder: path, what: 'binary' });
    const second = await gateway.run('backup.restore', { folder: path, backup: plain.backup });
    const other = JSON.parse(readFileSync(join(path, `${String(second.envelope.before)}.json`), 'utf8')) as Manifest;
    expect(other.files).toMatchObject([{ kind: 'binary', compression: null, encryption: null }]);
    expect([other['password-protected'], lines(simulator).at(-1)]).toEqual([false, 'PUT /api/v1/system/binary-configuration']);
    expect(
      (await gateway.run('backup.restore', { folder: path, backup: plain.backup, 'backup-first': false })).envelope,
    ).not.toHaveProperty('before');
  });

  it('is planned in a dry run', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const made = await run(gateway, { folder: path, password: PASSWORD });
    const before = names(path);
    const { envelope } = await gateway.run('backup.restore', { folder: path, backup: 'latest', password: PASSWORD }, { dryRun: true });
    expect(envelope.plan).toEqual([
      { method: 'POST', path: '/api/v1/system/maintenance/import-xml', body: { file: `${made.backup}.xml`, password: '••••' } },
    ]);
    expect(names(path)).toEqual(before);
    expect(lines(simulator).filter((line) => line.includes('import'))).toEqual([]);
  });
});

it('a second appliance takes the backup of the first', async () => {
  const first = await named();
  const second = await pair({}, { name: 'vpn-2' });
  const path = folder();
  change(first.simulator, 'From the first');
  const made = await run(first.gateway, { folder: path, password: PASSWORD });
  await second.gateway.run('backup.restore', { folder: path, backup: made.backup, password: PASSWORD, 'any-appliance': true });
  expect((await run(second.gateway, { folder: path, password: PASSWORD })).appliance).toBe('vpn-2');
  expect(gatewayFor(second.simulator).name).not.toBe('vpn-2');
});

describe('what a run is compared with', () => {
  it('is the last that its passphrase made, each file with that of its kind', async () => {
    const { gateway } = await named();
    const path = folder();
    const made = async (passphrase?: string) => run(gateway, { folder: path, what: 'both', gzip: true, ...(passphrase && { passphrase }) });
    const first = await made('p');
    expect(first.files.map(({ file }) => file)).toEqual(['xml', 'bin'].map((kind) => `${first.backup}.${kind}.gz.enc`));
    expect(first.backup).toContain(`_${String(first['serial-number'])}_`);
    const second = await made('p');
    expect([first.previous, second.previous, second.changed]).toEqual([null, first.backup, false]);
    expect((await made('another')).previous).toBeNull();
    const [plain, next] = [await made(), await made()];
    expect([next.previous, next.changed, plain.files[0]?.file]).toEqual([plain.backup, false, `${plain.backup}.xml.gz`]);
    // Of the one before, one of two has become another.
    const manifest = JSON.parse(readFileSync(next.manifest, 'utf8')) as Manifest;
    const [xml, binary] = manifest.files as [BackupFile, BackupFile];
    writeFileSync(
      next.manifest,
      JSON.stringify({ ...manifest, files: [xml, { ...binary, content: { ...binary.content, fingerprint: 'x' } }] }),
    );
    expect(await made()).toMatchObject({ previous: next.backup, changed: true });
  });

  it('cannot be told where a manifest is damaged, but the backup is there', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    writeFileSync((await run(gateway, { folder: path })).manifest, '{');
    simulator.fault({ match: ({ path: asked }) => asked === INFO, body: '{"system-information":{}}' });
    const error = await failure(gateway.run('backup.run', { folder: path }));
    expect(error.message).toMatch(
      /^The backup vpn-1_unknown_\S+ was made, but it could not be compared with the others, or an old one not be removed: .* cannot be used: /,
    );
    expect(names(path).filter((name) => name.endsWith('.xml'))).toHaveLength(2);
    // What is no ZIP is no backup without a password.
    const body = Buffer.from('no archive at all, but long enough').toString('base64');
    simulator.fault({ match: ({ path: asked }) => asked.includes('binary-configuration'), body });
    expect((await failure(gateway.run('backup.run', { folder: folder(), what: 'binary' }))).message).toContain('it is no ZIP');
  });
});
