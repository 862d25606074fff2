import { inspect } from 'node:util';
import { GatewayError } from '../../src/model/error';
import { httpResponse, type RawAnswer, type RawRequest } from './raw-server';

/** Characters that every encoding does something else to, and that nobody's words have. */
const ODD = ['⌘', '"', '\\', '/', '𝄞', '+', '&', 'ﬆ', '<', '%', 'ꙮ', '\n', "'", ' ', 'ჱ', '='];

/** A secret of so many characters (of UTF-16); the first is one that stands nowhere else. */
export function generateSecret(length: number, seed = 1): string {
  const parts = ['⌘'];
  let had = 1;
  let state = seed;
  while (had < length) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const left = length - had;
    const next = left === 1 ? 'ꙮ' : (ODD[Math.floor(state / 65_536) % ODD.length] ?? '⌘');
    parts.push(next);
    had += next.length;
  }
  return parts.join('');
}

/** Base64 of something longer that has the secret in it, wherever in a group of three bytes it begins. */
function withinBase64(secret: string): string[] {
  return ['u:', 'us:', 'user:'].map((before) => Buffer.from(`${before}${secret}:x`).toString('base64'));
}

/** What of those tells the secret: the characters at both ends are shared with its neighbours. */
function insideBase64(secret: string): string[] {
  const { length } = Buffer.from(secret);
  return withinBase64(secret).map((text, index) => {
    const before = [2, 3, 5][index] ?? 0;
    return text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + length) * 4) / 3));
  });
}

/** The ways in which a secret could come out, written down apart from the library's own list. */
export function listEncodedForms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const address = encodeURIComponent(secret);
  return [
    secret,
    json,
    ascii,
    address,
    address.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    address.replaceAll('%20', '+'),
    bytes.toString('base64'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    encodeURIComponent(bytes.toString('base64')),
    secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
  ].filter((form) => form.length > 0);
}

/** What is looked for in what came out: a short secret leaves too little in base64 of something longer to be told from other text. */
function soughtOf(secret: string): string[] {
  return [...listEncodedForms(secret), ...(Buffer.from(secret).length >= 12 ? insideBase64(secret) : [])];
}

/** What of a secret is looked for: of a long one its beginning, its middle and its end. */
function partsOf(secret: string): string[] {
  if (secret.length <= 200) return [secret];
  const middle = Math.floor(secret.length / 2);
  return [secret.slice(0, 64), secret.slice(middle, middle + 64), secret.slice(-64)].map((part) =>
    part.toWellFormed().replaceAll('\ufffd', ''),
  );
}

/** Everything of a value that could reach a log, a message, a Catch node or a dashboard. */
export function toEmittedText(value: unknown): string {
  const seen = inspect(value, { depth: 30, maxStringLength: null, maxArrayLength: null, showHidden: false, breakLength: Infinity });
  const parts = [seen, JSON.stringify(value) ?? ''];
  if (value instanceof GatewayError) parts.push(value.message, String(value), value.stack ?? '', JSON.stringify(value.cause));
  return parts.join('\n');
}

/** The first form of the first secret that is found in a text, told so that it can be read. */
export function findSecret(text: string, secrets: Readonly<Record<string, string>>): string | undefined {
  // As people and parsers unescape what they see.
  const views = [text, text.replaceAll('\\\\', '\\').replaceAll('\\"', '"').replaceAll("\\'", "'").replaceAll('\\n', '\n')];
  for (const [name, secret] of Object.entries(secrets)) {
    for (const part of partsOf(secret)) {
      const sought = soughtOf(part);
      const form = sought.findIndex((candidate) => views.some((view) => view.includes(candidate)));
      if (form >= 0) {
        const at = Math.max(...views.map((view) => view.indexOf(sought[form] ?? '')));
        return `${name} (form ${form}) in: …${text.slice(Math.max(0, at - 150), at + 80)}…`;
      }
    }
  }
  return undefined;
}

const authorizationOf = ({ head }: RawRequest): string => /^authorization: (.*)$/im.exec(head)?.[1] ?? '';

/** How an appliance that repeats everything that it was ever told does so. A read that succeeds is left alone: it is what was asked for. */
export const LEAKY_ANSWERS: Readonly<Record<string, (words: string, asked: RawRequest) => string | Buffer | undefined>> = {
  'in the messages of a success': (words, { method }) =>
    httpResponse(200, method === 'GET' ? '{}' : JSON.stringify({ result: { info: [{ message: words }], warnings: [{ message: words }] } })),
  'in the errors of a success': (words) => httpResponse(200, JSON.stringify({ result: { errors: [{ message: words }] } })),
  'in a refusal': (words) => httpResponse(422, JSON.stringify({ result: { errors: [{ message: words }] } })),
  'in a 403': (words) => httpResponse(403, JSON.stringify({ result: { errors: [{ message: words }] } })),
  'in a fault': (words) => httpResponse(500, JSON.stringify({ result: { errors: [{ message: words }] } })),
  'in a page': (words) =>
    httpResponse(404, `<html>${words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</html>`, { 'content-type': 'text/html' }),
  'in half of JSON': (words) => httpResponse(200, `{"result":{"errors":[{"message":${JSON.stringify(words)}`),
  'in a redirect': (words) =>
    httpResponse(302, words, { location: `https://elsewhere.example/${encodeURIComponent(words.slice(0, 2000))}` }),
};

/** Answers so to everything but the login, which gives that key. Those that were `told` are repeated to who has just told them. */
export function createLeakyAnswer(
  how: string,
  key: string,
  secrets: readonly string[],
  repeatedOnDemand: readonly string[] = [],
): RawAnswer {
  const loud = (some: readonly string[]): string => some.flatMap((one) => [...listEncodedForms(one), ...withinBase64(one)]).join(' | ');
  const always = loud(secrets);
  return (asked, socket) => {
    if (asked.path.endsWith('realm_auth')) return httpResponse(200, JSON.stringify({ api_key: key }));
    const now = repeatedOnDemand.filter(
      (secret) => asked.body.includes(JSON.stringify(secret).slice(1, -1)) || asked.body.includes(secret),
    );
    const words = `${always} ${loud(now)} ${asked.head} ${authorizationOf(asked)} ${Buffer.from(authorizationOf(asked).slice(6), 'base64').toString()} ${asked.body}`;
    const answer = LEAKY_ANSWERS[how]?.(words, asked);
    if (answer === undefined) socket.destroy();
    return answer;
  };
}
