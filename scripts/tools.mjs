// @ts-check
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Folder of a tool with a lock file of its own under `tools/`, installed at first need. Test files run side by side, so it is installed
 * elsewhere and moved into place in one step.
 * @param {string} name
 * @returns {string}
 */
export function toolFolder(name) {
  return installedFolder(join(root, 'tools', name), name);
}

/**
 * The same for a folder elsewhere; `name` is for the place where it is installed before it is moved.
 * @param {string} folder
 * @param {string} name
 * @param {string[]} [more] for npm
 * @returns {string}
 */
export function installedFolder(folder, name, more = []) {
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  const modules = join(folder, 'node_modules');
  const installedLock = join(modules, 'installed-lock.json');
  const installed = () => existsSync(installedLock) && readFileSync(installedLock, 'utf8') === lock;
  if (installed()) return folder;
  const cache = join(root, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, `${name}-`));
  try {
    for (const file of ['package.json', 'package-lock.json']) cpSync(join(folder, file), join(work, file));
    npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', ...more], work);
    cpSync(join(work, 'package-lock.json'), join(work, 'node_modules', 'installed-lock.json'));
    if (!installed()) {
      rmSync(modules, { recursive: true, force: true });
      renameSync(join(work, 'node_modules'), modules);
    }
  } catch (error) {
    // Another process may have installed the tool first.
    if (!installed()) throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

/**
 * Runs npm and gives what it printed. Inside `npm run` the word npm means the one that node-red brings along, so the npm that runs us is asked
 * for by its path.
 * @param {string[]} args
 * @param {string} cwd
 * @returns {string}
 */
export function npm(args, cwd) {
  const outer = process.env['npm_execpath'];
  const [command, first] = outer && /npm-cli\.c?js$/.test(outer) ? [process.execPath, [outer]] : ['npm', []];
  // The inner npm would read the variables of the outer `npm run` as its own settings.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(lifecycle|package|config_local_prefix)/.test(name)),
  );
  const result = spawnSync(command, [...first, ...args], {
    cwd,
    env,
    encoding: 'utf8',
    shell: command === 'npm' && process.platform === 'win32',
  });
  if (result.status !== 0) {
    throw new Error(
      `npm ${args.join(' ')} failed in ${cwd}: ${result.error?.message ?? ''}\n${result.stdout ?? ''}\n${result.stderr ?? ''}`,
    );
  }
  return result.stdout;
}

/** The TypeScript compiler as a file for Node.js, because under npm `tsc` could be another program. */
export const compiler = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
