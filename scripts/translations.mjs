// @ts-check
// node scripts/translations.mjs [language]: what its dictionary lacks and has too much, as JSON; of all languages without one. A new
// language begins with a file that holds `{}`. After a build.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { translationsOf } from './build-editor.mjs';
import { root } from './tools.mjs';

const built = (/** @type {string} */ file) => readFileSync(`${root}/dist/nodes/${file}`, 'utf8');
const wanted = process.argv[2];
for (const [language, translation] of translationsOf(root)) {
  if (wanted !== undefined && wanted !== language) continue;
  translation.catalogue(JSON.parse(built('locales/en-US/gateway.json')));
  translation.help(built('help/en-US.html'));
  console.log(JSON.stringify({ language, missing: [...translation.missing], unused: translation.unused }, null, 1));
}
