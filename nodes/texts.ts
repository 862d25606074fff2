import type { NodeAPI } from 'node-red';

export type Values = Readonly<Record<string, number | string>>;

/** A text of the catalogue in the runtime's language; `english` where that has none: Node-RED gives back the key then. */
export function textOf(red: NodeAPI, key: string, english: string, values: Values = {}): string {
  const found: unknown = red._(key, values);
  if (typeof found === 'string' && found !== '' && !found.endsWith(key)) return found;
  return english.replace(/__([\w-]+?)__/g, (_, name: string) => String(values[name] ?? ''));
}
