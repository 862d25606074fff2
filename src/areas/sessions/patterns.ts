import { badInput, GatewayError } from '../../model/error';
import { trusted, safeMessage } from '../../model/safe-message';

/** Tests whether the text of one field matches. */
export type TextMatcher = (text: string) => boolean;

/** Each wildcard pattern is compared with every session; exact texts are looked up in a set and need no limit. */
const MAX_COMPARED_PATTERNS = 1000;

/** Quotes the first 60 characters of a pattern for a message. */
export function quotePattern(pattern: string): string {
  return JSON.stringify(pattern.length > 60 ? `${pattern.slice(0, 60).toWellFormed()}…` : pattern);
}

/** Checks the number of patterns. Errors: `LIMIT` for too many patterns to compare with every session. */
export function assertPatternCount(field: string, patterns: readonly unknown[]): void {
  if (patterns.length <= MAX_COMPARED_PATTERNS) return;
  throw new GatewayError(
    'LIMIT',
    safeMessage`filter.${field} has ${patterns.length} patterns with wildcards or networks, but at most ${MAX_COMPARED_PATTERNS} are allowed. Give fewer, or exact texts, which have no limit. Nothing was sent.`,
    { sent: false },
  );
}

/** Matches exact texts and texts with `*` for any characters. */
export function parseTextPatterns(patterns: readonly string[], field: string): TextMatcher {
  const exact = new Set(patterns.filter((pattern) => !pattern.includes('*')));
  const wildcardPatterns = patterns.filter((pattern) => pattern.includes('*'));
  assertPatternCount(field, wildcardPatterns);
  const tests = wildcardPatterns.map(createWildcardMatcher);
  return (text) => exact.has(text) || tests.some((test) => test(text));
}

/** The common beginning of all session ids (appliance-api.md, "Active user record"). */
const SESSION_ID_PREFIX = 'sid';

/** Matches session ids. A pattern that needs no more than the common beginning of all ids matches every session. */
export function parseSessionIdPatterns(patterns: readonly string[], field: string): TextMatcher {
  const widest = patterns.find((pattern) => pattern.endsWith('*') && createWildcardMatcher(pattern)(SESSION_ID_PREFIX));
  if (widest === undefined) return parseTextPatterns(patterns, field);
  throw badInput(
    safeMessage`filter.${field} is ${quotePattern(widest)}, which matches every session. Leave the field out, or be more specific. Nothing was sent.`,
  );
}

/** Creates a parser for texts of a fixed shape, in which `d` is a digit. `description` names them in the error. */
export function createDigitPatternParser(
  allowed: RegExp,
  description: string,
  shape: string,
): (patterns: readonly string[], field: string) => TextMatcher {
  return (patterns, field) => {
    const trimmed = patterns.map((pattern) => pattern.trim());
    assertPossible(trimmed, field, description, (pattern) => allowed.test(pattern) && fitsShape(pattern, shape));
    return parseTextPatterns(trimmed, field);
  };
}

const MAC_ADDRESS_DIGITS = 12;

/** Matches MAC addresses in any case, with `:` or `-` between the bytes. */
export function parseMacAddressPatterns(patterns: readonly string[], field: string): TextMatcher {
  const normalizeMacAddress = (text: string): string => text.trim().toLowerCase().replaceAll('-', ':');
  assertPossible(patterns, field, 'a hardware address such as 02:00:5e:10:00:01, or a part of one with *', (pattern) => {
    const digits = normalizeMacAddress(pattern).replace(/[:.*]/g, '');
    const hasValidLength = pattern.includes('*') ? digits.length <= MAC_ADDRESS_DIGITS : digits.length === MAC_ADDRESS_DIGITS;
    return /^[0-9a-f]+$/.test(digits) && hasValidLength;
  });
  const test = parseTextPatterns(patterns.map(normalizeMacAddress), field);
  return (text) => test(normalizeMacAddress(text));
}

/** Errors: `BAD_INPUT` for a pattern that can match nothing, or that has only wildcards and separators and matches all. */
function assertPossible(patterns: readonly string[], field: string, description: string, isPossible: (pattern: string) => boolean): void {
  const impossible = patterns.find((pattern) => !isPossible(pattern));
  if (impossible === undefined) return;
  const reason = /[0-9a-z]/i.test(impossible) ? 'cannot match' : 'would match every value';
  throw badInput(
    safeMessage`filter.${field} must be ${trusted(description)}; ${quotePattern(impossible)} ${trusted(reason)}. Nothing was sent.`,
  );
}

/** Returns whether the literal pieces of a wildcard pattern can occur in a text of this format. */
function fitsShape(pattern: string, shape: string): boolean {
  const pieces = pattern.replace(/\d/g, 'd').split('*');
  const first = pieces.shift() ?? '';
  const last = pieces.pop();
  if (last === undefined) return first === shape;
  return shape.startsWith(first) && shape.endsWith(last) && pieces.every((piece) => shape.includes(piece));
}

/** Matches numbers, also as text; wildcards are not allowed. */
export function parseNumberPatterns(patterns: readonly string[], field: string): TextMatcher {
  const numbers = new Set(
    patterns.map((pattern) => {
      if (!/^\s*\d+(\.\d+)?\s*$/.test(pattern))
        throw badInput(
          safeMessage`filter.${field} must be a number without wildcards; ${quotePattern(pattern)} cannot match. Nothing was sent.`,
        );
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

/** Parses minimum ages and uses the shortest: a test of the sign-in time, in seconds since 1970. `now` is in milliseconds. */
export function parseAgePatterns(patterns: readonly string[], field: string, now: number): TextMatcher {
  const latest = now - patterns.map((pattern) => parseAgeMs(pattern, field)).reduce((a, b) => Math.min(a, b));
  return (text) => isBefore(Number(text) * 1000, latest);
}

/** Whether a sign-in time is before `latest`. An empty time or one of 1970 does not count. */
function isBefore(time: number, latest: number): boolean {
  return time > 0 && time < latest;
}

function parseAgeMs(pattern: string, field: string): number {
  const [, number, word = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(pattern.trim().toLowerCase()) ?? [];
  const unit = UNITS.find(([names]) => names.test(word))?.[1];
  const age = Number(number) * (unit ?? NaN);
  if (age > 0 && Number.isFinite(age)) return age;
  throw badInput(
    safeMessage`filter.${field} is ${quotePattern(pattern)}, but must be hours, or text such as "90 min", "8 h" or "2 days", and more than 0. Nothing was sent.`,
  );
}

/** Compares piece by piece, because a regular expression with many `*` from a webhook could block Node-RED. */
export function createWildcardMatcher(pattern: string): TextMatcher {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return (text) => text === first;
  const minLength = pattern.length - others.length - 1;
  return (text) => {
    if (text.length < minLength || !text.startsWith(first)) return false;
    let at = first.length;
    for (const piece of others) {
      const found = text.indexOf(piece, at);
      if (found < 0) return false;
      at = found + piece.length;
    }
    return text.length - at >= last.length && text.endsWith(last);
  };
}
