// @ts-check
// Builds the editor files of the main package (gateway.html, panels.js, sidebar.js, catalogs, help, icons) from the compiled operation table.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle, readStyle } from './editor/bundle.mjs';
import { buildHelp, buildStubs } from './editor/help.mjs';
import { buildHtml } from './editor/html.mjs';
import { buildTable } from './editor/table.mjs';
import { mergeTexts, readOwnTexts, translateAll } from './editor/translate.mjs';

/**
 * Loads the areas of the compiled library.
 * @param {string} compiled
 * @returns {readonly import('../src/model/operation.js').Area[]}
 */
export function readAreas(compiled) {
  return createRequire(import.meta.url)(`${compiled}/src/areas/index.js`).areas;
}

/**
 * Writes one language. The page has only the first paragraph of each help text; the editor loads the rest on first use.
 * @param {string} out @param {string} language @param {import('./editor/table.mjs').Texts} catalog @param {string} help
 */
function writeLocale(out, language, catalog, help) {
  const folder = `${out}/locales/${language}`;
  mkdirSync(folder, { recursive: true });
  mkdirSync(`${out}/help`, { recursive: true });
  writeFileSync(`${folder}/gateway.json`, `${JSON.stringify(catalog, null, 2)}\n`);
  writeFileSync(`${folder}/gateway.html`, buildStubs(help));
  writeFileSync(`${out}/help/${language}.html`, help);
}

/** @param {string} compiled @returns {readonly string[]} */
function readSessionFields(compiled) {
  return createRequire(import.meta.url)(`${compiled}/src/areas/sessions/session-filter.js`).SESSION_FILTER_FIELDS;
}

/** @param {string} compiled @returns {import('./editor/table.mjs').Texts} */
function readRuntimeTexts(compiled) {
  return createRequire(import.meta.url)(`${compiled}/nodes/common/runtime-texts.js`).RUNTIME_TEXTS;
}

/** Writes the editor files for the library compiled in `compiled` to the folder `out`. @param {{ root: string, compiled: string, out: string }} folders */
export async function buildEditor({ root, compiled, out }) {
  const areas = readAreas(compiled);
  const { table, texts } = buildTable(areas);
  const catalog = { ...mergeTexts(readOwnTexts(root), readRuntimeTexts(compiled)), ...texts };
  writeFileSync(
    `${out}/gateway.html`,
    buildHtml({
      areas,
      table,
      script: await bundle(root, 'index.ts', 'gatewayEditor'),
      style: await readStyle(root, 'gateway.css'),
      actionForm: readFileSync(`${root}/nodes/editor/action.html`, 'utf8'),
    }),
  );
  const pages = Object.fromEntries(
    ['appliance', 'inventory', 'watch'].map((name) => [`gateway-${name}`, readFileSync(`${root}/nodes/locales/${name}.en-US.md`, 'utf8')]),
  );
  const help = buildHelp(areas, pages, readSessionFields(compiled));
  for (const locale of translateAll(root, catalog, help)) writeLocale(out, ...locale);
  const sidebarStyle = JSON.stringify(await readStyle(root, 'sidebar/sidebar.css'));
  writeFileSync(`${out}/sidebar.js`, await bundle(root, 'sidebar/index.ts', 'gatewaySidebar', { SIDEBAR_STYLE: sidebarStyle }));
  const style = JSON.stringify(await readStyle(root, 'panels/panels.css'));
  writeFileSync(`${out}/panels.js`, await bundle(root, 'panels/index.ts', 'gatewayPanels', { PANEL_STYLE: style }));
  cpSync(`${root}/icons`, `${out}/icons`, { recursive: true });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const [compiled = `${root}dist/compiled`, out = `${root}dist/nodes`] = process.argv.slice(2);
  await buildEditor({ root, compiled, out });
}
