// @ts-check
// node scripts/translations.mjs [language]: what its dictionaries lack and have too much, as JSON; of all languages without one. A new
// language begins with files that hold `{}`. After a build, of both packages.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { translationsOf } from './build-editor.mjs';
import { root } from './tools.mjs';

const wanted = process.argv[2];
for (const [place, texts, pages] of [
  [root, 'locales/en-US/gateway.json', 'help/en-US.html'],
  [join(root, 'fleet'), 'locales/en-US/fleet.json', 'locales/en-US/fleet.html'],
]) {
  const built = (/** @type {string} */ file = '') => join(place ?? '', 'dist', 'nodes', file);
  if (!existsSync(built(texts))) continue;
  for (const [language, translation] of translationsOf(place ?? '')) {
    if (wanted !== undefined && wanted !== language) continue;
    translation.catalogue(JSON.parse(readFileSync(built(texts), 'utf8')));
    translation.help(readFileSync(built(pages), 'utf8'));
    const { missing, unused } = translation;
    console.log(JSON.stringify({ catalogue: texts, language, missing: [...missing], unused }, null, 1));
  }
}
