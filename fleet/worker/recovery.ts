import { isDeepStrictEqual } from 'node:util';
import { findSecrets, isSecretName, type Gateway, type JsonObject } from '@gateway-admin/node-red';
import { isInterruptedError } from '../store/database';
import { hasErrorCode } from './item-outcome';
import type { JsonRecord } from '../store/rows';

/**
 * Decision about a write that may have been sent. An operation and input run again, because they cannot do harm twice. `done` means that the
 * appliance shows the write.
 */
type RecoveryDecision =
  | { readonly operation: string; readonly input: JsonRecord }
  /** Result of the comparison with the appliance. `changed` is null if the state may be older than the run. */
  | { readonly done: true; readonly changed: true | null };

interface PendingItem {
  readonly operation: string;
  readonly input: JsonRecord;
  readonly gateway: Gateway;
}

interface InterruptedItem extends PendingItem {
  /** Seconds since the run was started. */
  readonly ageSeconds: number;
  /** What `readStateBeforeRecovery` returned before the write. */
  readonly before: JsonRecord | null;
}

type RecoveryStrategy = (item: InterruptedItem) => Promise<RecoveryDecision | undefined> | RecoveryDecision;

/** Recovers an operation that reads and compares before it writes, by running it again. */
const rerun: RecoveryStrategy = ({ operation, input }) => ({ operation: operation, input });

/** Recovers a deletion: a missing object counts as deleted. */
const rerunIgnoringMissing: RecoveryStrategy = ({ operation, input }) => ({
  operation: operation,
  input: { ...input, 'missing-ok': true },
});

const SIGN_IN_FIELD = 'sign-in-time-micro';

/** Returns the sign-in time in milliseconds; 0 if it is missing. The field is in seconds, despite its name. */
const readSignInTime = (session: JsonObject): number => Number(session[SIGN_IN_FIELD] ?? 0) * 1000 || 0;

/** Ends only sessions that existed before the run started, so that users who signed in later keep theirs. */
const endUserSessions: RecoveryStrategy = async ({ input, ageSeconds, gateway }) => {
  const { name, max } = input;
  const { data } = await gateway.run('sessions.list', { name: String(name) });
  const before = Date.now() + (gateway.clockOffsetSeconds ?? 0) * 1000 - ageSeconds * 1000;
  const sessions = data.filter((session) => session['active-user-name'] === name);
  // Without a time, a session may be older or newer than the run.
  if (sessions.some((session) => readSignInTime(session) === 0)) return undefined;
  const records = sessions.filter((session) => readSignInTime(session) < before);
  if (records.length === 0) return { done: true, changed: null };
  return { operation: 'sessions.kill', input: { 'session-id': records, ...(max !== undefined && { max }) } };
};

const endMatchingSessions: RecoveryStrategy = ({ operation, input, ageSeconds }) => {
  const filter = input['filter'] as JsonRecord;
  // A filter with an age already excludes newer sessions.
  const ageCondition = 'older-than' in filter ? {} : { 'older-than': ageSeconds / 3600 };
  return { operation: operation, input: { ...input, filter: { ...filter, ...ageCondition } } };
};

/** Ends the remaining sessions by id. An appliance never reuses an id, so a missing session has ended. */
const endSessions: RecoveryStrategy = async ({ operation, input, gateway }) => {
  const sessionInput = input['session-id'];
  const ids = (Array.isArray(sessionInput) ? (sessionInput as unknown[]) : [sessionInput]).map((one) =>
    typeof one === 'string' ? one : (one as JsonRecord)['session-id'],
  );
  const { data } = await gateway.run('sessions.list', {});
  const remaining = data.filter((one) => ids.includes(one['session-id']));
  return remaining.length === 0 ? { done: true, changed: null } : { operation: operation, input: { ...input, 'session-id': remaining } };
};

