import type { BulkResult, WriteResult } from '../../model/envelope';
import { badInput, GatewayError } from '../../model/error';
import type { Amount, OperationContext } from '../../model/operation';
import { encodedPath } from '../../model/path';
import { countSessions, listSessions } from './list-sessions';
import { isObject, type JsonObject } from '../../model/json';
import type { SessionMatcher } from './session-filter';
import { trusted, safeMessage, type SafeMessage } from '../../model/safe-message';

/** Ends one session: the plain result. */
export async function endSession(session: string | JsonObject, call: OperationContext): Promise<WriteResult> {
  return call.write(toEndRequest(toRecord(session)));
}

/** The records behind ids or records, each session once. Errors: `BAD_INPUT` for an item without an id; nothing was sent. */
export function toUniqueRecords(items: readonly (string | JsonObject)[]): JsonObject[] {
  const records = new Map<unknown, JsonObject>();
  for (const item of items) {
    const record = toRecord(item);
    if (!records.has(record['session-id'])) records.set(record['session-id'], record);
  }
  return [...records.values()];
}

/** Ends many sessions. Errors: `LIMIT` when there are more than `max`; nothing was ended then. */
export async function endSessions(records: readonly JsonObject[], max: Amount, call: OperationContext): Promise<BulkResult> {
  const { maxCount, explanation } = await resolveMax(records, max, call);
  if (records.length > maxCount) {
    throw new GatewayError(
      'LIMIT',
      safeMessage`${records.length} sessions would end, but at most ${maxCount} may${explanation}: nothing was ended. Narrow the choice, or raise max (Most sessions).`,
      { sent: false },
    );
  }
  return call.writeEach(records, toEndRequest, summarizeSession);
}

/** How many may end. Of a share all sessions have to be counted, now: it never stands for one more than it says. */
async function resolveMax(
  records: readonly JsonObject[],
  max: Amount,
  call: OperationContext,
): Promise<{ maxCount: number; explanation: SafeMessage }> {
  if (typeof max === 'number') return { maxCount: max, explanation: trusted('') };
  const total = records.length === 0 ? 0 : await countSessions(call);
  return { maxCount: Math.floor((total * Number.parseFloat(max)) / 100 + 1e-9), explanation: safeMessage` (${trusted(max)} of ${total})` };
}

/**
 * Every active session that matches, from a whole list: a partial one would end the wrong number. Not those of the account that we
 * use: who ends them ends what works here. `envelope.spared` tells of them.
 */
export async function findMatchingSessions(
  query: { name?: string },
  matches: SessionMatcher,
  call: OperationContext,
): Promise<JsonObject[]> {
  const { accounts } = call.settings;
  const spared: JsonObject[] = [];
  const found = (await listSessions(query, call)).filter(
    (record) => matches(record) && (!isOwnAccount(accounts, record['active-user-name']) || void spared.push(summarizeSession(record))),
  );
  if (spared.length > 0) call.addToEnvelope({ spared });
  return found;
}

/** The name, unless it is that of our own account. Errors: `BAD_INPUT`; nothing was sent. */
export function assertNotOwnAccount(name: string, call: OperationContext): string {
  if (!isOwnAccount(call.settings.accounts, name)) return name;
  throw badInput(
    safeMessage`${JSON.stringify(name)} is the account that this package itself uses here: its sessions end by their ids only (End sessions). Nothing was ended.`,
  );
}

/** Names are compared exactly, but not this one: nobody is to lock this package out by a capital letter. */
export function isOwnAccount(accounts: readonly string[], name: unknown): boolean {
  return typeof name === 'string' && accounts.some((account) => account.trim().toLowerCase() === name.trim().toLowerCase());
}

function toRecord(item: string | JsonObject): JsonObject {
  const record = isObject(item) ? item : { 'session-id': item };
  const id = record['session-id'];
  if (typeof id !== 'string' || id.trim() === '') throw badInput('session-id is missing or empty in one of the items: nothing was ended.');
  return record;
}

function toEndRequest(record: JsonObject): { method: 'DELETE'; path: string } {
  return { method: 'DELETE', path: encodedPath`/api/v1/system/active-users/session/${record['session-id'] as string}` };
}

/** What a report says of a session: as much as is known. */
export function summarizeSession(record: JsonObject): JsonObject {
  const parts = ['session-id', 'active-user-name', 'source-ip'].filter((key) => record[key] !== undefined);
  return Object.fromEntries(parts.map((key) => [key, record[key]]));
}
