import { parseAddressPatterns } from './addresses';
import { badInput, GatewayError } from '../../model/error';
import { type JsonObject, describeKind } from '../../model/json';
import { trusted, safeMessage } from '../../model/safe-message';
import {
  createShapeParser,
  quotePattern,
  parseAgePatterns,
  parseMacAddressPatterns,
  parseNumberPatterns,
  parseTextPatterns,
  type TextMatcher,
} from './patterns';

/** Whether one session record is meant. */
export type SessionMatcher = (record: JsonObject) => boolean;

/** Reads the patterns of one field, all of them or none. Errors: `BAD_INPUT` for one that could match nothing, or everything. */
type PatternParser = (patterns: readonly string[], field: string) => TextMatcher;

/** Beside the fields of a record: its age. */
const AGE_FIELD = 'older-than';
const SIGN_IN_FIELD = 'sign-in-time-micro';

/** Fields of the record that a filter may name (appliance-api.md, "Active user record"); the vendor's own key is matched by its end. */
const FIELD_PARSERS: ReadonlyMap<string, PatternParser> = new Map<string, PatternParser>([
  ...`active-user-name active-secondary-user-name agent-type authentication-realm browser-id device-id endpoint-security-status
  hc-failed-reasons login-node network-connect-transport-mode ngp-session-id primary-auth-server-name primary-auth-server-type
  secondary-auth-server-name secondary-auth-server-type session-id user-roles`
    .split(/\s+/)
    .map((name) => [name, parseTextPatterns] as const),
  ['source-ip', parseAddressPatterns],
  ['network-connect-ip', parseAddressPatterns],
  ['network-connect-ipv6', (patterns, field) => parseAddressPatterns(patterns, field, 6)],
  ['mac-address', parseMacAddressPatterns],
  [
    'user-sign-in-time',
    createShapeParser(/^[/: *]*[0-9][0-9/: *]*$/, 'a time such as 2026/01/15 09:30:00, with * for the rest', 'dddd/dd/dd dd:dd:dd'),
  ],
  ['events', parseNumberPatterns],
  [SIGN_IN_FIELD, parseNumberPatterns],
  [AGE_FIELD, parseAgePatterns],
]);

/** The names that a filter may have. */
export const SESSION_FILTER_FIELDS: readonly string[] = [...FIELD_PARSERS.keys()];

/**
 * A filter object as a test of one record; all fields have to match. Errors: `BAD_INPUT` for an unknown field, an empty value, one
 * that can match nothing of its kind or that matches everything; `LIMIT` for an empty filter, which would mean everyone, and for
 * more patterns than can be compared with every session.
 */
export function parseSessionFilter(filter: JsonObject): SessionMatcher {
  const tests = Object.entries(filter).map(([field, patternValue]): SessionMatcher => {
    const test = getParser(field)(toPatterns(field, patternValue), field);
    const key = field === AGE_FIELD ? SIGN_IN_FIELD : field;
    return (record) => {
      const value = record[key];
      return value !== null && value !== undefined && test(typeof value === 'string' ? value : JSON.stringify(value));
    };
  });
  if (tests.length === 0)
    throw new GatewayError('LIMIT', 'filter is empty, which would mean every session. Name at least one field, or use End ALL sessions.');
  return (record) => tests.every((test) => test(record));
}

function getParser(field: string): PatternParser {
  const reader = FIELD_PARSERS.get(field) ?? (/^[^\s]+-client-version$/.test(field) ? parseTextPatterns : undefined);
  if (reader) return reader;
  throw badInput(
    safeMessage`filter names ${quotePattern(field)}, which no session record has. Fields are: ${trusted([...FIELD_PARSERS.keys()].join(', '))}.`,
  );
}

/** As texts. One alone is an array of one. */
function toPatterns(field: string, patternValue: unknown): string[] {
  const patterns = (Array.isArray(patternValue) ? (patternValue as unknown[]) : [patternValue]).map((pattern) => {
    if (typeof pattern !== 'string' && typeof pattern !== 'number')
      throw badInput(safeMessage`filter.${field} has to be text or an array of texts; ${trusted(describeKind(pattern))} came.`);
    const text = String(pattern);
    if (text.trim() === '') throw badInput(safeMessage`filter.${field} is empty. Give a text, with * as wildcard.`);
    if (/^\*+$/.test(text.trim()))
      throw badInput(safeMessage`filter.${field} is a bare *, which matches everyone. Leave the field out, or be more specific.`);
    return text;
  });
  if (patterns.length === 0) throw badInput(safeMessage`filter.${field} is an empty array. Give at least one text.`);
  return patterns;
}
