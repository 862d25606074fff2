import type { JsonObject } from './json';
import type { Query } from './request';
import type { Fields } from './operation';

/** A secret in its original form. */
export type SecretValue = string | Buffer;

const SECRET_WORDS =
  'pass(?:word|phrase|wd|code)?|pwd|authorization|cookie|credential|otp|jwt|keytab|(?:ntlm?|lm)-?hash|secret|psk|token|community(?:-string)?|(?:pre-?shared|shared|private|api|access|secret)-?key';
// Matches `password-cleartext`, `cluster-password`, `sharedSecret`, `api_key` and `password-hash-2`, but not `change-password-at-signin`.
// `auth` and `sessionid` count only as the whole name: `two-factor-auth` is a setting, and `session-id` names a session of a user.
const SECRET_NAME = new RegExp(
  `(?:^|-)(?:${SECRET_WORDS})s?(?:-(?:cleartext|plaintext|encrypted|hash|hashed|text|value))?-?[0-9]{0,3}$|^(?:auth|j?sessionid)$`,
);
/** Maximum length of a name. Of a longer one, only the end is tested. */
const MAX_NAME_LENGTH = 100;
/** Properties that hold the name in a pair of name and value. */
const PAIR_NAMES = ['name', 'key', 'attribute', 'field'];
/** Inside an object under a secret name, a shorter text is more likely a flag or a count. */
const MIN_NESTED_SECRET_LENGTH = 4;

/** Results of `isSecretName`: messages use the same names again and again. */
const knownNames = new Map<string, boolean>();
const MAX_KNOWN_NAMES = 2000;

/** Whether the value under this name is a secret, in any spelling of the name (appliance-api.md, "Resources and their fields"). */
export function isSecretName(name: string): boolean {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  const isSecret = matchesSecretName(name);
  if (name.length <= MAX_NAME_LENGTH) {
    if (knownNames.size >= MAX_KNOWN_NAMES) knownNames.clear();
    knownNames.set(name, isSecret);
  }
  return isSecret;
}

function matchesSecretName(name: string): boolean {
  const dashed = name
    .slice(-MAX_NAME_LENGTH)
    .replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_. ]/g, '-')
    .toLowerCase();
  return SECRET_NAME.test(dashed);
}

/** Whether an object is a pair with a secret name: `{ name: 'shared-secret', value: … }`. */
export function isSecretNameValuePair(pair: JsonObject): boolean {
  for (const key of PAIR_NAMES) {
    const name = pair[key];
    if (typeof name === 'string' && isSecretName(name)) return true;
  }
  return false;
}

/** Returns whether the value of the key is a secret. In a pair of name and value, the name decides. */
export function isSecretKey(key: string, owner: JsonObject): boolean {
  return isSecretName(key) || (key.startsWith('value') && isSecretNameValuePair(owner));
}

/** Replaces a secret by the mask. Values that reveal nothing stay: an empty text, null, undefined or a boolean. */
export function maskSecretValue(secret: unknown, mask: string): unknown {
  return secret === '' || secret === null || secret === undefined || typeof secret === 'boolean' ? secret : mask;
}

/** Yields the texts under secret names anywhere in a body, also in JSON inside a text. The body may be circular. */
export function* findSecrets(body: unknown): Generator<SecretValue> {
  const seen = new Set<unknown>();
  const open: unknown[] = [body];
  while (open.length > 0) {
    const popped = open.pop();
    const next = typeof popped === 'string' ? parseNestedJson(popped) : popped;
    if (typeof next === 'string') open.push(next);
    if (typeof next !== 'object' || next === null || Buffer.isBuffer(next) || seen.has(next)) continue;
    seen.add(next);
    if (Array.isArray(next)) {
      for (const item of next) if (canHoldSecret(item)) open.push(item);
      continue;
    }
    for (const [name, value] of Object.entries(next) as [string, unknown][]) {
      if (isSecretKey(name, next as JsonObject)) yield* listLeafTexts(value);
      else if (canHoldSecret(value)) open.push(value);
    }
  }
}

