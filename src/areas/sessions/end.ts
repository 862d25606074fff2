import type { Many, WriteResult } from '../../model/envelope';
import { badInput, GatewayError } from '../../model/error';
import type { Call } from '../../model/operation';
import { at } from '../../model/path';
import { listSessions } from './list';
import { isObject, type JsonObject } from '../../model/json';
import type { Matcher } from './filter';
import { sentence } from '../../model/sentence';

/** Ends one session: the plain result. */
export async function endSingle(given: string | JsonObject, call: Call): Promise<WriteResult> {
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
export async function endSessions(records: readonly JsonObject[], max: number, call: Call): Promise<Many> {
  if (records.length > max) {
    throw new GatewayError(
      'LIMIT',
      sentence`${records.length} sessions would end, but at most ${max} may: nothing was ended. Narrow the choice, or raise max (Most sessions).`,
    );
  }
  return call.each(records, endRequest, shown);
}

/** Every active session that matches, from a whole list: a partial one would end the wrong number. */
export async function matching(query: { name?: string }, matches: Matcher, call: Call): Promise<JsonObject[]> {
  return (await listSessions(query, call)).filter(matches);
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
export function shown(record: JsonObject): JsonObject {
  const parts = ['session-id', 'active-user-name', 'source-ip'].filter((key) => record[key] !== undefined);
  return Object.fromEntries(parts.map((key) => [key, record[key]]));
}
