// @ts-check
// The benchmark server is TypeScript that is not published, so the benchmarks bundle it when they start.
import { createRequire } from 'node:module';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { build } from 'esbuild';
import { root } from '../../scripts/tools.mjs';

/** @returns {Promise<typeof import('./benchmark-appliance.js')>} */
export async function loadBenchmarkServer() {
  const folder = join(root, 'node_modules', '.cache', 'bench');
  mkdirSync(folder, { recursive: true });
  // Several processes of a benchmark start at the same time.
  const outfile = join(folder, `server-${process.pid}.cjs`);
  await build({
    entryPoints: [join(root, 'bench', 'server', 'benchmark-appliance.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    outfile,
  });
  const server = createRequire(import.meta.url)(outfile);
  rmSync(outfile);
  return server;
}
