// @ts-check
// Runs the tests of connections and answers with the oldest and the newest release of undici that the package allows.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { root, toolFolder } from './tools.mjs';

const TESTS = ['http/answers', 'http/connections', 'http/proxy', 'http/tls', 'http/undici', 'areas/sessions-ahead'].map(
  (name) => `test/unit/${name}.test.ts`,
);

const folder = join(toolFolder('undici'), 'node_modules');
const load = createRequire(import.meta.url);
const vitest = join(dirname(load.resolve('vitest/package.json')), 'vitest.mjs');

const versionIn = (/** @type {string} */ place) =>
  /** @type {{ version: string }} */ (JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'))).version;
/** The releases that `npm test` and this script have tested. */
const tested = new Set([versionIn(join(root, 'node_modules', 'undici'))]);

for (const which of ['oldest', 'newest']) {
  const version = versionIn(join(folder, which));
  console.log(`undici ${version}, the ${which} that is allowed${tested.has(version) ? ': tested already' : ''}`);
  if (tested.has(version)) continue;
  tested.add(version);
  const env = { ...process.env, GATEWAY_UNDICI: join(folder, which, 'index.js'), GATEWAY_UNDICI_VERSION: version };
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'quick', ...TESTS], { cwd: root, env, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
