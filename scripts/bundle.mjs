// @ts-check
// Bundles the library, the nodes and the simulator, because Node.js loads 30 files in a third of the CPU of 270. Code that several entry
// points need is in one file of dist/chunks/, so the state of the process exists once. Code behind `import()` has its own file.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { build, transform } from 'esbuild';

/** What `package.json` names, and the process of a rehearsal. */
const ENTRY_POINTS = [
  'nodes/gateway.ts',
  'nodes/node-runtime.ts',
  'nodes/public-api.ts',
  'src/index.ts',
  'src/conformance/cli.ts',
  'src/simulator/index.ts',
  'src/simulator/cli.ts',
  'src/simulator/copy/copy-process.ts',
];
const TARGET = 'node20';
/** Options of all builds. @type {import('esbuild').BuildOptions & { write: false }} */
const COMMON = { bundle: true, packages: 'external', platform: 'node', target: TARGET, charset: 'utf8', write: false };
/** Exports are getters in esbuild's CommonJS modules, which makes each call into another file slower. No source exports a `let`. */
const PLAIN_EXPORTS = `module.exports = Object.assign(Object.defineProperty({}, '__esModule', { value: true }), module.exports);\n`;

/**
 * Writes the bundles to the folder `out`. esbuild divides only ES modules into files, so each of them becomes a CommonJS module afterwards.
 * @param {string} root @param {string} out
 */
export async function bundlePackage(root, out) {
  const { outputFiles } = await build({
    ...COMMON,
    absWorkingDir: root.replace(/\/$/, ''),
    entryPoints: ENTRY_POINTS,
    outdir: out,
    outbase: '.',
    chunkNames: 'chunks/[name]-[hash]',
    splitting: true,
    format: 'esm',
    plugins: [{ name: 'registrations', setup: replaceRegistrations }],
  });
  for (const { path, text } of outputFiles) {
    const { code } = await transform(text, { format: 'cjs', platform: 'node', target: TARGET, charset: 'utf8' });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${code}${PLAIN_EXPORTS}`);
  }
}

/**
 * Replaces nodes/registrations.ts by the value of its function.
 * @param {import('esbuild').PluginBuild} plugin
 */
function replaceRegistrations({ onLoad }) {
  onLoad({ filter: /nodes.registrations\.ts$/ }, async ({ path }) => {
    const { outputFiles } = await build({ ...COMMON, entryPoints: [path], format: 'esm' });
    const { getRegistrations } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? '')}`);
    return { contents: `export const getRegistrations = () => (${JSON.stringify(getRegistrations())});`, loader: 'js' };
  });
}
