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

/**
 * The text itself, and the same without the escapes of JSON, of markup, of addresses and of forms, each where there are any: a secret
 * can be escaped in so many ways (`%2f`, `%2F`, `\/`, `\u002F`, `&#47;`, `&#x2f;`) that a list of all of them is no way to find it.
 */
export function viewsOf(text: string): View[] {
  const views: View[] = [{ text, placeOf: (index) => index }];
  const percent = text.includes('%');
  if (percent) views.push(unescaped(text, '%', ofAddress));
  if (text.includes('+')) {
    // As long as before, so that places stay what they are.
    const spaced = text.replaceAll('+', ' ');
    views.push(percent ? unescaped(spaced, '%', ofAddress) : { text: spaced, placeOf: (index) => index });
  }
  if (text.includes('\\')) views.push(unescaped(text, '\\', ofJson));
  if (text.includes('&')) views.push(unescaped(text, '&', ofMarkup));
  return views;
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
  if (first === undefined) return undefined;
  const count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  const bytes = Array.from({ length: count }, (_, index) => byteAt(text, at + 3 * index) ?? 0);
  const whole = Buffer.from(bytes);
  return count > 1 && isUtf8(whole) ? { means: whole.toString(), width: 3 * count } : { means: String.fromCharCode(first), width: 3 };
}

function byteAt(text: string, at: number): number | undefined {
  const escape = text.slice(at, at + 3);
  return /^%[0-9a-fA-F]{2}$/.test(escape) ? Number.parseInt(escape.slice(1), 16) : undefined;
}

const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function ofJson(text: string, at: number): Escape | undefined {
  const letter = text[at + 1];
  if (letter === undefined) return undefined;
  const digits = text.slice(at + 2, at + 6);
  if (letter === 'u' && /^[0-9a-fA-F]{4}$/.test(digits)) return { means: String.fromCharCode(Number.parseInt(digits, 16)), width: 6 };
  return { means: LETTERS[letter] ?? letter, width: 2 };
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
