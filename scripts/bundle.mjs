// @ts-check
// Bundles the library, the nodes and the simulator, because Node.js loads 30 files in a third of the CPU of 270. Code that several entry
// points need is in one file of dist/chunks/, so the state of the process exists once. Code behind `import()` has its own file.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { build, transform } from 'esbuild';

/** What `package.json` names, and the process of a rehearsal. */
const ENTRY_POINTS = [
  'nodes/gateway.ts',
  'nodes/public-api.ts',
  'src/index.ts',
  'src/conformance/cli.ts',
  'src/simulator/index.ts',
  'src/simulator/cli.ts',
  'src/simulator/copy/copy-process.ts',
];
const TARGET = 'node20';
/** Exports are getters in esbuild's CommonJS modules, which makes each call into another file slower. No source exports a `let`. */
const PLAIN_EXPORTS = `module.exports = Object.assign(Object.defineProperty({}, '__esModule', { value: true }), module.exports);\n`;

/**
 * Writes the bundles to the folder `out`. esbuild divides only ES modules into files, so each of them becomes a CommonJS module afterwards.
 * @param {string} root @param {string} out
 */
export async function bundlePackage(root, out) {
  const { outputFiles } = await build({
    absWorkingDir: root.replace(/\/$/, ''),
    entryPoints: ENTRY_POINTS,
    outdir: out,
    outbase: '.',
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: TARGET,
    charset: 'utf8',
    write: false,
  });
  for (const { path, text } of outputFiles) {
    const { code } = await transform(text, { format: 'cjs', platform: 'node', target: TARGET, charset: 'utf8' });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${code}${PLAIN_EXPORTS}`);
  }
}
