// @ts-check
// Builds the library, the nodes (tsc) and the editor half. It writes beside dist/ and renames at the end, so that a running demo survives.
import { performance } from 'node:perf_hooks';
import { chmodSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildEditor, readAreas } from './build-editor.mjs';
import { updateDocs } from './docs/index.mjs';
import { createOperationInputs } from './operation-inputs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;
const fresh = `${root}dist.new`;
const previous = `${root}dist.old`;
const started = performance.now();

for (const folder of [fresh, previous]) rmSync(folder, { recursive: true, force: true });

// The compiler is started by its file, because `tsc` could be another program under npm.
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const { status } = spawnSync(process.execPath, [compiler, '-p', `${root}tsconfig.json`, '--outDir', fresh], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);

await buildEditor({ root, compiled: fresh, out: `${fresh}/nodes` });
updateDocs(root, fresh);

writeFileSync(`${fresh}/src/areas/operation-inputs.d.ts`, createOperationInputs(readAreas(fresh)));
for (const command of ['simulator', 'conformance']) chmodSync(`${fresh}/src/${command}/cli.js`, 0o755);

if (existsSync(dist)) renameSync(dist, previous);
renameSync(fresh, dist);
rmSync(previous, { recursive: true, force: true });

console.log(`built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