/** Finds the user of an operation on a single user. With several users, nothing shows how far the operation came. */
async function findUser({ input, gateway }: PendingItem): Promise<JsonObject | 'missing' | undefined> {
  const { server, username } = input;
  if (typeof server !== 'string' || typeof username !== 'string') return undefined;
  try {
    return (await gateway.run('users.get', { server, username })).data;
  } catch (thrown) {
    if (hasErrorCode(thrown, 'NOT_FOUND')) return 'missing';
    throw thrown;
  }
}

/** Recovers a creation. An existing user proves the write only if the user was missing before it. */
const createUser: RecoveryStrategy = async (item) => {
  const user = await findUser(item);
  if (user === 'missing') return { operation: item.operation, input: item.input };
  return user !== undefined && item.before?.['missing'] === true ? { done: true, changed: true } : undefined;
};

/** Recovers a change of a user, unless it contains a password, which cannot be compared. */
const createUserChange =
  (fields: (input: JsonRecord) => JsonRecord): RecoveryStrategy =>
  async (item) => {
    const wanted = fields(item.input);
    const hasSecrets = !findSecrets(wanted).next().done || Object.keys(wanted).some(isSecretName);
    const user = hasSecrets ? undefined : await findUser(item);
    if (user === undefined) return undefined;
    const isApplied = user !== 'missing' && Object.entries(wanted).every(([name, value]) => isSameValue(user[name], value));
    return isApplied ? { done: true, changed: null } : { operation: item.operation, input: item.input };
  };

/** Compares two values as texts, because appliances may return numbers and booleans as text. */
function isSameValue(found: unknown, wanted: unknown): boolean {
  const isScalar = (value: unknown): value is string | number | boolean => ['string', 'number', 'boolean'].includes(typeof value);
  if (found === undefined) return false;
  return isScalar(found) && isScalar(wanted) ? String(found) === String(wanted) : isDeepStrictEqual(found, wanted);
}

/** The fields that a user has after an update. */
const pickChangedFields = ({ server: _server, username: _username, max: _max, more, ...fields }: JsonRecord): JsonRecord => ({
  ...fields,
  ...(more as JsonRecord | undefined),
});

const RECOVERY_STRATEGIES: Readonly<Record<string, RecoveryStrategy>> = {
  'config.ensure': rerun,
  'config.ensure-all': rerun,
  'users.ensure': rerun,
  'groups.ensure': rerun,
  'groups.add': rerun,
  'groups.remove': rerun,
  'policy.ensure-radius-client': rerun,
  'config.delete': rerunIgnoringMissing,
  'users.delete': rerunIgnoringMissing,
  'certificates.delete': rerunIgnoringMissing,
  'policy.delete-snmp-client': rerunIgnoringMissing,
  'cluster.remove-member': rerunIgnoringMissing,
  'sessions.kill': endSessions,
  'sessions.kill-user': endUserSessions,
  'sessions.kill-matching': endMatchingSessions,
  'users.create': createUser,
  'users.update': createUserChange(pickChangedFields),
  'users.enable': createUserChange(() => ({ enabled: true })),
  'users.disable': createUserChange(() => ({ enabled: false })),
};

/** Decides about an item whose write may have been sent. Undefined if only a person can decide. */
export async function recoverItem(item: InterruptedItem): Promise<RecoveryDecision | undefined> {
  return findRecoveryStrategy(item.operation)?.(item);
}

/**
 * Reads what a later recovery needs to know about the state before the write. Undefined if the operation needs nothing, or if the read failed,
 * so that the outcome is unknown after a crash.
 */
export async function readStateBeforeRecovery(item: PendingItem): Promise<JsonRecord | undefined> {
  if (item.operation !== 'users.create') return undefined;
  try {
    return (await findUser(item)) === 'missing' ? { missing: true } : undefined;
  } catch (thrown) {
    if (isInterruptedError(thrown)) throw thrown;
    return undefined;
  }
}

/** Returns the recovery strategy of an operation; undefined if only a person can decide. */
export function findRecoveryStrategy(operation: string): RecoveryStrategy | undefined {
  return Object.hasOwn(RECOVERY_STRATEGIES, operation) ? RECOVERY_STRATEGIES[operation] : undefined;
}
