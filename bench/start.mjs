// @ts-check
// The additional start time of Node-RED and disk space of the package.
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { startNodeRed } from '../scripts/demo/node-red.mjs';
import { root } from '../scripts/tools.mjs';
import { userDirectory } from './rig.mjs';

/**
 * One start, from the spawn to running flows, with the nodes or without.
 * @param {boolean} withNodes
 * @returns {Promise<import('./rig.mjs').Sample>}
 */
export async function measureStart(withNodes) {
  const userDir = userDirectory();
  try {
    const started = performance.now();
    const nodesDir = withNodes ? [join(root, 'dist', 'nodes')] : [];
    const red = await startNodeRed({ userDir, version: 4, nodesDir, flows: [] });
    const ms = performance.now() - started;
    const usage = await new Promise((resolve) => {
      red.child.once('message', (/** @type {any} */ { value }) => resolve(value));
      red.child.send({ id: 1, job: 'usage' });
    });
    await red.stop();
    return { ms, cpuMs: usage.cpu, rss: usage.rss };
  } finally {
    rmSync(userDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Megabytes that npm installs: the files of the package and of its runtime dependencies. */
export function installedMegabytes() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const published = ['dist/chunks', 'dist/nodes', 'dist/src', 'examples', 'package.json', 'README.md'];
  const own = published.map((name) => sizeOf(join(root, name)));
  /** @type {Map<string, number>} */
  const seen = new Map();
  const add = (/** @type {string} */ name, /** @type {string} */ from) => {
    const folder = folderOf(name, from);
    if (seen.has(folder)) return;
    seen.set(folder, sizeOf(folder));
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    for (const inner of Object.keys(dependencies)) add(inner, folder);
  };
  for (const name of Object.keys(manifest.dependencies)) add(name, root);
  return [...own, ...seen.values()].reduce((sum, size) => sum + size, 0) / 1e6;
}

/**
 * @param {string} name
 * @param {string} from
 */
function folderOf(name, from) {
  const places = createRequire(join(from, 'package.json')).resolve.paths(name) ?? [];
  const found = places.map((place) => join(place, name)).find((place) => statSync(place, { throwIfNoEntry: false })?.isDirectory());
  if (found === undefined) throw new Error(`${name} is not installed in ${dirname(from)}`);
  return found;
}

/** @param {string} place */
function sizeOf(place) {
  const entry = statSync(place, { throwIfNoEntry: false });
  if (!entry?.isDirectory()) return entry?.size ?? 0;
  return readdirSync(place, { withFileTypes: true, recursive: true })
    .filter((found) => found.isFile())
    .reduce((sum, found) => sum + statSync(join(found.parentPath, found.name)).size, 0);
}