const canHoldSecret = (value: unknown): boolean => (typeof value === 'string' ? JSON_START.test(value) : typeof value === 'object');

/** Matches the beginning of a JSON object, array or string. */
const JSON_START = /^\s*[{["]/;

/** Parses a text that is a JSON object, array or string; undefined for other texts. */
export function parseNestedJson(text: string): unknown {
  if (!JSON_START.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Masks the values under secret names in a query. */
export function redactQuery<Q extends Query | string>(query: Q, mask: string): Q {
  if (typeof query !== 'string') {
    const redacted = Object.entries(query).map(([name, value]): [string, true | string] => [name, isSecretName(name) ? mask : value]);
    return Object.fromEntries(redacted) as Q;
  }
  const redacted = query.split('&').map((part) => {
    const pair = parsePair(part);
    return pair && isSecretName(decodeUriOrKeep(pair.name)) ? `${pair.name}=${mask}` : part;
  });
  return redacted.join('&') as Q;
}

/** Yields the texts and numbers of a value that is secret as a whole. */
export function* listLeafTexts(value: unknown): Generator<SecretValue> {
  const seen = new Set<unknown>();
  const open: { value: unknown; inner: boolean }[] = [{ value, inner: false }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, inner } = next;
    if (Buffer.isBuffer(value)) yield value;
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') {
      const text = String(value);
      // A flag such as `allow-password` is not a secret; masking it would mask every other `true`.
      if (text !== 'true' && text !== 'false' && (!inner || text.length >= MIN_NESTED_SECRET_LENGTH)) yield text;
    } else if (typeof value === 'object' && value !== null && !seen.has(value)) {
      seen.add(value);
      for (const item of Object.values(value)) open.push({ value: item, inner: inner || !Array.isArray(value) });
    }
  }
}

/** One part of a query or a form, still encoded. */
function parsePair(part: string): { name: string; value: string } | undefined {
  const at = part.indexOf('=');
  return at < 0 ? undefined : { name: part.slice(0, at), value: part.slice(at + 1) };
}

function decodeUriOrKeep(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Yields the secrets of a query or body that may be text: JSON or the pairs of a form. */
function* findContentSecrets(content: unknown): Generator<SecretValue> {
  const text = Buffer.isBuffer(content) ? content.toString('utf8') : content;
  yield* findSecrets(text);
  if (typeof text === 'string') for (const part of text.replace(/^\?/, '').split(/[&\r\n]/)) yield* findPairSecrets(part);
}

function* findPairSecrets(part: string): Generator<SecretValue> {
  const pair = parsePair(part);
  if (!pair || !isSecretName(decodeUriOrKeep(pair.name))) return;
  const { value } = pair;
  // A form encodes a space as a plus; a line of settings may have spaces around the sign.
  yield* new Set([value, value.trim(), decodeUriOrKeep(value), decodeUriOrKeep(value.replaceAll('+', ' '))]);
}

/** Whether `findInputSecrets` can yield anything. Most inputs contain no secret, and this test allocates no memory. */
export function canContainInputSecrets(fields: Fields | undefined, input: Readonly<Record<string, unknown>>): boolean {
  try {
    for (const name in fields) {
      const field = fields[name];
      const value = input[name];
      if (value !== undefined && (field?.secret || field?.kind === 'content' || canHoldSecret(value))) return true;
    }
    return false;
  } catch {
    // The input cannot be read.
    return true;
  }
}

/** Yields the secrets of one run's input: the values of secret fields, and values under secret names in other fields. */
export function* findInputSecrets(fields: Fields | undefined, input: Readonly<Record<string, unknown>>): Generator<SecretValue> {
  for (const name in fields) {
    const value = input[name];
    if (fields[name]?.secret) yield* listLeafTexts(value);
    else if (fields[name]?.kind === 'content') yield* findContentSecrets(value);
    else if (canHoldSecret(value)) yield* findSecrets(value);
  }
}
