import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { RunResult } from '../src/backup/run';
import type { Manifest } from '../src/backup/manifest';
import type { Gateway } from '../src/gateway';
import { writeDocument } from '../src/simulator/document';
import type { Simulator } from '../src/simulator';
import { failure, gatewayFor, INFO, lines, pair, settingsFor } from './library/appliance';
import { child, folder, names, openFiles, PASSWORD, tinyDisk } from './library/transfer';
import { http, wire } from './library/wire';

const NAME = /^vpn-1_[^_]+_\d{8}T\d{6}\.\d{3}Z$/;

async function run(gateway: Gateway, input: Record<string, unknown>): Promise<RunResult> {
  return (await gateway.run('backup.run', input)).data as RunResult;
}

function manifestOf({ manifest }: RunResult): Manifest {
  return JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
}

/** Changes one value of the configuration. */
function change(simulator: Simulator, fullname: string): void {
  const [server] = [...simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server').items.values()];
  const [user] = [...(server?.collection('local', 'users', 'user').items.values() ?? [])];
  if (!user) throw new Error('The simulator has no user to change');
  user.values.set('fullname', fullname);
}

function named(): Promise<{ simulator: Simulator; gateway: Gateway }> {
  return pair({}, { name: 'vpn-1' });
}

describe('a backup', () => {
  it('is files and a manifest, named after appliance, serial number and time', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const made = await run(gateway, { folder: path, what: 'both', password: PASSWORD });
    expect(made.backup).toMatch(NAME);
    expect(names(path)).toEqual([`${made.backup}.bin`, `${made.backup}.json`, `${made.backup}.xml`]);
    expect(made).toMatchObject({ folder: path, appliance: 'vpn-1', changed: true, previous: null, rotated: [], cleaned: [] });
    const manifest = manifestOf(made);
    expect(manifest).toMatchObject({ backup: made.backup, time: made.time, 'password-protected': true, format: 'gateway-backup/1' });
    expect([manifest['serial-number'], manifest.release]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
    expect(manifest.files.map(({ kind, content }) => [kind, content.verified])).toEqual([
      ['xml', 'xml'],
      ['binary', 'zip'],
    ]);
    expect(readFileSync(made.manifest, 'utf8')).not.toContain(JSON.stringify(PASSWORD).slice(1, 8));
    expect(lines(simulator)).toHaveLength(3);
    expect((await gateway.run('backup.verify', { folder: path })).data).toMatchObject({ total: 1, ok: 1 });
  });

  it('tells whether the configuration changed, and not whether the export did', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const first = await run(gateway, { folder: path, what: 'both', password: PASSWORD });
    const same = await run(gateway, { folder: path, what: 'both', password: PASSWORD });
    // Secrets are encrypted anew: the bytes differ, the configuration does not.
    expect(same.files.map(({ sha256 }) => sha256)).not.toEqual(first.files.map(({ sha256 }) => sha256));
    expect([same.changed, same.previous]).toEqual([false, first.backup]);
    change(simulator, 'Another');
    for (const what of ['both', 'xml', 'binary'])
      expect([what, (await run(gateway, { folder: path, what })).changed]).toEqual([what, true]);
    for (const what of ['both', 'xml', 'binary'])
      expect([what, (await run(gateway, { folder: path, what })).changed]).toEqual([what, false]);
    change(simulator, 'Yet another');
    expect((await run(gateway, { folder: path, what: 'binary', ignore: ['fullname'] })).changed).toBe(true);
    change(simulator, 'And another');
    expect((await run(gateway, { folder: path, what: 'binary', ignore: ['fullname'] })).changed).toBe(false);
  });

  it('is compressed and encrypted so that openssl and gunzip open it', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const passphrase = `pass "phrase' & ü`;
    const made = await run(gateway, { folder: path, gzip: true, passphrase });
    const [file] = made.files;
    expect(file?.file).toBe(`${made.backup}.xml.gz.enc`);
    const enc = join(path, file?.file ?? '');
    const options = ['enc', '-d', '-aes-256-cbc', '-pbkdf2', '-iter', '600000', '-md', 'sha256', '-in', enc, '-pass', 'env:PASSPHRASE'];
    const opened = execFileSync('openssl', options, { env: { ...process.env, PASSPHRASE: passphrase } });
    const text = execFileSync('gunzip', ['-c'], { input: opened }).toString();
    expect(text).toMatch(/^<\?xml.*<\/configuration>\n$/s);
    expect(readFileSync(made.manifest, 'utf8')).not.toContain('phrase');
    expect((await gateway.run('backup.verify', { folder: path, passphrase })).data).toMatchObject({
      results: [{ ok: true, item: { checked: 'content' } }],
    });
    expect((await gateway.run('backup.verify', { folder: path })).data).toMatchObject({
      results: [{ ok: true, item: { checked: 'hash' } }],
    });
    const wrong = await failure(gateway.run('backup.verify', { folder: path, passphrase: 'other' }));
    expect([wrong.code, wrong.message]).toEqual(['BAD_INPUT', expect.stringContaining('passphrase is wrong')]);
    expect((await run(gateway, { folder: path, gzip: true, passphrase })).changed).toBe(false);
    expect(lines(simulator)).toHaveLength(4);
    expect(openFiles()).toEqual([]);
  });

  it('needs a folder, and says so before anything is sent', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    writeFileSync(join(path, 'file'), '');
    for (const wrong of [join(path, 'missing'), join(path, 'file')]) {
      for (const operation of ['run', 'list', 'verify', 'restore']) {
        const input = { folder: wrong, ...(operation === 'restore' && { backup: 'latest' }) };
        expect([operation, (await failure(gateway.run(`backup.${operation}`, input))).code]).toEqual([operation, 'BAD_INPUT']);
      }
    }
    expect([lines(simulator), simulator.logins]).toEqual([[], 0]);
  });
});

