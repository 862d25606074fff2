// @ts-check
// Builds dist/: the bundles and types of library, nodes and simulator, and the editor half. dist/compiled/ has a file per source, for tools and
// tests; it is not published. The build writes beside dist/ and renames at the end, so that a running demo survives.
import { performance } from 'node:perf_hooks';
import { chmodSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildEditor, readAreas } from './build-editor.mjs';
import { bundlePackage } from './bundle.mjs';
import { updateDocs } from './docs/index.mjs';
import { createOperationInputs } from './operation-inputs.mjs';
import { compiler } from './tools.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;
const fresh = `${root}dist.new`;
const previous = `${root}dist.old`;
const started = performance.now();

for (const folder of [fresh, previous]) rmSync(folder, { recursive: true, force: true });

const compiled = `${fresh}/compiled`;
const folders = ['--outDir', compiled, '--declarationDir', fresh];
const { status } = spawnSync(process.execPath, [compiler, '-p', `${root}tsconfig.build.json`, ...folders], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);

await bundlePackage(root, fresh);
await buildEditor({ root, compiled, out: `${fresh}/nodes` });
updateDocs(root, compiled);

writeFileSync(`${fresh}/src/areas/operation-inputs.d.ts`, createOperationInputs(readAreas(compiled)));
for (const command of ['simulator', 'conformance']) chmodSync(`${fresh}/src/${command}/cli.js`, 0o755);

if (existsSync(dist)) renameSync(dist, previous);
renameSync(fresh, dist);
rmSync(previous, { recursive: true, force: true });

console.log(`built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
