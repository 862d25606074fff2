import type { NodeAPI } from 'node-red';
import type { Say } from '../src/model/summary';

export type Values = Readonly<Record<string, number | string>>;

/** Begins and ends a place for a value: no text has it. */
const EDGE = '\u0001';

/** Texts of a runtime with their places, by key: at odd indices the names of values. Its language never changes. */
const known = new WeakMap<NodeAPI, Map<string, readonly string[]>>();

/**
 * A text of the catalogue in the runtime's language; `english` where that has none. Each is looked up once: Node-RED's own way takes
 * twenty microseconds, as long as all else that is done for a small request.
 */
export function textOf(red: NodeAPI, key: string, english: string, values: Values = {}): string {
  const texts = known.get(red) ?? new Map<string, readonly string[]>();
  if (texts.size === 0) known.set(red, texts);
  let parts = texts.get(key);
  if (!parts) texts.set(key, (parts = partsOf(red, key, english)));
  if (parts.length === 1) return parts[0] as string;
  return parts.map((part, index) => (index % 2 === 0 ? part : String(values[part] ?? ''))).join('');
}

function partsOf(red: NodeAPI, key: string, english: string): string[] {
  const names = [...english.matchAll(/__([\w-]+?)__/g)].map(([, name = '']) => name);
  const found: unknown = red._(key, Object.fromEntries(names.map((name) => [name, `${EDGE}${name}${EDGE}`])));
  // Node-RED gives back the key where it has nothing, without the catalogue's name.
  const has = typeof found === 'string' && found !== '' && !found.endsWith(key.slice(key.indexOf(':') + 1));
  return has ? found.split(EDGE) : english.split(/__([\w-]+?)__/);
}

/** The same of texts by key, where that of one thing may have words of its own: `sessions-one` for `sessions`, when `n` is 1. */
export function countedText<T extends Readonly<Record<string, string>>>(
  red: NodeAPI,
  place: string,
  texts: T,
  key: keyof T & string,
  values: Values = {},
): string {
  const one = String(values['n']) === '1' ? texts[`${key}-one`] : undefined;
  return one === undefined ? textOf(red, `${place}.${key}`, texts[key] ?? '', values) : textOf(red, `${place}.${key}-one`, one, values);
}

/** The same for the sentences that the library makes. */
export function sayIn(red: NodeAPI): Say {
  return (key, english, values) => textOf(red, key, english, values);
}

/** The catalogue of this package, by the name that Node-RED has for it. */
const OWN = '@gateway-admin/node-red/gateway:';

/** As `sayIn`, for the nodes of another package: Node-RED looks into a package's own catalogue unless a key says otherwise. */
export function sayForOthers(red: NodeAPI): Say {
  return (key, english, values) => textOf(red, `${OWN}${key}`, english, values);
}