describe('rotation', () => {
  it('keeps so many, and nothing that it did not write goes', async () => {
    const { gateway } = await named();
    const path = folder();
    const mine = ['vpn-1_notes.xml', 'vpn-1_X_20200101T000000.000Z.xml', 'old.json', 'vpn-1_X_20200101T000000.000Z.json'];
    for (const name of mine) writeFileSync(join(path, name), '{}');
    const binary = await run(gateway, { folder: path, what: 'binary' });
    const made: RunResult[] = [];
    for (let count = 0; count < 4; count++) made.push(await run(gateway, { folder: path, keep: 2 }));
    expect(made.map(({ rotated }) => rotated)).toEqual([[], [], [made[0]?.backup], [made[1]?.backup]]);
    const left = [binary.backup, made[2]?.backup, made[3]?.backup].flatMap((name) => [
      `${name}.json`,
      `${name}.${name === binary.backup ? 'bin' : 'xml'}`,
    ]);
    expect(names(path)).toEqual([...mine, ...left].sort());
    const { data } = await gateway.run('backup.list', { folder: path });
    expect((data as RunResult[]).map(({ backup }) => backup)).toEqual([made[3]?.backup, made[2]?.backup, binary.backup]);
  });

  it('by age never takes the last good one', async () => {
    const { gateway } = await named();
    const path = folder();
    const old = await run(gateway, { folder: path });
    age(path, old, 10);
    const made = await run(gateway, { folder: path, 'keep-days': 7 });
    expect(made.rotated).toHaveLength(1);
    expect((await run(gateway, { folder: path, 'keep-days': 0.000000001 })).rotated).toEqual([made.backup]);
  });

  it('does not happen when the export fails', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    await run(gateway, { folder: path });
    const before = names(path);
    simulator.fault({ match: ({ path: asked }) => asked.endsWith('export-xml'), body: '<html>Sorry</html>' });
    expect((await failure(gateway.run('backup.run', { folder: path, keep: 1 }))).code).toBe('BAD_RESPONSE');
    expect(names(path)).toEqual(before);
  });
});

