import type { Many, WriteResult } from '../../model/envelope';
import { badInput, GatewayError } from '../../model/error';
import type { Amount, Call } from '../../model/operation';
import { at } from '../../model/path';
import { countSessions, listSessions } from './list';
import { isObject, type JsonObject } from '../../model/json';
import type { Matcher } from './filter';
import { ours, sentence, type Sentence } from '../../model/sentence';

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
export async function endSessions(records: readonly JsonObject[], max: Amount, call: Call): Promise<Many> {
  const { most, of } = await mostOf(records, max, call);
  if (records.length > most) {
    throw new GatewayError(
      'LIMIT',
      sentence`${records.length} sessions would end, but at most ${most} may${of}: nothing was ended. Narrow the choice, or raise max (Most sessions).`,
      { sent: false },
    );
  }
  return call.each(records, endRequest, shown);
}

/** How many may end. Of a share all sessions have to be counted, now: it never stands for one more than it says. */
async function mostOf(records: readonly JsonObject[], max: Amount, call: Call): Promise<{ most: number; of: Sentence }> {
  if (typeof max === 'number') return { most: max, of: ours('') };
  const total = records.length === 0 ? 0 : await countSessions(call);
  return { most: Math.floor((total * Number.parseFloat(max)) / 100 + 1e-9), of: sentence` (${ours(max)} of ${total})` };
}

/**
 * Every active session that matches, from a whole list: a partial one would end the wrong number. Not those of the account that we
 * use: who ends them ends what works here. `envelope.spared` tells of them.
 */
export async function matching(query: { name?: string }, matches: Matcher, call: Call): Promise<JsonObject[]> {
  const { accounts } = call.settings;
  const spared: JsonObject[] = [];
  const found = (await listSessions(query, call)).filter(
    (record) => matches(record) && (!isOwn(accounts, record['active-user-name']) || void spared.push(shown(record))),
  );
  if (spared.length > 0) call.note({ spared });
  return found;
}

/** The name, unless it is that of our own account. Errors: `BAD_INPUT`; nothing was sent. */
export function notOwn(name: string, call: Call): string {
  if (!isOwn(call.settings.accounts, name)) return name;
  throw badInput(
    sentence`${JSON.stringify(name)} is the account that this package itself uses here: its sessions end by their ids only (End sessions). Nothing was ended.`,
  );
}

/** Names are compared exactly, but not this one: nobody is to lock this package out by a capital letter. */
export function isOwn(accounts: readonly string[], name: unknown): boolean {
  return typeof name === 'string' && accounts.some((own) => own.trim().toLowerCase() === name.trim().toLowerCase());
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
