// @ts-check
// Builds everything that is published into dist/: library and nodes (tsc), then the editor half. Runs on `npm ci` too (prepare).
import { performance } from 'node:perf_hooks';
import { chmodSync, existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildEditor } from './build-editor.mjs';
import { updateReadme } from './readme-table.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;
const started = performance.now();

rmSync(dist, { recursive: true, force: true });

// The compiler is started by its file: under npm the word `tsc` could be another one.
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const { status } = spawnSync(process.execPath, [compiler, '-p', `${root}tsconfig.json`], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);

await buildEditor({ root, compiled: dist, out: `${dist}/nodes` });
updateReadme(root, dist);

const command = `${dist}/src/simulator/cli.js`;
if (existsSync(command)) chmodSync(command, 0o755);

console.log(`built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
