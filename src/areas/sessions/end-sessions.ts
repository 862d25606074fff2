import type { BulkResult, WriteResult } from '../../model/envelope';
import { badInput, GatewayError } from '../../model/error';
import { choiceField, type NumberOrPercent, type OperationContext } from '../../model/operation';
import { encodedPath, canLeadToOtherPath } from '../../model/path';
import { countSessions, listSessions } from './list-sessions';
import { isObject, type JsonObject } from '../../model/json';
import type { SessionMatcher } from './session-filter';
import { trusted, safeMessage, type SafeMessage } from '../../model/safe-message';
import { createNameMatcher, findSimilarNames, NAME_MATCH_MODES, type NameMatchMode } from '../../model/user-names';

export const nameMatchModeField = choiceField(
  'Match',
  'How names are compared, always without spaces around them: exactly, without case, or without case and domain. `ignore-domain` takes `CORP\\j.doe`, `J.Doe` and `j.doe@corp.example` for one person.',
  NAME_MATCH_MODES,
  { guard: true, default: 'exact' },
);

/** Ends one session and returns the plain result. Errors: `LIMIT` if `max` is a share that allows none. */
export async function endSession(session: string | JsonObject, call: OperationContext, max: NumberOrPercent = 1): Promise<WriteResult> {
  const record = toRecord(session);
  if (typeof max !== 'number' || max < 1) await assertMaxSessions([record], max, call);
  return call.write(toEndRequest(record), undefined, () => summarizeSession(record));
}

/** Converts ids and records to records, each session once. Errors: `BAD_INPUT` for an item without an id. */
export function toUniqueRecords(items: readonly (string | JsonObject)[]): JsonObject[] {
  const records = new Map<unknown, JsonObject>();
  for (const item of items) {
    const record = toRecord(item);
    if (!records.has(record['session-id'])) records.set(record['session-id'], record);
  }
  return [...records.values()];
}

/** Ends many sessions. Errors: `LIMIT` without any write for more sessions than `max`. */
export async function endSessions(records: readonly JsonObject[], max: NumberOrPercent, call: OperationContext): Promise<BulkResult> {
  await assertMaxSessions(records, max, call);
  return call.writeEach(records, toEndRequest, summarizeSession);
}

async function assertMaxSessions(records: readonly JsonObject[], max: NumberOrPercent, call: OperationContext): Promise<void> {
  const { maxCount, explanation } = await resolveMax(records, max, call);
  if (records.length <= maxCount) return;
  const subject = records.length === 1 ? trusted('1 session') : safeMessage`${records.length} sessions`;
  throw new GatewayError(
    'LIMIT',
    safeMessage`${subject} would end, but max is ${maxCount}${explanation}. Nothing was ended. Narrow the choice, or raise max (Max sessions).`,
    { sent: false },
  );
}

/** Returns how many sessions may end. A percentage is computed from the current total and rounded down. */
async function resolveMax(
  records: readonly JsonObject[],
  max: NumberOrPercent,
  call: OperationContext,
): Promise<{ maxCount: number; explanation: SafeMessage }> {
  if (typeof max === 'number') return { maxCount: max, explanation: trusted('') };
  const total = records.length === 0 ? 0 : await countSessions(call);
  return { maxCount: Math.floor((total * Number.parseFloat(max)) / 100 + 1e-9), explanation: safeMessage` (${trusted(max)} of ${total})` };
}

/**
 * Finds all matching sessions in a complete list, because a partial one would miss sessions. Sessions of the own account go to
 * `envelope.spared` instead, because ending them would interrupt this package.
 */
export async function findMatchingSessions(createMatcher: () => SessionMatcher, call: OperationContext): Promise<JsonObject[]> {
  const all = await listSessions({}, call);
  return excludeOwnSessions(all.filter(createMatcher()), call);
}

/** Leaves sessions of the own account out and lists them in `envelope.spared`. */
export function excludeOwnSessions(records: readonly JsonObject[], call: OperationContext): JsonObject[] {
  const { accounts } = call.settings;
  const spared: JsonObject[] = [];
  const found = records.filter(
    (record) => !isOwnAccount(accounts, record['active-user-name']) || void spared.push(summarizeSession(record)),
  );
  if (spared.length > 0) call.addToEnvelope({ spared });
  return found;
}

/**
 * Lists the sessions of a user. If nobody has the exact name, it looks at all sessions and puts similar names into `envelope.similar`,
 * because the appliance may know the person by another spelling.
 */
export async function listSessionsOfUser(name: string, match: NameMatchMode, call: OperationContext): Promise<JsonObject[]> {
  const matches = createNameMatcher(name, match);
  const isMatch = (record: JsonObject): boolean => matches(record['active-user-name']);
  if (match === 'exact') {
    // The appliance may compare names loosely.
    const found = (await listSessions({ name: name.trim() }, call)).filter(isMatch);
    if (found.length > 0) return found;
  }
  const all = await listSessions({}, call);
  const found = all.filter(isMatch);
  if (found.length > 0) return found;
  const similar = findSimilarNames(
    name,
    all.map((record) => record['active-user-name']),
  );
  if (similar.length > 0) call.addToEnvelope({ similar });
  return [];
}

/** Returns the user name. Errors: `BAD_INPUT` for the own account. */
export function assertNotOwnAccount(name: string, call: OperationContext): string {
  if (name.trim() === '') throw badInput('name is blank. Nothing was ended.');
  if (!isOwnAccount(call.settings.accounts, name)) return name;
  throw badInput(
    safeMessage`${JSON.stringify(name)} is the account that this package uses here. To end its sessions, use End sessions with their ids. Nothing was ended.`,
  );
}

/** Compares the names without case and domain, so that another spelling of the name does not lock this package out. */
export function isOwnAccount(accounts: readonly string[], name: unknown): boolean {
  return accounts.some((account) => createNameMatcher(account, 'ignore-domain')(name));
}

function toRecord(item: string | JsonObject): JsonObject {
  const record = isObject(item) ? item : { 'session-id': item };
  const id = record['session-id'];
  if (typeof id !== 'string' || id.trim() === '') throw badInput('session-id is missing or empty in an item. Nothing was ended.');
  if (canLeadToOtherPath(id))
    throw badInput(safeMessage`session-id is ${JSON.stringify(id)}: in a URL it means another path. Nothing was ended.`);
  return record;
}

function toEndRequest(record: JsonObject): { method: 'DELETE'; path: string } {
  return { method: 'DELETE', path: encodedPath`/api/v1/system/active-users/session/${record['session-id'] as string}` };
}

/** Returns the known identifying fields of a session for reports. */
export function summarizeSession(record: JsonObject): JsonObject {
  const parts = ['session-id', 'active-user-name', 'source-ip'].filter((key) => record[key] !== undefined);
  return Object.fromEntries(parts.map((key) => [key, record[key]]));
}
