import { isUtf8 } from 'node:buffer';

/** A text as somebody reads it who knows its escapes, with the place of each character in the text itself. */
export interface View {
  readonly text: string;
  /** Where the character at this index begins there; one more than there are characters. */
  placeOf(index: number): number;
}

/** What an escape stands for, and how many characters it takes. */
interface Escape {
  readonly means: string;
  readonly width: number;
}

type Reader = (text: string, at: number) => Escape | undefined;

/** Takes the escapes of one kind out of a text; undefined where there are none. */
type Unescape = (text: string) => View | undefined;

/** Of JSON, of markup, of addresses and of forms. */
const KINDS: readonly Unescape[] = [
  (text) => (text.includes('%') ? unescaped(text, '%', ofAddress) : undefined),
  // As long as before, so that places stay what they are.
  (text) => (text.includes('+') ? unescaped(text.replaceAll('+', ' '), '%', ofAddress) : undefined),
  (text) => (text.includes('\\') ? unescaped(text, '\\', ofJson) : undefined),
  (text) => (text.includes('&') ? unescaped(text, '&', ofMarkup) : undefined),
];

/**
 * The text itself, and the same without the escapes of each kind that it has: a secret can be escaped in so many ways (`%2f`, `%2F`,
 * `\/`, `\u002F`, `&#47;`, `&#x2f;`) that a list of all of them is no way to find it. Also what was escaped twice, in any two ways, and
 * three times in the same: JSON stands in JSON that stands in a message. One after the other, so that no more than some are in memory.
 */
export function viewsOf(text: string): Generator<View> {
  return viewsWithin({ text, placeOf: (index) => index }, []);
}

function* viewsWithin(view: View, before: readonly Unescape[]): Generator<View> {
  yield view;
  for (const kind of KINDS) {
    if (before.length >= 2 && (before.length >= 3 || before.some((one) => one !== kind))) continue;
    const inner = kind(view.text);
    if (!inner || inner.text === view.text) continue;
    yield* viewsWithin({ text: inner.text, placeOf: (index) => view.placeOf(inner.placeOf(index)) }, [...before, kind]);
  }
}

function unescaped(text: string, sign: string, read: Reader): View {
  const places = new Uint32Array(text.length + 1);
  const pieces: string[] = [];
  let length = 0;
  const take = (means: string, from: number, step: 0 | 1): void => {
    pieces.push(means);
    for (let index = 0; index < means.length; index++) places[length++] = from + index * step;
  };
  let at = 0;
  while (at < text.length) {
    const next = text.indexOf(sign, at);
    take(text.slice(at, next < 0 ? text.length : next), at, 1);
    if (next < 0) break;
    const escape = read(text, next) ?? { means: sign, width: 1 };
    take(escape.means, next, 0);
    at = next + escape.width;
  }
  places[length] = text.length;
  return { text: pieces.join(''), placeOf: (index) => places[index] as number };
}

/** `%C3%A4`: as many bytes as make a character, or one where they make none. */
function ofAddress(text: string, at: number): Escape | undefined {
  const first = byteAt(text, at);
  if (first < 0) return undefined;
  const count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  if (count === 1) return { means: String.fromCharCode(first), width: 3 };
  const whole = Buffer.from(Array.from({ length: count }, (_, index) => Math.max(byteAt(text, at + 3 * index), 0)));
  return isUtf8(whole) ? { means: whole.toString(), width: 3 * count } : { means: String.fromCharCode(first), width: 3 };
}

/** Below 0 where no byte is written. */
function byteAt(text: string, at: number): number {
  return text[at] === '%' ? numberAt(text, at + 1, 2) : -1;
}

/** Of so many hexadecimal digits; below 0 where one of them is none. By their codes: a text may consist of nothing else. */
function numberAt(text: string, at: number, digits: number): number {
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

const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function ofJson(text: string, at: number): Escape | undefined {
  const letter = text[at + 1];
  if (letter === undefined) return undefined;
  const code = letter === 'u' ? numberAt(text, at + 2, 4) : -1;
  return code < 0 ? { means: LETTERS[letter] ?? letter, width: 2 } : { means: String.fromCharCode(code), width: 6 };
}

const NAMES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };
const LONGEST_ENTITY = 12;

function ofMarkup(text: string, at: number): Escape | undefined {
  const [whole, hexadecimal, decimal, name] =
    /^&(?:#[xX]([0-9a-fA-F]{1,6})|#([0-9]{1,7})|([a-z]+));/.exec(text.slice(at, at + LONGEST_ENTITY)) ?? [];
  if (whole === undefined) return undefined;
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  const means = name === undefined ? (code <= 0x10ffff ? String.fromCodePoint(code) : undefined) : NAMES[name];
  return means === undefined ? undefined : { means, width: whole.length };
}
