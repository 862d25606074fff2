// @ts-check
// The second package, `fleet/`: installed at first need with a lock file of its own, so that the root's `npm ci` stays as quick as it is,
// and built. `node scripts/fleet.mjs [test …]` runs its tests besides, on a Node.js that pg-boss runs on.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { node24 } from './node24.mjs';
import { installedFolder, root } from './tools.mjs';

const folder = join(root, 'fleet');

/** A program of the root's, by its file: under npm the word could be another one. @param {string} name */
const program = (name) => createRequire(import.meta.url).resolve(name);

/** Folder of the package with what it depends on; the package that it builds on is this repository. @returns {string} */
export function installFleet() {
  // Its peer is this repository.
  installedFolder(folder, 'fleet', ['--legacy-peer-deps']);
  const scope = join(folder, 'node_modules', '@gateway-admin');
  if (!existsSync(join(scope, 'node-red', 'package.json'))) {
    mkdirSync(scope, { recursive: true });
    rmSync(join(scope, 'node-red'), { force: true });
    symlinkSync('../../..', join(scope, 'node-red'), 'dir');
  }
  return folder;
}

/** Builds it into fleet/dist; the root has been built before. @returns {string} */
export function buildFleet() {
  installFleet();
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  run(process.execPath, [program('typescript/bin/tsc'), '-p', join(folder, 'tsconfig.json')]);
  run(process.execPath, [join(folder, 'scripts', 'build-editor.mjs')]);
  return folder;
}

/** @param {string} command @param {string[]} args */
function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: folder, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  buildFleet();
  const [what, ...more] = process.argv.slice(2);
  if (what === 'test') {
    for (const project of ['tsconfig.test.json', 'nodes/editor/tsconfig.json'])
      run(process.execPath, [program('typescript/bin/tsc'), '--noEmit', '-p', join(folder, project)]);
    run(node24(), [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...more]);
  }
}
