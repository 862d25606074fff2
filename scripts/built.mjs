// @ts-check
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { buildFleet, installFleet } from './fleet.mjs';
import { root } from './tools.mjs';

/**
 * When the newest file below these places was written, in ms; 0 if there is none.
 * @param {string[]} places
 */
function newest(places) {
  const times = places.flatMap((place) => {
    const entry = statSync(join(root, place), { throwIfNoEntry: false });
    if (!entry?.isDirectory()) return [entry?.mtimeMs ?? 0];
    const entries = readdirSync(join(root, place), { withFileTypes: true, recursive: true });
    return entries.filter((found) => found.isFile()).map((found) => statSync(join(found.parentPath, found.name)).mtimeMs);
  });
  return Math.max(0, ...times);
}

/** Builds `dist` if it is missing or older than its sources. */
export function ensureBuilt() {
  if (
    newest(['dist']) >
    newest([
      'src',
      'nodes',
      'icons',
      'package.json',
      'tsconfig.build.json',
      'scripts/build.mjs',
      'scripts/build-editor.mjs',
      'scripts/bundle.mjs',
      'scripts/docs',
      'scripts/editor',
    ])
  )
    return;
  const build = spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { cwd: root, stdio: 'inherit' });
  if (build.status !== 0) throw new Error('The build failed; see above.');
}

/** The same for the second package, `fleet/`, and its dependencies. */
export function ensureFleetBuilt() {
  ensureBuilt();
  installFleet();
  const sources = ['coordinator', 'engine', 'icons', 'store', 'nodes', 'scripts', 'worker', 'package.json', 'tsconfig.build.json'];
  if (newest(['fleet/dist']) <= newest(sources.map((name) => `fleet/${name}`))) buildFleet();
}

/** For vitest's `globalSetup`. */
export const setup = ensureBuilt;
