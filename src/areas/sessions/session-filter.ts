import { parseAddressPatterns } from './addresses';
import { badInput, GatewayError } from '../../model/error';
import { type JsonObject, describeValueKind } from '../../model/json';
import { trusted, safeMessage } from '../../model/safe-message';
import {
  createDigitPatternParser,
  quotePattern,
  parseAgePatterns,
  parseMacAddressPatterns,
  parseNumberPatterns,
  parseSessionIdPatterns,
  parseTextPatterns,
  type TextMatcher,
} from './patterns';

/** Tests one session record. */
export type SessionMatcher = (record: JsonObject) => boolean;

/** Reads the patterns of one field. Errors: `BAD_INPUT` for a pattern that could match nothing or everything. */
type PatternParser = (patterns: readonly string[], field: string, now: number) => TextMatcher;

/** The age of a session: a filter field that is not a record field. */
const AGE_FIELD = 'older-than';
const SIGN_IN_FIELD = 'sign-in-time-micro';

/** Record fields that a filter may name (appliance-api.md, "Active user record"). Keys ending in `-client-version` are accepted too. */
const FIELD_PARSERS: ReadonlyMap<string, PatternParser> = new Map<string, PatternParser>([
  ...`active-user-name active-secondary-user-name agent-type authentication-realm browser-id device-id endpoint-security-status
  hc-failed-reasons login-node network-connect-transport-mode ngp-session-id primary-auth-server-name primary-auth-server-type
  secondary-auth-server-name secondary-auth-server-type user-roles`
    .split(/\s+/)
    .map((name) => [name, parseTextPatterns] as const),
  ['session-id', parseSessionIdPatterns],
  ['source-ip', (patterns, field) => parseAddressPatterns(patterns, field)],
  ['network-connect-ip', (patterns, field) => parseAddressPatterns(patterns, field)],
  ['network-connect-ipv6', (patterns, field) => parseAddressPatterns(patterns, field, 6)],
  ['mac-address', parseMacAddressPatterns],
  [
    'user-sign-in-time',
    createDigitPatternParser(/^[/: *]*[0-9][0-9/: *]*$/, 'a time such as 2026/01/15 09:30:00, with * for the rest', 'dddd/dd/dd dd:dd:dd'),
  ],
  ['events', parseNumberPatterns],
  [SIGN_IN_FIELD, parseNumberPatterns],
  [AGE_FIELD, parseAgePatterns],
]);

/** Field names that a filter may have. */
export const SESSION_FILTER_FIELDS: readonly string[] = [...FIELD_PARSERS.keys()];

/**
 * Reads a filter object as a test of one record; all fields must match. Errors: `BAD_INPUT` for an unknown field, an empty value, or a
 * value that matches nothing or everything; `LIMIT` for an empty filter, which would match every session, and for too many patterns.
 * Ages count from now on the clock of the appliance, which is `clockOffsetSeconds` ahead.
 */
export function parseSessionFilter(filter: JsonObject, clockOffsetSeconds = 0): SessionMatcher {
  const now = Date.now() + clockOffsetSeconds * 1000;
  const tests = Object.entries(filter).map(([field, patternValue]): SessionMatcher => {
    const test = getParser(field)(compileSnapshotPatterns(field, patternValue), field, now);
    const key = field === AGE_FIELD ? SIGN_IN_FIELD : field;
    return (record) => toTexts(field, record[key]).some(test);
  });
  if (tests.length === 0)
    throw new GatewayError(
      'LIMIT',
      'filter is empty, which would match every session. Name at least one field, or use End ALL sessions. Nothing was sent.',
    );
  return (record) => tests.every((test) => test(record));
}

/** Returns the texts of a record field that a pattern can match. Roles are a list, also as one text with commas. */
function toTexts(field: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (field !== 'user-roles') return [text];
  const roles = Array.isArray(value) ? value.map(String) : text.split(',');
  return [text, ...roles.map((role) => role.trim())];
}

function getParser(field: string): PatternParser {
  const parser = FIELD_PARSERS.get(field) ?? (/^[^\s]+-client-version$/.test(field) ? parseTextPatterns : undefined);
  if (parser) return parser;
  throw badInput(
    safeMessage`filter names ${quotePattern(field)}, which is not a field of a session record. Use one of: ${trusted([...FIELD_PARSERS.keys()].join(', '))}.`,
  );
}

/** Reads one pattern or an array of patterns as texts. */
function compileSnapshotPatterns(field: string, patternValue: unknown): string[] {
  const patterns = (Array.isArray(patternValue) ? (patternValue as unknown[]) : [patternValue]).map((pattern) => {
    if (typeof pattern !== 'string' && typeof pattern !== 'number')
      throw badInput(
        safeMessage`filter.${field} is ${trusted(describeValueKind(pattern))}, but must be text or an array of texts. Nothing was sent.`,
      );
    const text = String(pattern);
    if (text.trim() === '') throw badInput(safeMessage`filter.${field} is empty. Give a text, with * as wildcard. Nothing was sent.`);
    if (/^\*+$/.test(text.trim()))
      throw badInput(
        safeMessage`filter.${field} is only *, which matches every session. Leave the field out, or be more specific. Nothing was sent.`,
      );
    return text;
  });
  if (patterns.length === 0) throw badInput(safeMessage`filter.${field} is an empty array. Give at least one text. Nothing was sent.`);
  return patterns;
}