/** Makes a backup look as if it had been made so many days before. */
function age(path: string, { backup }: RunResult, days: number): void {
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

describe('when something breaks', () => {
  it.each(['half', 'headers', 5] as const)('a connection cut at %s leaves everything as it was', async (cut) => {
    const { gateway, simulator } = await named();
    const path = folder();
    await run(gateway, { folder: path, what: 'both' });
    const before = names(path);
    simulator.fault({ match: ({ path: asked }) => asked.includes('binary-configuration'), cut, times: 3, afterEffect: true });
    const error = await failure(gateway.run('backup.run', { folder: path, what: 'both', keep: 1 }));
    expect([error.code, names(path)]).toEqual(['BAD_RESPONSE', before]);
    expect(openFiles()).toEqual([]);
  });

  it('a full or read-only disk leaves everything as it was', async ({ skip }) => {
    const disk = tinyDisk(200 * 1024);
    if (!disk) skip('this process may not mount a file system');
    const { path = '' } = disk ?? {};
    const { gateway, simulator } = await named();
    await run(gateway, { folder: path });
    const before = names(path);
    const large = `<configuration>${'<user>j.doe</user>\n'.repeat(50_000)}</configuration>`;
    for (const options of [{}, { passphrase: 'x' }]) {
      simulator.fault({ match: ({ path: asked }) => asked.endsWith('export-xml'), body: () => large });
      const error = await failure(gateway.run('backup.run', { folder: path, ...options }));
      expect([error.code, error.message]).toEqual(['LIMIT', expect.stringContaining('no room left')]);
      expect(names(path)).toEqual(before);
    }
    disk?.readOnly();
    const error = await failure(gateway.run('backup.run', { folder: path }));
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining('read-only')]);
    expect(openFiles()).toEqual([]);
  });

  it('a killed run leaves the last backup, and the next run cleans up', async () => {
    const { gateway } = await named();
    const path = folder();
    const good = await run(gateway, { folder: path });
    const before = names(path);
    const half = http(200, `<configuration>${'<user/>'.repeat(400_000)}</configuration>`, { 'content-type': 'application/xml' });
    const server = await wire((asked, socket) => {
      if (asked.path === INFO) return http(200, '{"system-information":{"serial-number":"S1"}}');
      socket.write(half.slice(0, half.length >> 1));
      return undefined;
    });
    const process = child('backup-child.ts', {
      settings: settingsFor(server),
      operation: 'backup.run',
      input: { folder: path, gzip: true },
    });
    while (names(path).length === before.length) await wait(20);
    // A second one at the same time must leave the first alone while it lives.
    expect((await run(gateway, { folder: path })).cleaned).toEqual([]);
    process.kill('SIGKILL');
    await new Promise((resolve) => process.once('exit', resolve));
    expect(names(path).filter((name) => name.endsWith('.partial'))).toHaveLength(1);
    expect(names(path)).toEqual(expect.arrayContaining(before));
    const next = await run(gateway, { folder: path });
    expect(next.cleaned).toEqual([expect.stringMatching(/\.partial$/)]);
    expect(names(path).filter((name) => name.endsWith('.partial'))).toEqual([]);
    expect((await gateway.run('backup.verify', { folder: path, backup: good.backup })).data).toMatchObject({ ok: 1 });
  });

  it('a run that was killed between two renames is finished or undone', async () => {
    const { gateway } = await named();
    const path = folder();
    const whole = await run(gateway, { folder: path, what: 'both' });
    const undone = await run(gateway, { folder: path, what: 'both' });
    // As the process would have left it: the manifest still beside, whole; of the second only one file has its name.
    const beside = (name: string): string => join(path, `${name}.json.0badcafe-1-1.partial`);
    for (const { backup } of [whole, undone]) renameSync(join(path, `${backup}.json`), beside(backup));
    rmSync(join(path, `${undone.backup}.bin`));
    const old = new Date(Date.now() - 2 * 86_400_000);
    for (const { backup } of [whole, undone]) execFileSync('touch', ['-d', old.toISOString(), beside(backup)]);
    await run(gateway, { folder: path });
    expect(names(path)).toEqual(expect.arrayContaining([`${whole.backup}.json`, `${whole.backup}.xml`, `${whole.backup}.bin`]));
    expect(names(path).filter((name) => name.startsWith(undone.backup) || name.endsWith('.partial'))).toEqual([]);
  });
});

describe('verify', () => {
  it('finds what was changed, cut or lost', async () => {
    const { gateway } = await named();
    const path = folder();
    const [good, changed, cut, lost] = [
      await run(gateway, { folder: path }),
      await run(gateway, { folder: path }),
      await run(gateway, { folder: path, gzip: true }),
      await run(gateway, { folder: path }),
    ];
    const fileOf = ({ files }: RunResult): string => join(path, files[0]?.file ?? '');
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
    expect((await failure(gateway.run('backup.verify', { folder: path, backup: cut.backup }))).code).toBe('BAD_INPUT');
    expect((await failure(gateway.run('backup.verify', { folder: path, backup: 'none' }))).code).toBe('BAD_INPUT');
  });
});

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

  it('sends nothing of a damaged one, and asks for the secrets that it needs', async () => {
    const { gateway, simulator } = await named();
    const path = folder();
    const secret = await run(gateway, { folder: path, password: PASSWORD, passphrase: 'p' });
    const restore = (input: Record<string, unknown>): Promise<unknown> =>
      gateway.run('backup.restore', { folder: path, backup: secret.backup, ...input });
    expect((await failure(restore({ password: PASSWORD }))).message).toContain('give the passphrase');
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
