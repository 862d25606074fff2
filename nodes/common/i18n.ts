import type { NodeAPI } from 'node-red';
import type { Translate } from '../../src/model/summary';

export type TextValues = Readonly<Record<string, number | string>>;

/** Begins and ends a place for a value: no text has it. */
const PLACEHOLDER_MARK = '\u0001';

/** Texts of a runtime with their places, by key: at odd indices the names of values. Its language never changes. */
const cachedTexts = new WeakMap<NodeAPI, Map<string, readonly string[]>>();

/**
 * A text of the catalogue in the runtime's language; `english` where that has none. Each is looked up once: Node-RED's own way takes
 * twenty microseconds, as long as all else that is done for a small request.
 */
export function translateText(red: NodeAPI, key: string, english: string, values: TextValues = {}): string {
  const texts = cachedTexts.get(red) ?? new Map<string, readonly string[]>();
  if (texts.size === 0) cachedTexts.set(red, texts);
  let parts = texts.get(key);
  if (!parts) texts.set(key, (parts = parseTextParts(red, key, english)));
  if (parts.length === 1) return parts[0] as string;
  return parts.map((part, index) => (index % 2 === 0 ? part : String(values[part] ?? ''))).join('');
}

function parseTextParts(red: NodeAPI, key: string, english: string): string[] {
  const names = [...english.matchAll(/__([\w-]+?)__/g)].map(([, name = '']) => name);
  const found: unknown = red._(key, Object.fromEntries(names.map((name) => [name, `${PLACEHOLDER_MARK}${name}${PLACEHOLDER_MARK}`])));
  // Node-RED gives back the key where it has nothing, without the catalogue's name.
  const isFound = typeof found === 'string' && found !== '' && !found.endsWith(key.slice(key.indexOf(':') + 1));
  return isFound ? found.split(PLACEHOLDER_MARK) : english.split(/__([\w-]+?)__/);
}

/** The same of texts by key, where that of one thing may have words of its own: `sessions-one` for `sessions`, when `n` is 1. */
export function translateCount<T extends Readonly<Record<string, string>>>(
  red: NodeAPI,
  keyPrefix: string,
  texts: T,
  key: keyof T & string,
  values: TextValues = {},
): string {
  const singular = String(values['n']) === '1' ? texts[`${key}-one`] : undefined;
  return singular === undefined
    ? translateText(red, `${keyPrefix}.${key}`, texts[key] ?? '', values)
    : translateText(red, `${keyPrefix}.${key}-one`, singular, values);
}

/** The same for the sentences that the library makes. */
export function translatorFor(red: NodeAPI): Translate {
  return (key, english, values) => translateText(red, key, english, values);
}

/** The catalogue of this package, by the name that Node-RED has for it. */
const CATALOG_PREFIX = '@gateway-admin/node-red/gateway:';

/** As `sayIn`, for the nodes of another package: Node-RED looks into a package's own catalogue unless a key says otherwise. */
export function translatorForPackage(red: NodeAPI): Translate {
  return (key, english, values) => translateText(red, `${CATALOG_PREFIX}${key}`, english, values);
}
