import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Progress } from '../../../src/model/operation';
import {
  startTestSimulator,
  simulatorCertificate,
  expectFailure,
  gatewayFor,
  listRequestLines,
  LOGIN_PATH,
  startSimulatorWithGateway,
  settingsFor,
} from '../../helpers/simulated-appliance';
import { startChild, createTemporaryFolder, listNames, AWKWARD_PASSWORD, mountSmallDisk } from '../../helpers/transfer';
import { listOpenFiles } from '../../helpers/open-files';
import { listen } from '../../helpers/listen';
import { httpResponse, startRawServer, type RawServer } from '../../helpers/raw-server';

const GOOD = '<configuration><a>before</a></configuration>';
const LARGE = `<configuration>${'<user><name>j.doe</name></user>\n'.repeat(150_000)}</configuration>`;
const XML = { 'content-type': 'application/xml' };

/** An appliance that sends this fraction of a large export, then cuts the connection or hangs. */
function cutAt(fraction: number, then: 'cut' | 'hang' = 'cut'): Promise<RawServer> {
  const whole = httpResponse(200, LARGE, XML);
  const head = whole.indexOf('\r\n\r\n') + 4;
  return startRawServer((_asked, socket) => {
    socket.write(whole.slice(0, head + Math.floor(LARGE.length * fraction)), () => then === 'cut' && socket.end());
    return undefined;
  });
}

