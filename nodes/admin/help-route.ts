import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { locateBuiltFile } from '../../src/files/package-folder';
import type { AdminRoute } from './admin-route';

const DEFAULT_LANGUAGE = 'en-US';

const textsByLanguage = new Map<string, string>();
let availableLanguages: Set<string> | undefined;

/**
 * Serves the complete help on first use, because it is too large for every page of the editor. It contains nothing about this Node-RED.
 */
export const helpRoute: AdminRoute = {
  method: 'get',
  path: '/gateway-appliance/help',
  permission: 'nodes.read',
  handle: (_red, { query: { lang } }, response) => {
    response
      .type('text/plain')
      .set('Cache-Control', 'no-cache')
      .send(readHelp(typeof lang === 'string' ? lang : DEFAULT_LANGUAGE));
  },
};

function readHelp(requestedLanguage: string): string {
  const folder = locateBuiltFile('nodes', 'help');
  const languages = (availableLanguages ??= new Set(readdirSync(folder).map((file) => file.replace('.html', ''))));
  const language = [requestedLanguage, requestedLanguage.split('-')[0] ?? ''].find((name) => languages.has(name)) ?? DEFAULT_LANGUAGE;
  const text = textsByLanguage.get(language) ?? readFileSync(join(folder, `${language}.html`), 'utf8');
  textsByLanguage.set(language, text);
  return text;
}
