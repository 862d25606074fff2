import { isUtf8 } from 'node:buffer';

/** A text with one kind of escape decoded, and the source position of each character. */
interface DecodedText {
  readonly text: string;
  /** Index in the source text where the character at `index` begins. `index` may be the length of the text. */
  toSourceIndex(index: number): number;
}

/** The decoded characters and the length of the escape. */
interface DecodedEscape {
  readonly decoded: string;
  readonly width: number;
}

/** Where an escape is in the decoded text and in the source. */
interface EscapePosition {
  readonly start: number;
  readonly length: number;
  readonly sourceStart: number;
  readonly sourceEnd: number;
}

type EscapeReader = (text: string, at: number) => DecodedEscape | undefined;

/** Decodes the escapes of one kind; undefined when the text has none. */
type EscapeDecoder = (text: string) => DecodedText | undefined;

/** Decoders in their order: addresses, forms, JSON, markup. */
const ESCAPE_DECODERS: readonly EscapeDecoder[] = [
  (text) => (text.includes('%') ? decodeEscapes(text, '%', readPercentEscape) : undefined),
  // The replacement keeps the length, so that positions stay the same.
  (text) => (text.includes('+') ? decodeEscapes(text.replaceAll('+', ' '), '%', readPercentEscape) : undefined),
  (text) => (text.includes('\\') ? decodeEscapes(text, '\\', readJsonEscape) : undefined),
  (text) => (text.includes('&') ? decodeEscapes(text, '&', readMarkupEntity) : undefined),
];

/**
 * Yields the text, then its decoded forms. A secret can be escaped in too many ways (`%2f`, `%2F`, `\/`, `\u002F`, `&#47;`, `&#x2f;`) to
 * search for each of them. Texts escaped twice in any two ways, or three times in the same way, are decoded too, because JSON can hold JSON
 * that holds a message. A generator keeps only a few forms in memory.
 */
export function createDecodedTexts(text: string): Generator<DecodedText> {
  return decodeNestedViews({ text, toSourceIndex: (index) => index }, []);
}

function* decodeNestedViews(view: DecodedText, before: readonly EscapeDecoder[]): Generator<DecodedText> {
  yield view;
  for (const kind of ESCAPE_DECODERS) {
    if (before.length >= 2 && (before.length >= 3 || before.some((one) => one !== kind))) continue;
    const inner = kind(view.text);
    if (!inner || inner.text === view.text) continue;
    yield* decodeNestedViews({ text: inner.text, toSourceIndex: (index) => view.toSourceIndex(inner.toSourceIndex(index)) }, [
      ...before,
      kind,
    ]);
  }
}

/** Notes positions per escape, not per character, because nearly no text has a match whose position is needed. */
function decodeEscapes(text: string, sign: string, read: EscapeReader): DecodedText {
  const escapes: EscapePosition[] = [];
  let decodedText = '';
  let at = 0;
  for (let next = text.indexOf(sign); next >= 0; next = text.indexOf(sign, at)) {
    const escape = read(text, next);
    decodedText += text.slice(at, next);
    at = next + (escape?.width ?? 1);
    if (escape) escapes.push({ start: decodedText.length, length: escape.decoded.length, sourceStart: next, sourceEnd: at });
    decodedText += escape?.decoded ?? sign;
  }
  decodedText += text.slice(at);
  return { text: decodedText, toSourceIndex: (index) => toSourceIndex(escapes, index) };
}

/** Finds the last escape that begins before or at `index`. All characters of an escape begin where it begins. */
function toSourceIndex(escapes: readonly EscapePosition[], index: number): number {
  let low = 0;
  let high = escapes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((escapes[middle] as EscapePosition).start <= index) low = middle + 1;
    else high = middle;
  }
  const escape = escapes[low - 1];
  if (!escape) return index;
  const offset = index - escape.start - escape.length;
  return offset < 0 ? escape.sourceStart : escape.sourceEnd + offset;
}
/** Decodes `%C3%A4`: all bytes of a character, or one byte when they form no character. */
function readPercentEscape(text: string, at: number): DecodedEscape | undefined {
  const first = byteAt(text, at);
  if (first < 0) return undefined;
  const count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  if (count === 1) return { decoded: String.fromCharCode(first), width: 3 };
  const bytes = Buffer.from(Array.from({ length: count }, (_, index) => Math.max(byteAt(text, at + 3 * index), 0)));
  return isUtf8(bytes) ? { decoded: bytes.toString(), width: 3 * count } : { decoded: String.fromCharCode(first), width: 3 };
}

/** Returns the byte of the escape at `at`; negative when there is none. */
function byteAt(text: string, at: number): number {
  return text[at] === '%' ? hexNumberAt(text, at + 1, 2) : -1;
}

/**
 * Reads `digits` hexadecimal digits; negative when one is invalid. It compares character codes, because a text may consist of escapes only.
 */
function hexNumberAt(text: string, at: number, digits: number): number {
  let number = 0;
  for (let index = at; index < at + digits; index++) {
    const code = text.charCodeAt(index);
    const letter = code | 0x20;
    if (code >= 0x30 && code <= 0x39) number = number * 16 + code - 0x30;
    else if (letter >= 0x61 && letter <= 0x66) number = number * 16 + letter - 0x57;
    else return -1;
  }
  return number;
}

const JSON_ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function readJsonEscape(text: string, at: number): DecodedEscape | undefined {
  const letter = text[at + 1];
  if (letter === undefined) return undefined;
  const code = letter === 'u' ? hexNumberAt(text, at + 2, 4) : -1;
  return code < 0 ? { decoded: JSON_ESCAPES[letter] ?? letter, width: 2 } : { decoded: String.fromCharCode(code), width: 6 };
}

const NAMED_ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };
const MAX_ENTITY_LENGTH = 12;

function readMarkupEntity(text: string, at: number): DecodedEscape | undefined {
  const [match, hexadecimal, decimal, name] =
    /^&(?:#[xX]([0-9a-fA-F]{1,6})|#([0-9]{1,7})|([a-z]+));/.exec(text.slice(at, at + MAX_ENTITY_LENGTH)) ?? [];
  if (match === undefined) return undefined;
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  const decoded = name === undefined ? (code <= 0x10ffff ? String.fromCodePoint(code) : undefined) : NAMED_ENTITIES[name];
  return decoded === undefined ? undefined : { decoded, width: match.length };
}
