import { isSecretName, type Gateway, type JsonObject } from '@gateway-admin/node-red';
import { hasErrorCode } from './item-outcome';
import type { JsonRecord } from '../store/rows';

/**
 * Decision about a write that may have been sent. An operation and input run again, because they cannot do harm twice. `done` means that the
 * appliance shows the write.
 */
export type RecoveryDecision = { readonly operation: string; readonly input: JsonRecord } | { readonly done: true };

interface InterruptedItem {
  readonly operation: string;
  readonly input: JsonRecord;
  /** Seconds since the run was started. */
  readonly ageSeconds: number;
  readonly gateway: Gateway;
}

type RecoveryStrategy = (item: InterruptedItem) => Promise<RecoveryDecision | undefined> | RecoveryDecision;

/** For operations that read and compare before they write. */
const rerun: RecoveryStrategy = ({ operation, input }) => ({ operation: operation, input });

/** For deletions: a missing object counts as deleted. */
const rerunIgnoringMissing: RecoveryStrategy = ({ operation, input }) => ({
  operation: operation,
  input: { ...input, 'missing-ok': true },
});

const SIGN_IN_FIELD = 'sign-in-time-micro';

/** The field is in seconds, despite its name. A missing time does not count. */
function hasSignedInBefore(session: JsonObject, ms: number): boolean {
  const time = Number(session[SIGN_IN_FIELD]) * 1000;
  return time > 0 && time < ms;
}

/** Ends only sessions that existed before the run started, so that users who signed in later keep theirs. */
const endUserSessions: RecoveryStrategy = async ({ input, ageSeconds, gateway }) => {
  const { name, max } = input;
  const { data } = await gateway.run('sessions.list', { name: String(name) });
  const before = Date.now() + (gateway.clockOffsetSeconds ?? 0) * 1000 - ageSeconds * 1000;
  const records = data.filter((one) => one['active-user-name'] === name && hasSignedInBefore(one, before));
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
  return remaining.length === 0 ? { done: true } : { operation: operation, input: { ...input, 'session-id': remaining } };
};

/** Finds the user of an operation on one user. With several users, the progress is unknown. */
async function findUser({ input, gateway }: InterruptedItem): Promise<JsonObject | 'missing' | undefined> {
  const { server, username } = input;
  if (typeof server !== 'string' || typeof username !== 'string') return undefined;
  try {
    return (await gateway.run('users.get', { server, username })).data;
  } catch (thrown) {
    if (hasErrorCode(thrown, 'NOT_FOUND')) return 'missing';
    throw thrown;
  }
}

const createUser: RecoveryStrategy = async (item) => {
  const user = await findUser(item);
  if (user === undefined) return undefined;
  return user === 'missing' ? { operation: item.operation, input: item.input } : { done: true };
};

/** A password cannot be compared. */
const createUserChange =
  (fields: (input: JsonRecord) => JsonRecord): RecoveryStrategy =>
  async (item) => {
    const wanted = fields(item.input);
    const user = Object.keys(wanted).some(isSecretName) ? undefined : await findUser(item);
    if (user === undefined) return undefined;
    const isApplied = user !== 'missing' && Object.entries(wanted).every(([name, value]) => String(user[name]) === String(value));
    return isApplied ? { done: true } : { operation: item.operation, input: item.input };
  };

/** What of an update stands in the user afterwards. */
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

/** The strategy of an operation; undefined if a person must check. */
export function findRecoveryStrategy(operation: string): RecoveryStrategy | undefined {
  return Object.hasOwn(RECOVERY_STRATEGIES, operation) ? RECOVERY_STRATEGIES[operation] : undefined;
}
