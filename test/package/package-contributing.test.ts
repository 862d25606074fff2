import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../../scripts/tools.mjs';
import type * as Library from '../../src';

// The example of CONTRIBUTING.md, done in a copy as it says.
const guide = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').split('\n## Add an operation\n')[1]?.split('\n## ')[0] ?? '';
const [imports = '', operation = '', described = '', row = ''] = [...guide.matchAll(/```(?:ts|md)\n([^]*?)```/g)].map(
  ([, text = '']) => text,
);
const copy = mkdtempSync(join(tmpdir(), 'gateway-contributing-'));
const require = createRequire(join(root, 'package.json'));

function edit(file: string, change: (text: string) => string): void {
  const text = readFileSync(join(copy, file), 'utf8');
  const changed = change(text);
  expect(changed, file).not.toBe(text);
  writeFileSync(join(copy, file), changed);
}

beforeAll(() => {
  for (const name of ['src', 'test/coverage', 'tsconfig.json', 'package.json'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  edit('src/areas/system.ts', (text) =>
    text
      .replace(/^import \{[^}]*\} from '\.\.\/model\/operation';\n/m, () => imports)
      .replace('  operations: {\n', (line) => line + operation),
  );
  edit('test/package/coverage/service-rows.ts', (text) => text.replace('  // System\n', (line) => line + row));
});
afterAll(() => rmSync(copy, { recursive: true }));

describe('the operation of CONTRIBUTING.md', () => {
  it('compiles with exactly the imports of the guide', () => {
    const settings = { extends: './tsconfig.json', include: ['src/areas/system.ts', 'test/package/coverage/service-rows.ts'] };
    writeFileSync(
      join(copy, 'tsconfig.check.json'),
      JSON.stringify({ ...settings, compilerOptions: { noEmit: true, declaration: false } }),
    );
    const compiler = [require.resolve('typescript/bin/tsc'), '-p', 'tsconfig.check.json'];
    expect(spawnSync(process.execPath, compiler, { cwd: copy, encoding: 'utf8' }).stdout).toBe('');
  });

  it('runs and sends the request of its example', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
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
      expect(asked).toEqual([added?.example.request]);
    } finally {
      gateway.close();
      server.closeAllConnections();
      server.close();
    }
  });

  it('has a description row with the columns of the interface tables', () => {
    expect(described).toMatch(/^\| `GET` \| `\/api\/v1\/system\/uptime` \|.*\|\n$/);
    const head =
      readFileSync(join(root, 'docs', 'reference', 'appliance-api.md'), 'utf8')
        .split('\n### System\n')[1]
        ?.split('\n')[1] ?? '';
    expect(described.split('|').length).toBe(head.split('|').length);
  });
});
