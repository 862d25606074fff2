// @ts-check
// Installs and builds the second package, `fleet/`. It has its own lock file and is installed on first use, so that `npm ci` in the root
// stays fast. `node scripts/fleet.mjs test [file]` also runs its tests, on a Node.js that pg-boss supports.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { node24 } from './node24.mjs';
import { compiler, installedFolder, root } from './tools.mjs';

const folder = join(root, 'fleet');

/** Installs the dependencies and gives the folder of the package. @returns {string} */
export function installFleet() {
  // The peer dependency is this repository, so npm must not install it.
  installedFolder(folder, 'fleet', ['--legacy-peer-deps']);
  const scope = join(folder, 'node_modules', '@gateway-admin');
  if (!existsSync(join(scope, 'node-red', 'package.json'))) {
    mkdirSync(scope, { recursive: true });
    rmSync(join(scope, 'node-red'), { force: true });
    symlinkSync('../../..', join(scope, 'node-red'), 'dir');
  }
  return folder;
}

/** Builds the package into fleet/dist. The root package must be built before. @returns {string} */
export function buildFleet() {
  installFleet();
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  run(process.execPath, [compiler, '-p', join(folder, 'tsconfig.build.json')]);
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
    for (const project of ['tsconfig.json', 'nodes/editor/tsconfig.json'])
      run(process.execPath, [compiler, '--noEmit', '-p', join(folder, project)]);
    run(node24(), [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...more]);
  }
}
