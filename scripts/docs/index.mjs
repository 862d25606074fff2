// @ts-check
// Writes the generated pages of docs/: `npm run build` updates them, `node scripts/docs/index.mjs --check` fails if a page is out of date.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { readAreas } from '../build-editor.mjs';
import { createActionNodePage, createConfigNodePage } from './node-pages.mjs';
import { createOperationsPage } from './operations.mjs';
import { createPerformancePage } from './performance.mjs';
import { createPermissionsPage } from './permissions.mjs';

/** @import { Area } from '../../src/model/operation.js' */

const CONFIG_NODES = ['appliance', 'inventory', 'watch'];
/** Only its table is generated. */
const PERMISSIONS = 'docs/reference/permissions.md';

/**
 * The generated pages, as they must be.
 * @param {string} root @param {readonly Area[]} areas @returns {Map<string, string>} text by path below the root
 */
export function createPages(root, areas) {
  const pages = new Map([['docs/reference/operations.md', createOperationsPage(areas)]]);
  const permissions = readFileSync(join(root, PERMISSIONS), 'utf8');
  pages.set(PERMISSIONS, createPermissionsPage(permissions, areas));
  for (const area of areas) pages.set(`docs/nodes/gateway-${area.name}.md`, createActionNodePage(area));
  for (const name of CONFIG_NODES) {
    const help = readFileSync(join(root, 'nodes', 'locales', `${name}.en-US.md`), 'utf8');
    pages.set(`docs/nodes/gateway-${name}.md`, createConfigNodePage(`gateway-${name}`, help));
  }
  const performance = createPerformancePage(root);
  if (performance !== undefined) pages.set('docs/internals/performance.md', performance);
  return pages;
}

/** @param {string} root @param {ReadonlyMap<string, string>} pages @returns {string[]} paths of the pages that are missing or out of date */
export function findStalePages(root, pages) {
  const read = (/** @type {string} */ path) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined);
  return [...pages].filter(([path, text]) => read(path) !== text).map(([path]) => path);
}

/** @param {string} root @param {string} compiled the folder with the compiled library */
export function updateDocs(root, compiled) {
  // A copy of the sources without documentation is built too: see test/package.
  if (!existsSync(join(root, 'docs'))) return;
  const pages = createPages(root, readAreas(compiled));
  for (const path of findStalePages(root, pages)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), pages.get(path) ?? '');
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  if (process.argv.includes('--check')) {
    const stale = findStalePages(root, createPages(root, readAreas(`${root}dist/compiled`)));
    if (stale.length > 0) console.error(`Out of date, run npm run build: ${stale.join(', ')}`);
    process.exit(stale.length > 0 ? 1 : 0);
  }
  updateDocs(root, `${root}dist/compiled`);
}
