import { badInput, GatewayError } from '../../model/error';
import { ours, sentence } from '../../model/sentence';

/** Whether the text of one field matches. */
export type Test = (text: string) => boolean;

/** Each of these is compared with every session; texts without wildcard are looked up, however many they are. */
const MOST_COMPARED = 1000;

/** A pattern in a message: of a long one its beginning. */
export function quoted(pattern: string): string {
  return JSON.stringify(pattern.length > 60 ? `${pattern.slice(0, 60).toWellFormed()}…` : pattern);
}

/** Errors: `LIMIT` when there are more patterns than can be compared with every session. */
export function refuseTooMany(field: string, patterns: readonly unknown[]): void {
  if (patterns.length <= MOST_COMPARED) return;
  throw new GatewayError(
    'LIMIT',
    sentence`filter.${field} has ${patterns.length} patterns with wildcards or networks, but at most ${MOST_COMPARED} can be compared with every session. Give fewer, or exact texts: of those there may be any number.`,
    { sent: false },
  );
}

/** Texts, exactly or with `*` for anything. */
export function readTexts(patterns: readonly string[], field: string): Test {
  const exact = new Set(patterns.filter((pattern) => !pattern.includes('*')));
  const others = patterns.filter((pattern) => pattern.includes('*'));
  refuseTooMany(field, others);
  const tests = others.map(wildcards);
  return (text) => exact.has(text) || tests.some((test) => test(text));
}

/** Texts of which nothing else can be in the record, all of which look `like` that, `d` for a digit. `what` is for the error. */
export function ofShape(allowed: RegExp, what: string, like: string): (patterns: readonly string[], field: string) => Test {
  return (patterns, field) => {
    const given = patterns.map((pattern) => pattern.trim());
    refuseOdd(given, field, what, (pattern) => allowed.test(pattern) && fits(pattern, like));
    return readTexts(given, field);
  };
}

const HARDWARE_DIGITS = 12;

/** Hardware addresses, in either case, with `:` or `-` between their bytes. */
export function readHardware(patterns: readonly string[], field: string): Test {
  const plain = (text: string): string => text.trim().toLowerCase().replaceAll('-', ':');
  refuseOdd(patterns, field, 'a hardware address such as 02:00:5e:10:00:01, or a part of one with *', (pattern) => {
    const digits = plain(pattern).replace(/[:.*]/g, '');
    const fewEnough = pattern.includes('*') ? digits.length <= HARDWARE_DIGITS : digits.length === HARDWARE_DIGITS;
    return /^[0-9a-f]+$/.test(digits) && fewEnough;
  });
  const test = readTexts(patterns.map(plain), field);
  return (text) => test(plain(text));
}

/** Errors: `BAD_INPUT` for a pattern that can match none, or that has nothing but wildcards and separators and matches all. */
function refuseOdd(patterns: readonly string[], field: string, what: string, possible: (pattern: string) => boolean): void {
  const odd = patterns.find((pattern) => !possible(pattern));
  if (odd === undefined) return;
  const why = /[0-9a-z]/i.test(odd) ? 'can match none' : 'says nothing of it';
  throw badInput(sentence`filter.${field} has to be ${ours(what)}; ${quoted(odd)} ${ours(why)}.`);
}

/** Whether the pieces between the wildcards can stand in a text of that look. */
function fits(pattern: string, like: string): boolean {
  const pieces = pattern.replace(/\d/g, 'd').split('*');
  const first = pieces.shift() ?? '';
  const last = pieces.pop();
  if (last === undefined) return first === like;
  return like.startsWith(first) && like.endsWith(last) && pieces.every((piece) => like.includes(piece));
}

/** Numbers, also where they are written as text; nothing of a number can be left open. */
export function readNumbers(patterns: readonly string[], field: string): Test {
  const numbers = new Set(
    patterns.map((pattern) => {
      if (!/^\s*\d+(\.\d+)?\s*$/.test(pattern))
        throw badInput(sentence`filter.${field} has to be a number, without wildcards; ${quoted(pattern)} can match none.`);
      return Number(pattern);
    }),
  );
  return (text) => text.trim() !== '' && numbers.has(Number(text));
}

const UNITS: readonly (readonly [names: RegExp, ms: number])[] = [
  [/^(s|secs?|seconds?)$/, 1000],
  [/^(m|mins?|minutes?)$/, 60_000],
  [/^(h|hours?|)$/, 3_600_000],
  [/^(d|days?)$/, 86_400_000],
];

/** Least ages, of which the shortest is enough: a test of the time of sign-in, in seconds since 1970. */
export function readAges(patterns: readonly string[], field: string): Test {
  const latest = Date.now() - patterns.map((pattern) => ageOf(pattern, field)).reduce((a, b) => Math.min(a, b));
  return (text) => isBefore(Number(text) * 1000, latest);
}

/** A time of nothing, or of 1970, is none. */
function isBefore(time: number, latest: number): boolean {
  return time > 0 && time < latest;
}

function ageOf(pattern: string, field: string): number {
  const [, number, word = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(pattern.trim().toLowerCase()) ?? [];
  const unit = UNITS.find(([names]) => names.test(word))?.[1];
  const age = Number(number) * (unit ?? NaN);
  if (age > 0 && Number.isFinite(age)) return age;
  throw badInput(
    sentence`filter.${field} has to be hours, or text such as "90 min", "8 h" or "2 days", and more than 0; ${quoted(pattern)} came.`,
  );
}

/** Compares piece by piece: as a regular expression a webhook's filter with many `*` would take ages and stop Node-RED meanwhile. */
export function wildcards(pattern: string): Test {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return (text) => text === first;
  const least = pattern.length - others.length - 1;
  return (text) => {
    if (text.length < least || !text.startsWith(first)) return false;
    let at = first.length;
    for (const piece of others) {
      const found = text.indexOf(piece, at);
      if (found < 0) return false;
      at = found + piece.length;
    }
    return text.length - at >= last.length && text.endsWith(last);
  };
}
