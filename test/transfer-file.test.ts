import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Advance } from '../src/model/operation';
import { appliance, certificate, failure, gatewayFor, lines, LOGIN, pair, settingsFor } from './library/appliance';
import { child, folder, names, PASSWORD, tinyDisk } from './library/transfer';
import { openFiles } from './support/open-files';
import { listen } from './library/listen';
import { http, wire, type Wire } from './library/wire';

const GOOD = '<configuration><a>before</a></configuration>';
const LARGE = `<configuration>${'<user><name>j.doe</name></user>\n'.repeat(150_000)}</configuration>`;
const XML = { 'content-type': 'application/xml' };

/** An appliance that sends so much of a large export, then cuts the connection or hangs. */
function cutAt(fraction: number, then: 'cut' | 'hang' = 'cut'): Promise<Wire> {
  const whole = http(200, LARGE, XML);
  const head = whole.indexOf('\r\n\r\n') + 4;
  return wire((_asked, socket) => {
    socket.write(whole.slice(0, head + Math.floor(LARGE.length * fraction)), () => then === 'cut' && socket.end());
    return undefined;
  });
}

describe('an export to a file', () => {
  it('replaces the file in one step and tells size and hash', async () => {
    const { gateway } = await pair();
    const file = join(folder(), 'day.xml');
    writeFileSync(file, GOOD);
    const { data, envelope } = await gateway.run('transfer.export-xml', { file, password: PASSWORD });
    const written = readFileSync(file);
    expect(data).toEqual({ file, bytes: written.length, sha256: envelope.sha256 });
    expect(written.toString()).toMatch(/<configuration/);
    expect(names(join(file, '..'))).toEqual(['day.xml']);
  });

  it('follows a link and leaves it a link', async () => {
    const { gateway } = await pair();
    const path = folder();
    mkdirSync(join(path, 'real'));
    writeFileSync(join(path, 'real/day.xml'), GOOD);
    symlinkSync('real/day.xml', join(path, 'link.xml'));
    await gateway.run('transfer.export-xml', { file: join(path, 'link.xml') });
    expect(readFileSync(join(path, 'real/day.xml'), 'utf8')).not.toBe(GOOD);
    expect(names(path)).toEqual(['link.xml', 'real']);
  });

  it.each([0, 0.5, 0.999])('that is cut at %s leaves the file as it was', async (fraction) => {
    const server = await cutAt(fraction);
    const file = join(folder(), 'day.xml');
    writeFileSync(file, GOOD);
    const error = await failure(gatewayFor(server).run('transfer.export-xml', { file }));
    expect([error.code, error.message]).toEqual(['BAD_RESPONSE', expect.stringContaining('cut short')]);
    expect(error.cause).toMatchObject({ requests: 3, retries: 2 });
    expect(readFileSync(file, 'utf8')).toBe(GOOD);
    expect(names(join(file, '..'))).toEqual(['day.xml']);
    expect(openFiles()).toEqual([]);
  });

  it.each([
    ['a page of HTML', '<html><body>Sorry</body></html>'],
    ['a document that ends early', LARGE.slice(0, -5)],
  ])('of %s makes none', async (_name, body) => {
    const server = await wire(() => http(200, body, XML));
    const path = folder();
    const error = await failure(gatewayFor(server).run('transfer.export-xml', { file: join(path, 'day.xml') }));
    expect(error.code).toBe('BAD_RESPONSE');
    expect(names(path)).toEqual([]);
  });

  it('is cancelled without a trace', async () => {
    const server = await cutAt(0.5, 'hang');
    const path = folder();
    const abort = new AbortController();
    const run = failure(gatewayFor(server).run('transfer.export-xml', { file: join(path, 'day.xml') }, abort.signal));
    while (names(path).length === 0) await wait(5);
    expect(names(path)).toEqual([expect.stringMatching(/^day\.xml\..*\.partial$/)]);
    abort.abort();
    expect((await run).code).toBe('ABORTED');
    expect(names(path)).toEqual([]);
    expect(openFiles()).toEqual([]);
  });

  it('has a time limit of its own', async () => {
    const gateway = gatewayFor(await cutAt(0.5, 'hang'), { timeout: 30, transferTimeout: 0.3 });
    const error = await failure(gateway.run('transfer.export-xml'));
    expect([error.code, error.message]).toEqual(['TIMEOUT', expect.stringContaining('did not end within 0.3 s')]);
    const slow = await pair({ variants: { transferMs: 2500 } }, { timeout: 2 });
    expect((await slow.gateway.run('transfer.export-xml')).envelope.ok).toBe(true);
  });

  it('that cannot be written is told before anything is sent', async () => {
    const { simulator, gateway } = await pair();
    const path = folder();
    for (const file of [join(path, 'missing/day.xml'), path, '/dev/null', '  ']) {
      const error = await failure(gateway.run('transfer.export-xml', { file }));
      expect([file, error.code]).toEqual([file, 'BAD_INPUT']);
    }
    expect(lines(simulator)).toEqual([]);
    expect(simulator.logins).toBe(0);
  });

  it('says so when the disk is full or read-only', async ({ skip }) => {
    const disk = tinyDisk(1 << 20);
    if (!disk) skip('this process may not mount a file system');
    const { path = '' } = disk ?? {};
    const file = join(path, 'day.xml');
    writeFileSync(file, GOOD);
    const server = await wire(() => http(200, LARGE, XML));
    const full = await failure(gatewayFor(server).run('transfer.export-xml', { file }));
    expect([full.code, full.message, full.cause?.system]).toEqual(['LIMIT', expect.stringContaining('no room left'), 'ENOSPC']);
    expect([names(path), readFileSync(file, 'utf8')]).toEqual([['day.xml'], GOOD]);
    expect(server.asked).toHaveLength(1);
    disk?.readOnly();
    const refused = await failure(gatewayFor(server).run('transfer.export-xml', { file }));
    expect([refused.code, refused.message]).toEqual(['BAD_INPUT', expect.stringContaining('read-only')]);
    expect(server.asked).toHaveLength(1);
  });

  it('that was killed leaves nothing that the next one does not clean up', async () => {
    const server = await cutAt(0.5, 'hang');
    const path = folder();
    const file = join(path, 'day.xml');
    writeFileSync(file, GOOD);
    // Another's file with such an ending is none of ours.
    writeFileSync(join(path, 'mine.partial'), '');
    const { tls, ...settings } = settingsFor(server);
    const process = child('backup-child.ts', {
      settings: { ...settings, tls: { ca: tls?.ca } },
      operation: 'transfer.export-xml',
      input: { file },
    });
    while (names(path).length < 3) await wait(20);
    process.kill('SIGKILL');
    await new Promise((resolve) => process.once('exit', resolve));
    expect(names(path)).toHaveLength(3);
    expect(readFileSync(file, 'utf8')).toBe(GOOD);
    await gatewayFor(await appliance()).run('transfer.export-xml', { file });
    expect(names(path)).toEqual(['day.xml', 'mine.partial']);
    expect(readFileSync(file, 'utf8')).not.toBe(GOOD);
  });
});

