import { readAddresses } from './addresses';
import { badInput, GatewayError } from '../../model/error';
import { type JsonObject, kindOf } from '../../model/json';
import { ours, sentence } from '../../model/sentence';
import { ofShape, quoted, readAges, readHardware, readNumbers, readTexts, type Test } from './patterns';

/** Whether one session record is meant. */
export type Matcher = (record: JsonObject) => boolean;

/** Reads the patterns of one field, all of them or none. Errors: `BAD_INPUT` for one that could match nothing, or everything. */
type Reader = (patterns: readonly string[], field: string) => Test;

/** Beside the fields of a record: its age. */
const AGE = 'older-than';
const SIGN_IN = 'sign-in-time-micro';

/** Fields of the record that a filter may name (appliance-api.md, "Active user record"); the vendor's own key is matched by its end. */
const FIELDS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ...`active-user-name active-secondary-user-name agent-type authentication-realm browser-id device-id endpoint-security-status
  hc-failed-reasons login-node network-connect-transport-mode ngp-session-id primary-auth-server-name primary-auth-server-type
  secondary-auth-server-name secondary-auth-server-type session-id user-roles`
    .split(/\s+/)
    .map((name) => [name, readTexts] as const),
  ['source-ip', readAddresses],
  ['network-connect-ip', readAddresses],
  ['network-connect-ipv6', (patterns, field) => readAddresses(patterns, field, 6)],
  ['mac-address', readHardware],
  [
    'user-sign-in-time',
    ofShape(/^[/: *]*[0-9][0-9/: *]*$/, 'a time such as 2026/01/15 09:30:00, with * for the rest', 'dddd/dd/dd dd:dd:dd'),
  ],
  ['events', readNumbers],
  [SIGN_IN, readNumbers],
  [AGE, readAges],
]);

/** The names that a filter may have. */
export const SESSION_FIELDS: readonly string[] = [...FIELDS.keys()];

/**
 * A filter object as a test of one record; all fields have to match. Errors: `BAD_INPUT` for an unknown field, an empty value, one
 * that can match nothing of its kind or that matches everything; `LIMIT` for an empty filter, which would mean everyone, and for
 * more patterns than can be compared with every session.
 */
export function readFilter(filter: JsonObject): Matcher {
  const tests = Object.entries(filter).map(([field, wanted]): Matcher => {
    const test = readerOf(field)(patternsOf(field, wanted), field);
    const key = field === AGE ? SIGN_IN : field;
    return (record) => {
      const value = record[key];
      return value !== null && value !== undefined && test(typeof value === 'string' ? value : JSON.stringify(value));
    };
  });
  if (tests.length === 0)
    throw new GatewayError('LIMIT', 'filter is empty, which would mean every session. Name at least one field, or use End ALL sessions.');
  return (record) => tests.every((test) => test(record));
}

function readerOf(field: string): Reader {
  const reader = FIELDS.get(field) ?? (/^[^\s]+-client-version$/.test(field) ? readTexts : undefined);
  if (reader) return reader;
  throw badInput(sentence`filter names ${quoted(field)}, which no session record has. Fields are: ${ours([...FIELDS.keys()].join(', '))}.`);
}

/** As texts. One alone is an array of one. */
function patternsOf(field: string, wanted: unknown): string[] {
  const patterns = (Array.isArray(wanted) ? (wanted as unknown[]) : [wanted]).map((one) => {
    if (typeof one !== 'string' && typeof one !== 'number')
      throw badInput(sentence`filter.${field} has to be text or an array of texts; ${ours(kindOf(one))} came.`);
    const text = String(one);
    if (text.trim() === '') throw badInput(sentence`filter.${field} is empty. Give a text, with * as wildcard.`);
    if (/^\*+$/.test(text.trim()))
      throw badInput(sentence`filter.${field} is a bare *, which matches everyone. Leave the field out, or be more specific.`);
    return text;
  });
  if (patterns.length === 0) throw badInput(sentence`filter.${field} is an empty array. Give at least one text.`);
  return patterns;
}
