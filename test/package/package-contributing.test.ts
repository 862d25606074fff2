import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../../scripts/tools.mjs';
import type * as Library from '../../src';

// Follows the example of CONTRIBUTING.md word for word in a copy of the repository.
const guide = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').split('\n## Add an operation\n')[1]?.split('\n## ')[0] ?? '';
const [entry = '', apiRow = '', serviceRow = '', route = '', commands = ''] = [...guide.matchAll(/```(?:ts|md|sh)\n([^]*?)```/g)].map(
  ([, text = '']) => text,
);
const copy = mkdtempSync(join(tmpdir(), 'gateway-contributing-'));
/** Generated folders. */
const SKIPPED = new Set(['dist', 'dist.new', 'dist.old']);

function copyFolder(source: string, target: string): void {
  mkdirSync(target, { recursive: true });
  for (const item of readdirSync(source, { withFileTypes: true })) {
    if (item.name === 'node_modules') symlinkSync(join(source, item.name), join(target, item.name));
    else if (SKIPPED.has(item.name) || item.name.startsWith('.')) continue;
    else if (item.isDirectory()) copyFolder(join(source, item.name), join(target, item.name));
    else cpSync(join(source, item.name), join(target, item.name));
  }
}

function edit(file: string, change: (text: string) => string): void {
  const text = readFileSync(join(copy, file), 'utf8');
  const changed = change(text);
  expect(changed, file).not.toBe(text);
  writeFileSync(join(copy, file), changed);
}

beforeAll(() => {
  copyFolder(root, copy);
  edit('src/areas/system.ts', (text) =>
    text
      .replace(/import \{(?=[^}]*\} from '\.\.\/model\/operation')/, 'import { textField,')
      .replace('  operations: {\n', (line) => line + entry),
  );
  edit('docs/reference/appliance-api.md', (text) => text.replace(/(\n### System\n[^]*?\n\|---[^\n]*\n)/, (head) => head + apiRow));
  edit('test/package/coverage/service-rows.ts', (text) => text.replace('  // System\n', (line) => line + serviceRow));
  edit('src/http/path-template.ts', (text) => text.replace("'api v1 ", "'api v1 uptime "));
  edit('src/simulator/system.ts', (text) => text.replace(/^export function addSystemRoutes.*\n/m, (line) => line + route));
});
afterAll(() => rmSync(copy, { recursive: true, maxRetries: 5 }));

describe('the example in CONTRIBUTING.md', () => {
  it('the table rows in the example of CONTRIBUTING.md have the columns of their tables', () => {
    expect(apiRow).toMatch(/^\| `GET` \| `\/api\/v1\/system\/uptime` \|.*\|\n$/);
    const head = readFileSync(join(root, 'docs/reference/appliance-api.md'), 'utf8').split('\n### System\n')[1]?.split('\n')[1] ?? '';
    expect(apiRow.split('|').length).toBe(head.split('|').length);
  });

  it('the example in CONTRIBUTING.md defines an operation that sends the documented request', async () => {
    const received: string[] = [];
    const server = createServer((request, response) => {
      received.push(`${request.method} ${request.url}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"seconds":"5"}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const bundle = join(copy, 'bundle.cjs');
    buildSync({
      entryPoints: [join(copy, 'src/index.ts')],
      bundle: true,
      platform: 'node',
      format: 'cjs',
      packages: 'external',
      outfile: bundle,
    });
    const { Gateway, operations } = createRequire(bundle)(bundle) as typeof Library;
    const gateway = new Gateway({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, login: 'key', apiKey: 'k' });
    try {
      const added = operations.get('system.uptime');
      const { data } = await (gateway.run as (name: string, input: object) => Promise<{ data: unknown }>).call(
        gateway,
        'system.uptime',
        added?.example.input ?? {},
      );
      expect(data).toEqual({ seconds: 5 });
      expect(received).toEqual([added?.example.request]);
    } finally {
      gateway.close();
      server.closeAllConnections();
      server.close();
      rmSync(bundle);
    }
  });

  it('the example in CONTRIBUTING.md passes every command that the guide names, and appears in the generated pages', () => {
    const lines = commands.trim().split('\n');
    expect(lines).toContain('npm run build');
    expect(lines).toContain('npm run test:operations');
    const scripts = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }).scripts;
    for (const path of `${commands} ${scripts['test:operations']}`.match(/test\/[\w./-]+/g) ?? [])
      expect(existsSync(join(copy, path)), path).toBe(true);
    // The quick tests run the other operations with more random inputs.
    const env = { ...process.env, GATEWAY_RUNS: '2' };
    for (const line of lines) {
      const { status, stdout, stderr } = spawnSync(line, { cwd: copy, env, encoding: 'utf8', shell: true, maxBuffer: 2 ** 26 });
      expect(status, `${line}\n${stdout.slice(-6000)}\n${stderr.slice(-3000)}`).toBe(0);
    }
    for (const page of ['docs/reference/operations.md', 'docs/reference/permissions.md', 'docs/nodes/gateway-system.md'])
      expect(readFileSync(join(copy, page), 'utf8'), page).toContain('uptime');
  }, 1_200_000);
});
