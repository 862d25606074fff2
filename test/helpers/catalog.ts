import { readOwnTexts } from '../../scripts/editor/translate.mjs';
import { root } from '../../scripts/tools.mjs';

type Lookup = (key: string, values?: Record<string, unknown>) => string;

/** Looks up English texts of the dialogs as Node-RED does: it returns the key of a text that does not exist. */
export function getLookup(): Lookup {
  const texts = readOwnTexts(root);
  return (key, values = {}) => {
    const found = key.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], texts);
    return typeof found === 'string' ? found.replace(/__([\w-]+?)__/g, (_match, name: string) => toText(values[name])) : key;
  };
}

const toText = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');