describe('an export to a file', () => {
  it('an export to a file replaces the file atomically and reports size and hash', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const file = join(createTemporaryFolder(), 'day.xml');
    writeFileSync(file, GOOD);
    const { data, envelope } = await gateway.run('transfer.export-xml', { file, password: AWKWARD_PASSWORD });
    const written = readFileSync(file);
    expect(data).toEqual({ file, bytes: written.length, sha256: envelope.sha256 });
    expect(written.toString()).toMatch(/<configuration/);
    expect(listNames(join(file, '..'))).toEqual(['day.xml']);
  });

  it('an export to a file follows a link and keeps it', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const path = createTemporaryFolder();
    mkdirSync(join(path, 'real'));
    writeFileSync(join(path, 'real/day.xml'), GOOD);
    symlinkSync('real/day.xml', join(path, 'link.xml'));
    await gateway.run('transfer.export-xml', { file: join(path, 'link.xml') });
    expect(readFileSync(join(path, 'real/day.xml'), 'utf8')).not.toBe(GOOD);
    expect(listNames(path)).toEqual(['link.xml', 'real']);
  });

  it.each([0, 0.5, 0.999])('an export to a file keeps the previous file when it is cut at %s', async (fraction) => {
    const server = await cutAt(fraction);
    const file = join(createTemporaryFolder(), 'day.xml');
    writeFileSync(file, GOOD);
    const error = await expectFailure(gatewayFor(server).run('transfer.export-xml', { file }));
    expect([error.code, error.message]).toEqual(['BAD_RESPONSE', expect.stringContaining('cut short')]);
    expect(error.cause).toMatchObject({ requests: 3, retries: 2 });
    expect(readFileSync(file, 'utf8')).toBe(GOOD);
    expect(listNames(join(file, '..'))).toEqual(['day.xml']);
    expect(listOpenFiles()).toEqual([]);
  });

  it.each([
    ['a page of HTML', '<html><body>Sorry</body></html>'],
    ['a document that ends early', LARGE.slice(0, -5)],
  ])('an export to a file creates no file for %s', async (_name, body) => {
    const server = await startRawServer(() => httpResponse(200, body, XML));
    const path = createTemporaryFolder();
    const error = await expectFailure(gatewayFor(server).run('transfer.export-xml', { file: join(path, 'day.xml') }));
    expect(error.code).toBe('BAD_RESPONSE');
    expect(listNames(path)).toEqual([]);
  });

  it('an export to a file leaves no file behind when canceled', async () => {
    const server = await cutAt(0.5, 'hang');
    const path = createTemporaryFolder();
    const abort = new AbortController();
    const run = expectFailure(gatewayFor(server).run('transfer.export-xml', { file: join(path, 'day.xml') }, abort.signal));
    while (listNames(path).length === 0) await wait(5);
    expect(listNames(path)).toEqual([expect.stringMatching(/^day\.xml\..*\.partial$/)]);
    abort.abort();
    expect((await run).code).toBe('ABORTED');
    expect(listNames(path)).toEqual([]);
    expect(listOpenFiles()).toEqual([]);
  });

  it('an export to a file has a separate time limit', async () => {
    const gateway = gatewayFor(await cutAt(0.5, 'hang'), { timeout: 30, transferTimeout: 0.3 });
    const error = await expectFailure(gateway.run('transfer.export-xml'));
    expect([error.code, error.message]).toEqual(['TIMEOUT', expect.stringContaining('did not end within 0.3 s')]);
    const slow = await startSimulatorWithGateway({ variants: { transferMs: 2500 } }, { timeout: 2 });
    expect((await slow.gateway.run('transfer.export-xml')).envelope.ok).toBe(true);
  });

  it('an export to a file reports a target that cannot be written before it sends anything', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const path = createTemporaryFolder();
    for (const file of [join(path, 'missing/day.xml'), path, '/dev/null', '  ']) {
      const error = await expectFailure(gateway.run('transfer.export-xml', { file }));
      expect([file, error.code]).toEqual([file, 'BAD_INPUT']);
    }
    expect(listRequestLines(simulator)).toEqual([]);
    expect(simulator.logins).toBe(0);
  });

  it('an export to a file reports a full or read-only disk', async ({ skip }) => {
    const disk = mountSmallDisk(1 << 20);
    if (!disk) skip('this process may not mount a file system');
    const { path = '' } = disk ?? {};
    const file = join(path, 'day.xml');
    writeFileSync(file, GOOD);
    const server = await startRawServer(() => httpResponse(200, LARGE, XML));
    const full = await expectFailure(gatewayFor(server).run('transfer.export-xml', { file }));
    expect([full.code, full.message, full.cause?.system]).toEqual(['LIMIT', expect.stringContaining('no room left'), 'ENOSPC']);
    expect([listNames(path), readFileSync(file, 'utf8')]).toEqual([['day.xml'], GOOD]);
    expect(server.requests).toHaveLength(1);
    disk?.readOnly();
    const refused = await expectFailure(gatewayFor(server).run('transfer.export-xml', { file }));
    expect([refused.code, refused.message]).toEqual(['BAD_INPUT', expect.stringContaining('read-only')]);
    expect(server.requests).toHaveLength(1);
  });

  it('an export to a file removes what a killed export left behind', async () => {
    const server = await cutAt(0.5, 'hang');
    const path = createTemporaryFolder();
    const file = join(path, 'day.xml');
    writeFileSync(file, GOOD);
    // A foreign file with this extension stays.
    writeFileSync(join(path, 'mine.partial'), '');
    const { tls, ...settings } = settingsFor(server);
    const process = startChild('backup-child.ts', {
      settings: { ...settings, tls: { ca: tls?.ca } },
      operation: 'transfer.export-xml',
      input: { file },
    });
    while (listNames(path).length < 3) await wait(20);
    process.kill('SIGKILL');
    await new Promise((resolve) => process.once('exit', resolve));
    expect(listNames(path)).toHaveLength(3);
    expect(readFileSync(file, 'utf8')).toBe(GOOD);
    await gatewayFor(await startTestSimulator()).run('transfer.export-xml', { file });
    expect(listNames(path)).toEqual(['day.xml', 'mine.partial']);
    expect(readFileSync(file, 'utf8')).not.toBe(GOOD);
  });
});

