import { isObject, type JsonObject } from './json';
import type { Query } from './request';
import type { Fields } from './operation';

/** A secret as it was given. */
export type SecretValue = string | Buffer;

const WORDS =
  'pass(?:word|phrase|wd|code)|pwd|secret|psk|token|community(?:-string)?|(?:pre-?shared|shared|private|api|access|secret)-?key';
// `password-cleartext`, `cluster-password`, `sharedSecret`, `api_key`, `password-hash-2`; not `change-password-at-signin`.
const SECRET_NAME = new RegExp(`(?:^|-)(?:${WORDS})s?(?:-(?:cleartext|plaintext|encrypted|hash|hashed|text|value))?-?[0-9]{0,3}$`);
/** Names are short; of one that is not, its end tells. */
const LONGEST_NAME = 100;
/** What says of a pair of name and value which one it is. */
const PAIR_NAMES = ['name', 'key', 'attribute', 'field'];
/** In an object below a secret's name, what is shorter is a switch or a count rather than a secret. */
const SHORT = 4;

/** Whether what stands under this name is a secret, however the name is written (appliance-api.md, "Resources and their fields"). */
export function isSecretName(name: string): boolean {
  const dashed = name
    .slice(-LONGEST_NAME)
    .replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_. ]/g, '-')
    .toLowerCase();
  return SECRET_NAME.test(dashed);
}

/** Whether an object is a pair that names a secret: `{ name: 'shared-secret', value: … }`. */
export function namesSecret(pair: JsonObject): boolean {
  return PAIR_NAMES.some((key) => typeof pair[key] === 'string' && isSecretName(pair[key]));
}

/** The texts that stand under a secret's name somewhere in a body, also in JSON that is a text there. It may hold itself. */
export function* secretsIn(body: unknown): Generator<SecretValue> {
  const seen = new Set<unknown>();
  const open: unknown[] = [body];
  while (open.length > 0) {
    const found = open.pop();
    const next = typeof found === 'string' ? jsonIn(found) : found;
    if (typeof next === 'string') open.push(next);
    if (typeof next !== 'object' || next === null || Buffer.isBuffer(next) || seen.has(next)) continue;
    seen.add(next);
    if (Array.isArray(next)) {
      for (const item of next) if (mayHold(item)) open.push(item);
      continue;
    }
    const named = isObject(next) && namesSecret(next);
    for (const [name, value] of Object.entries(next) as [string, unknown][]) {
      if (isSecretName(name) || (named && name.startsWith('value'))) yield* leavesOf(value);
      else if (mayHold(value)) open.push(value);
    }
  }
}

const mayHold = (value: unknown): boolean => typeof value === 'object' || typeof value === 'string';

/** What an object, a list or a text that is written down as JSON stands for; undefined for every other text. */
export function jsonIn(text: string): unknown {
  if (!/^\s*[{["]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A query as it may be shown: what stands under a secret's name in it is masked. */
export function shownQuery<Q extends Query | string>(query: Q, mask: string): Q {
  if (typeof query !== 'string') {
    const shown = Object.entries(query).map(([name, value]): [string, true | string] => [name, isSecretName(name) ? mask : value]);
    return Object.fromEntries(shown) as Q;
  }
  const shown = query.split('&').map((part) => {
    const pair = pairOf(part);
    return pair && isSecretName(unescaped(pair.name)) ? `${pair.name}=${mask}` : part;
  });
  return shown.join('&') as Q;
}

/** The texts of a value that is secret as a whole, numbers among them. */
export function* leavesOf(value: unknown): Generator<SecretValue> {
  const seen = new Set<unknown>();
  const open: { value: unknown; inner: boolean }[] = [{ value, inner: false }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, inner } = next;
    if (Buffer.isBuffer(value)) yield value;
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') {
      const text = String(value);
      // A switch such as `allow-password` is none, and every other one would be masked with it.
      if (text !== 'true' && text !== 'false' && (!inner || text.length >= SHORT)) yield text;
    } else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value);
      for (const item of Object.values(value)) open.push({ value: item, inner: inner || !Array.isArray(value) });
    }
  }
}

/** One part of a query or a form, as it is written. */
function pairOf(part: string): { name: string; value: string } | undefined {
  const at = part.indexOf('=');
  return at < 0 ? undefined : { name: part.slice(0, at), value: part.slice(at + 1) };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The secrets of a query or a body that may be text as well: JSON, or the pairs of a form. */
function* secretsOfContent(content: unknown): Generator<SecretValue> {
  const text = Buffer.isBuffer(content) ? content.toString('utf8') : content;
  yield* secretsIn(text);
  if (typeof text === 'string') for (const part of text.replace(/^\?/, '').split(/[&\r\n]/)) yield* secretsOfPair(part);
}

function* secretsOfPair(part: string): Generator<SecretValue> {
  const pair = pairOf(part);
  if (!pair || !isSecretName(unescaped(pair.name))) return;
  const { value } = pair;
  // A form writes a space as a plus; a line of settings has some around its sign.
  yield* new Set([value, value.trim(), unescaped(value), unescaped(value.replaceAll('+', ' '))]);
}

/** The secrets of one call's input: what its secret fields hold, and what stands under a secret's name anywhere else. */
export function* secretsOfInput(fields: Fields | undefined, input: Readonly<Record<string, unknown>>): Generator<SecretValue> {
  for (const name in fields) {
    const value = input[name];
    if (fields[name]?.secret) yield* leavesOf(value);
    else if (fields[name]?.kind === 'content') yield* secretsOfContent(value);
    else if (mayHold(value)) yield* secretsIn(value);
  }
}
