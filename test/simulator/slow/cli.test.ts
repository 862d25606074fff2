import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'simulator-cli-'));
const script = join(folder, 'cli.cjs');

beforeAll(() => {
  buildSync({
    entryPoints: [resolve(__dirname, '../../../src/simulator/cli.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: script,
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...options: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
  new Promise((done) => {
    execFile(process.execPath, [script, ...options], (error, stdout, stderr) => done({ code: Number(error?.code ?? 0), stdout, stderr }));
  });

describe('gateway-simulator', () => {
  it('gateway-simulator starts with a shebang line and needs only Node.js', () => {
    const built = readFileSync(script, 'utf8');
    expect(built.startsWith('#!/usr/bin/env node\n')).toBe(true);
    for (const [, name] of built.matchAll(/require\("([^"]+)"\)/g)) expect(name).toMatch(/^node:/);
  });

  it('gateway-simulator lists every variant in its help', async () => {
    const { code, stdout } = await run('--help');
    expect(code).toBe(0);
    expect(stdout).toMatch(/startCountsFrom = 1 \| 0/);
    expect(stdout).toMatch(/--ca-file/);
  });

  it.each([
    [['--port', 'many'], /--port takes a whole number/],
    [['--host', '0.0.0.0'], /loopback/],
    [['--role', 'king'], /--role takes independent/],
    [['--variant', 'nothing'], /no variant "nothing"/],
    [['--variant', 'startCountsFrom=3'], /takes 1, 0/],
    [['--variant', 'lockAfter=x'], /takes a number/],
    [['--second-factor', 'sms'], /none, password, totp/],
    [['--colour'], /Unknown option/],
    [['--port', '0', '--ca-file', '/nonexistent/ca.pem'], /ENOENT/],
  ])('gateway-simulator exits with 1 and prints one sentence for %j', async (options, sentence) => {
    const { code, stdout, stderr } = await run(...options);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('gateway-simulator prints its address, serves the certificate that it wrote, and ends with Ctrl-C', async () => {
    const ca = join(folder, 'ca.pem');
    const child = spawn(process.execPath, [
      script,
      '--port',
      '0',
      '--ca-file',
      ca,
      '--second-factor',
      'totp',
      '--variant',
      'healthNeedsKey',
      '--variant',
      'cpuKey=CPU-UTILIZATION',
    ]);
    const ended = new Promise((done) => child.on('exit', done));
    const text = await new Promise<string>((done) => {
      let all = '';
      child.stdout.on('data', (chunk: Buffer) => {
        all += chunk.toString();
        if (all.includes('Ctrl-C')) done(all);
      });
    });
    expect(text).toContain(ca);
    expect(text).toMatch(/api-admin.*simulator.*Admin Users/);
    expect(text).toMatch(/TOTP secret: +JBSWY3DPEHPK3PXP/);
    const url = /https:\S+/.exec(text)?.[0] ?? '';
    const body = await new Promise<string>((done, fail) => {
      https
        .get(`${url}/api/v1/system/healthcheck?status=all`, { ca: readFileSync(ca) }, (response) =>
          response.on('data', (chunk: Buffer) => done(chunk.toString())),
        )
        .on('error', fail);
    });
    expect(body).toContain('"CPU-UTILIZATION":7');
    child.kill('SIGINT');
    expect(await ended).toBe(0);
  });
});
