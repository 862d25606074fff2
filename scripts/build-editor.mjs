// @ts-check
// The editor half: gateway.html, its locale and help, and the icons, all from the operation table that tsc has compiled.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, transform } from 'esbuild';
import { buildHelp, buildStubs } from './editor/help.mjs';
import { buildHtml } from './editor/html.mjs';
import { buildTable } from './editor/table.mjs';
import { Translation } from './editor/translate.mjs';

/** What the rules of the library use of Node.js, as it is in a browser. @type {import('esbuild').Plugin} */
const inBrowser = {
  name: 'in-browser',
  setup: ({ onResolve, initialOptions }) => {
    onResolve({ filter: /^node:net$/ }, () => ({ path: `${initialOptions.absWorkingDir}/nodes/editor/node-net-shim.ts` }));
  },
};

/** @param {string} root @param {string} file */
async function styleOf(root, file) {
  const style = readFileSync(`${root}/nodes/editor/${file}`, 'utf8');
  return (await transform(style, { loader: 'css', minifyWhitespace: true })).code;
}

/**
 * One readable script that defines a global: what Node-RED's users see in their browser is what stands here.
 * @param {string} root @param {string} entry @param {string} globalName @param {Record<string, string>} [define] what stands for a name in it
 */
export async function bundle(root, entry, globalName, define = {}) {
  const result = await build({
    absWorkingDir: root.replace(/\/$/, ''),
    entryPoints: [`${root}/nodes/editor/${entry}`],
    plugins: [inBrowser],
    tsconfig: `${root}/nodes/editor/tsconfig.json`,
    bundle: true,
    // Every page of the editor has it: names stay as they are, white space does not.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 160,
    write: false,
    format: 'iife',
    globalName,
    define,
    target: 'es2020',
    charset: 'utf8',
    legalComments: 'none',
  });
  const [file] = result.outputFiles;
  if (!file) throw new Error('esbuild gave no file.');
  return file.text;
}

/**
 * The areas of the compiled library in `compiled`.
 * @param {string} compiled
 * @returns {readonly import('../src/model/operation.js').Area[]}
 */
export function readAreas(compiled) {
  return createRequire(import.meta.url)(`${compiled}/src/areas/index.js`).areas;
}

/** The other languages of a package, by name. @param {string} root @returns {[string, Translation][]} */
export function translationsOf(root) {
  const folder = `${root}/nodes/locales`;
  const names = readdirSync(folder).flatMap((file) => (/^(?!en-US)[\w-]+(?=\.json$)/.exec(file)?.[0] ? [file.slice(0, -5)] : []));
  return names.map((name) => [name, new Translation(name, JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8')))]);
}

/**
 * The words of a package, from the English ones.
 * @param {string} root @param {import('./editor/table.mjs').Texts} catalogue @param {string} help
 * @returns {[language: string, catalogue: import('./editor/table.mjs').Texts, help: string][]}
 */
export function inEveryLanguage(root, catalogue, help) {
  const others = translationsOf(root).map(([language, translation]) => [
    language,
    translation.catalogue(catalogue),
    translation.help(help),
  ]);
  return [['en-US', catalogue, help], .../** @type {ReturnType<typeof inEveryLanguage>} */ (others)];
}

/**
 * Of the help every page of the editor has no more than its beginning; the rest comes at the first look into it.
 * @param {string} out @param {string} language @param {import('./editor/table.mjs').Texts} catalogue @param {string} help
 */
function writeLocale(out, language, catalogue, help) {
  const folder = `${out}/locales/${language}`;
  mkdirSync(folder, { recursive: true });
  mkdirSync(`${out}/help`, { recursive: true });
  writeFileSync(`${folder}/gateway.json`, `${JSON.stringify(catalogue, null, 2)}\n`);
  writeFileSync(`${folder}/gateway.html`, buildStubs(help));
  writeFileSync(`${out}/help/${language}.html`, help);
}

/** @param {string} compiled @returns {readonly string[]} */
function sessionFields(compiled) {
  return createRequire(import.meta.url)(`${compiled}/src/areas/sessions/session-filter.js`).SESSION_FILTER_FIELDS;
}

/** Writes the editor half for the library compiled in `compiled` to the directory `out`. @param {{ root: string, compiled: string, out: string }} places */
export async function buildEditor({ root, compiled, out }) {
  const areas = readAreas(compiled);
  const { table, texts } = buildTable(areas);
  const catalogue = { ...JSON.parse(readFileSync(`${root}/nodes/locales/en-US.json`, 'utf8')), ...texts };
  const text = (/** @type {string} */ name) => readFileSync(`${root}/nodes/locales/${name}.en-US.md`, 'utf8');
  const form = (/** @type {string} */ name) => readFileSync(`${root}/nodes/editor/${name}.html`, 'utf8');
  writeFileSync(
    `${out}/gateway.html`,
    buildHtml({
      areas,
      table,
      script: await bundle(root, 'index.ts', 'gatewayEditor'),
      style: await styleOf(root, 'gateway.css'),
      action: form('action'),
      appliance: form('appliance'),
      inventory: form('inventory'),
      watch: form('watch'),
    }),
  );
  const pages = Object.fromEntries(['appliance', 'inventory', 'watch'].map((name) => [`gateway-${name}`, text(name)]));
  for (const words of inEveryLanguage(root, catalogue, buildHelp(areas, pages, sessionFields(compiled)))) writeLocale(out, ...words);
  writeFileSync(
    `${out}/panels.js`,
    await bundle(root, 'panels/index.ts', 'gatewayPanels', { PANEL_STYLE: JSON.stringify(await styleOf(root, 'panels/panels.css')) }),
  );
  cpSync(`${root}/icons`, `${out}/icons`, { recursive: true });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const [compiled = `${root}dist`, out = `${compiled}/nodes`] = process.argv.slice(2);
  await buildEditor({ root, compiled, out });
}
