import type { Many } from '../../model/envelope';
import { badInput, GatewayError } from '../../model/error';
import type { Call } from '../../model/operation';
import { at } from '../../model/path';
import { listSessions } from './list';
import { isObject, type JsonObject, kindOf } from '../../model/json';

/** Fields of the record that a filter may name (appliance-api.md, "Active user record"); the vendor's own key is matched by its end. */
const FIELDS = new Set(
  `active-user-name active-secondary-user-name agent-type authentication-realm browser-id device-id endpoint-security-status events
  hc-failed-reasons login-node mac-address network-connect-ip network-connect-ipv6 network-connect-transport-mode ngp-session-id
  primary-auth-server-name primary-auth-server-type secondary-auth-server-name secondary-auth-server-type session-id
  sign-in-time-micro source-ip user-roles user-sign-in-time`.split(/\s+/),
);

type Matcher = (record: JsonObject) => boolean;

/** Ends one session: the plain result. */
export async function endSingle(given: string | JsonObject, call: Call): Promise<unknown> {
  return call.write(endRequest(recordOf(given)));
}

/** The records behind ids or records, each session once. Errors: `BAD_INPUT` for an item without an id; nothing was sent. */
export function idsOf(items: readonly (string | JsonObject)[]): JsonObject[] {
  const records = new Map<unknown, JsonObject>();
  for (const item of items) {
    const record = recordOf(item);
    if (!records.has(record['session-id'])) records.set(record['session-id'], record);
  }
  return [...records.values()];
}

/** Ends many sessions. Errors: `LIMIT` when there are more than `max`; nothing was ended then. */
export async function endSessions(records: readonly JsonObject[], max = 25, call: Call): Promise<Many> {
  if (records.length > max) {
    throw new GatewayError(
      'LIMIT',
      `${records.length} sessions would end, but at most ${max} may: nothing was ended. Narrow the choice, or raise "Most sessions" in the node.`,
    );
  }
  return call.each(records, endRequest, shown);
}

/** Every active session that matches, from a whole list: a partial one would end the wrong number. */
export async function matching(query: { name?: string }, matches: Matcher, call: Call): Promise<JsonObject[]> {
  return (await listSessions(query, call)).filter(matches);
}

/**
 * A filter object as a test of one record; all fields have to match. Errors: `BAD_INPUT` for an unknown field, an empty value or
 * a value that matches everything; `LIMIT` for an empty filter, which would mean everyone.
 */
export function readFilter(filter: JsonObject): Matcher {
  const tests = Object.entries(filter).map(([field, wanted]): Matcher => {
    if (!FIELDS.has(field) && !/^[^\s]+-client-version$/.test(field)) {
      throw badInput(`filter names ${JSON.stringify(field)}, which no session record has. Fields are: ${[...FIELDS].join(', ')}.`);
    }
    const patterns = (Array.isArray(wanted) ? (wanted as unknown[]) : [wanted]).map((one) => toPattern(field, one));
    if (patterns.length === 0) throw badInput(`filter.${field} is an empty array. Give at least one text.`);
    return (record) => {
      const value = record[field];
      return value !== null && value !== undefined && patterns.some((matches) => matches(textOf(value)));
    };
  });
  if (tests.length === 0)
    throw new GatewayError('LIMIT', 'filter is empty, which would mean every session. Name at least one field, or use End ALL sessions.');
  return (record) => tests.every((test) => test(record));
}

function toPattern(field: string, wanted: unknown): (text: string) => boolean {
  if (typeof wanted !== 'string' && typeof wanted !== 'number')
    throw badInput(`filter.${field} has to be text or an array of texts; ${kindOf(wanted)} came.`);
  const text = String(wanted).trim();
  if (text === '') throw badInput(`filter.${field} is empty. Give a text, with * as wildcard.`);
  if (/^\*+$/.test(text)) throw badInput(`filter.${field} is a bare *, which matches everyone. Leave the field out, or be more specific.`);
  return wildcards(String(wanted));
}

/** Compares piece by piece: as a regular expression a webhook's filter with many `*` would take ages and stop Node-RED meanwhile. */
function wildcards(pattern: string): (text: string) => boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return (text) => text === first;
  return (text) => {
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const piece of others) {
      const found = text.indexOf(piece, at);
      if (found < 0) return false;
      at = found + piece.length;
    }
    return text.length - at >= last.length && text.endsWith(last);
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function recordOf(item: string | JsonObject): JsonObject {
  const record = isObject(item) ? item : { 'session-id': item };
  const id = record['session-id'];
  if (typeof id !== 'string' || id.trim() === '') throw badInput('session-id is missing or empty in one of the items: nothing was ended.');
  return record;
}

function endRequest(record: JsonObject): { method: 'DELETE'; path: string } {
  return { method: 'DELETE', path: at`/api/v1/system/active-users/session/${record['session-id'] as string}` };
}

/** What a report says of a session: as much as is known. */
function shown(record: JsonObject): JsonObject {
  const parts = ['session-id', 'active-user-name', 'source-ip'].filter((key) => record[key] !== undefined);
  return Object.fromEntries(parts.map((key) => [key, record[key]]));
}
