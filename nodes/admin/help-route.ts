import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeAPI } from 'node-red';
import { locateBuiltFile } from '../../src/files/package-folder';

const DEFAULT_LANGUAGE = 'en-US';

/**
 * Serves the complete help on first use, because it is too large for every page of the editor. It contains nothing about this Node-RED.
 */
export function registerHelpRoute(red: NodeAPI): void {
  let folder = '';
  let languages: Set<string> | undefined;
  const texts = new Map<string, string>();
  red.httpAdmin.get('/gateway-appliance/help', red.auth.needsPermission('nodes.read'), (request, response) => {
    const { lang } = request.query;
    // Read on first use, so that the start does not read a folder.
    folder ||= locateBuiltFile('nodes', 'help');
    languages ??= new Set(readdirSync(folder).map((file) => file.replace('.html', '')));
    const availableLanguages = languages;
    const requestedLanguage = typeof lang === 'string' ? lang : DEFAULT_LANGUAGE;
    const language =
      [requestedLanguage, requestedLanguage.split('-')[0] ?? ''].find((name) => availableLanguages.has(name)) ?? DEFAULT_LANGUAGE;
    const text = texts.get(language) ?? readFileSync(join(folder, `${language}.html`), 'utf8');
    texts.set(language, text);
    response.type('text/plain').set('Cache-Control', 'no-cache').send(text);
  });
}