describe('an import from a file', () => {
  it('an import from a file sends the file and reports progress', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { transferMs: 600 } });
    const path = createTemporaryFolder();
    await gateway.run('transfer.export-xml', { file: join(path, 'a.xml'), password: AWKWARD_PASSWORD });
    await gateway.run('transfer.export-binary', { file: join(path, 'a.bin') });
    const told: Progress[] = [];
    const onProgress = (advance: Progress): void => void told.push(advance);
    await gateway.run('transfer.import-xml', { file: join(path, 'a.xml'), password: AWKWARD_PASSWORD }, { onProgress });
    await gateway.run('transfer.import-binary', { file: join(path, 'a.bin') }, { onProgress });
    const total = readFileSync(join(path, 'a.xml')).length;
    expect(told).toContainEqual({ state: 'transferring', bytes: total, total });
    expect(listRequestLines(simulator)).toHaveLength(4);
    expect(listOpenFiles()).toEqual([]);
  });

  it('an import from a file closes the file when the import is refused, cut or canceled', async () => {
    const path = createTemporaryFolder();
    const file = join(path, 'large.xml');
    writeFileSync(file, '');
    truncateSync(file, 64 << 20);
    // The appliance reads the beginning only, so the end is never sent.
    const early = await startRawServer(() => undefined, { unreadPath: /import-xml/ });
    for (const [index, react] of (['refused', 'cut', 'cancelled'] as const).entries()) {
      const gateway = gatewayFor(early);
      const abort = new AbortController();
      const run = expectFailure(gateway.run('transfer.import-xml', { file }, abort.signal));
      while (early.requests.length === index) await wait(5);
      expect(listOpenFiles()).toEqual([file]);
      if (react === 'cancelled') abort.abort();
      for (const socket of early.sockets) {
        if (react === 'refused') socket.end(httpResponse(400, '{"result":{"errors":[{"message":"No"}]}}'));
        if (react === 'cut') socket.destroy();
      }
      expect([react, (await run).code]).toEqual([react, react === 'refused' ? 'INVALID_REQUEST' : 'OUTCOME_UNKNOWN']);
      while (listOpenFiles().length > 0) await wait(5);
    }
  });

  it('an import from a file sends nothing for a missing or empty file, a pipe or a folder', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const path = createTemporaryFolder();
    writeFileSync(join(path, 'empty'), '');
    execFileSync('mkfifo', [join(path, 'pipe')]);
    for (const file of [join(path, 'missing'), join(path, 'empty'), join(path, 'pipe'), path]) {
      const error = await expectFailure(gateway.run('transfer.import-binary', { file }));
      expect([file, error.code]).toEqual([file, 'BAD_INPUT']);
    }
    expect([listRequestLines(simulator), simulator.logins, listOpenFiles()]).toEqual([[], 0, []]);
  });
});

it('an import from a file delivers the file unchanged to a slow appliance', async () => {
  const file = join(createTemporaryFolder(), 'random');
  const text = randomBytes(24 << 20).toString('base64');
  writeFileSync(file, text);
  const hash = createHash('sha256');
  const server = createServer(simulatorCertificate, (request, response) => {
    const isLogin = request.url?.endsWith(LOGIN_PATH);
    const answer = (): void =>
      void response
        .setHeader('content-type', 'application/json')
        .end(isLogin ? '{"api_key":"k"}' : '{"result":{"info":[],"warnings":[],"errors":[]}}');
    if (isLogin) {
      request.resume().on('end', answer);
      return;
    }
    let since = 0;
    request.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      since += chunk.length;
      if (since < 1 << 20) return;
      since = 0;
      request.pause();
      setTimeout(() => request.resume(), 5);
    });
    request.on('end', answer);
  });
  const url = `https://127.0.0.1:${await listen(server, new Set())}`;
  await gatewayFor({ url }, { transferTimeout: 300 }).run('transfer.import-binary', { file });
  expect(hash.digest('hex')).toBe(createHash('sha256').update(text).digest('hex'));
});
