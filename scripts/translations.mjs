// @ts-check
// node scripts/translations.mjs [language]: lists missing and unused texts of the dictionaries as JSON, for both packages. Build first.
// To add a language, create dictionaries that hold `{}`.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { readTranslations } from './editor/translate.mjs';
import { root } from './tools.mjs';

const wanted = process.argv[2];
for (const [folder, texts, pages] of [
  [root, 'locales/en-US/gateway.json', 'help/en-US.html'],
  [join(root, 'fleet'), 'locales/en-US/fleet.json', 'locales/en-US/fleet.html'],
]) {
  const built = (/** @type {string} */ file = '') => join(folder ?? '', 'dist', 'nodes', file);
  if (!existsSync(built(texts))) continue;
  for (const [language, translation] of readTranslations(folder ?? '')) {
    if (wanted !== undefined && wanted !== language) continue;
    translation.catalog(JSON.parse(readFileSync(built(texts), 'utf8')));
    translation.help(readFileSync(built(pages), 'utf8'));
    const { missing, unused } = translation;
    console.log(JSON.stringify({ catalog: texts, language, missing: [...missing], unused }, null, 1));
  }
}