describe('an import from a file', () => {
  it('sends the file and tells how far it is', async () => {
    const { simulator, gateway } = await pair({ variants: { transferMs: 600 } });
    const path = folder();
    await gateway.run('transfer.export-xml', { file: join(path, 'a.xml'), password: PASSWORD });
    await gateway.run('transfer.export-binary', { file: join(path, 'a.bin') });
    const told: Advance[] = [];
    const onProgress = (advance: Advance): void => void told.push(advance);
    await gateway.run('transfer.import-xml', { file: join(path, 'a.xml'), password: PASSWORD }, { onProgress });
    await gateway.run('transfer.import-binary', { file: join(path, 'a.bin') }, { onProgress });
    const total = readFileSync(join(path, 'a.xml')).length;
    expect(told).toContainEqual({ state: 'moving', bytes: total, total });
    expect(lines(simulator)).toHaveLength(4);
    expect(openFiles()).toEqual([]);
  });

  it('of a large one that is refused, cut or cancelled leaves no file open', async () => {
    const path = folder();
    const file = join(path, 'large.xml');
    writeFileSync(file, '');
    truncateSync(file, 64 << 20);
    // The appliance takes the beginning of it and no more, so that its end is never on its way.
    const early = await wire(() => undefined, { unread: /import-xml/ });
    for (const [index, react] of (['refused', 'cut', 'cancelled'] as const).entries()) {
      const gateway = gatewayFor(early);
      const abort = new AbortController();
      const run = failure(gateway.run('transfer.import-xml', { file }, abort.signal));
      while (early.asked.length === index) await wait(5);
      expect(openFiles()).toEqual([file]);
      if (react === 'cancelled') abort.abort();
      for (const socket of early.sockets) {
        if (react === 'refused') socket.end(http(400, '{"result":{"errors":[{"message":"No"}]}}'));
        if (react === 'cut') socket.destroy();
      }
      expect([react, (await run).code]).toEqual([react, react === 'refused' ? 'INVALID_REQUEST' : 'OUTCOME_UNKNOWN']);
      while (openFiles().length > 0) await wait(5);
    }
  });

  it('of a file that is missing, empty, a pipe or a folder sends nothing', async () => {
    const { simulator, gateway } = await pair();
    const path = folder();
    writeFileSync(join(path, 'empty'), '');
    execFileSync('mkfifo', [join(path, 'pipe')]);
    for (const file of [join(path, 'missing'), join(path, 'empty'), join(path, 'pipe'), path]) {
      const error = await failure(gateway.run('transfer.import-binary', { file }));
      expect([file, error.code]).toEqual([file, 'BAD_INPUT']);
    }
    expect([lines(simulator), simulator.logins, openFiles()]).toEqual([[], 0, []]);
  });
});

it('an import to an appliance that reads slowly arrives as it lies in the file', async () => {
  const file = join(folder(), 'random');
  const text = randomBytes(24 << 20).toString('base64');
  writeFileSync(file, text);
  const hash = createHash('sha256');
  const server = createServer(certificate, (request, response) => {
    const isLogin = request.url?.endsWith(LOGIN);
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
