import { isSecretName, type Gateway, type JsonObject } from '@gateway-admin/node-red';
import { isFailureOf } from './outcome';
import type { Json } from '../ledger/rows';

/**
 * What can be done about a write of which nobody knows whether it left. `again`: the operation itself looks before it writes, so it is run
 * again, perhaps with another input. `done`: it was found to have happened.
 */
export type Look = { readonly again: string; readonly input: Json } | { readonly done: true };

interface Order {
  readonly operation: string;
  readonly input: Json;
  /** Seconds since it was given. */
  readonly age: number;
  readonly gateway: Gateway;
}

type Looker = (order: Order) => Promise<Look | undefined> | Look;

/** They read and compare before they write. */
const same: Looker = ({ operation, input }) => ({ again: operation, input });

/** What is gone already has been deleted. */
const gone: Looker = ({ operation, input }) => ({ again: operation, input: { ...input, 'missing-ok': true } });

const SIGN_IN = 'sign-in-time-micro';

/** In seconds, whatever its name says; one that is not told is none. */
function signedInBefore(session: JsonObject, ms: number): boolean {
  const time = Number(session[SIGN_IN]) * 1000;
  return time > 0 && time < ms;
}

/** Ends those alone that were there before the order: who has signed in since is not meant. */
const endUser: Looker = async ({ input, age, gateway }) => {
  const { name, max } = input;
  const { data } = await gateway.run('sessions.list', { name: String(name) });
  const before = Date.now() + (gateway.clock ?? 0) * 1000 - age * 1000;
  const records = data.filter((one) => one['active-user-name'] === name && signedInBefore(one, before));
  return { again: 'sessions.kill', input: { 'session-id': records, ...(max !== undefined && { max }) } };
};

const endMatching: Looker = ({ operation, input, age }) => {
  const filter = input['filter'] as Json;
  // One that has an age already means no newer ones than it did.
  const older = 'older-than' in filter ? {} : { 'older-than': age / 3600 };
  return { again: operation, input: { ...input, filter: { ...filter, ...older } } };
};

/** By their ids: an id is never given to another session. Those that are gone have ended. */
const endSessions: Looker = async ({ operation, input, gateway }) => {
  const given = input['session-id'];
  const ids = (Array.isArray(given) ? (given as unknown[]) : [given]).map((one) =>
    typeof one === 'string' ? one : (one as Json)['session-id'],
  );
  const { data } = await gateway.run('sessions.list', {});
  const left = data.filter((one) => ids.includes(one['session-id']));
  return left.length === 0 ? { done: true } : { again: operation, input: { ...input, 'session-id': left } };
};

/** One user alone: of several nobody knows how far it came. */
async function userOf({ input, gateway }: Order): Promise<JsonObject | 'missing' | undefined> {
  const { server, username } = input;
  if (typeof server !== 'string' || typeof username !== 'string') return undefined;
  try {
    return (await gateway.run('users.get', { server, username })).data;
  } catch (thrown) {
    if (isFailureOf(thrown, 'NOT_FOUND')) return 'missing';
    throw thrown;
  }
}

const createUser: Looker = async (order) => {
  const user = await userOf(order);
  if (user === undefined) return undefined;
  return user === 'missing' ? { again: order.operation, input: order.input } : { done: true };
};

/** A password cannot be compared. */
const changeUser =
  (fields: (input: Json) => Json): Looker =>
  async (order) => {
    const wanted = fields(order.input);
    const user = Object.keys(wanted).some(isSecretName) ? undefined : await userOf(order);
    if (user === undefined) return undefined;
    const isSo = user !== 'missing' && Object.entries(wanted).every(([name, value]) => String(user[name]) === String(value));
    return isSo ? { done: true } : { again: order.operation, input: order.input };
  };

/** What of an update stands in the user afterwards. */
const given = ({ server: _server, username: _username, max: _max, more, ...fields }: Json): Json => ({
  ...fields,
  ...(more as Json | undefined),
});

const LOOKERS: Readonly<Record<string, Looker>> = {
  'config.ensure': same,
  'config.ensure-all': same,
  'users.ensure': same,
  'groups.ensure': same,
  'groups.add': same,
  'groups.remove': same,
  'policy.ensure-radius-client': same,
  'config.delete': gone,
  'users.delete': gone,
  'certificates.delete': gone,
  'policy.delete-snmp-client': gone,
  'cluster.remove-member': gone,
  'sessions.kill': endSessions,
  'sessions.kill-user': endUser,
  'sessions.kill-matching': endMatching,
  'users.create': createUser,
  'users.update': changeUser(given),
  'users.enable': changeUser(() => ({ enabled: true })),
  'users.disable': changeUser(() => ({ enabled: false })),
};

/** How to look, or nothing where a person has to. */
export function lookerOf(operation: string): Looker | undefined {
  return Object.hasOwn(LOOKERS, operation) ? LOOKERS[operation] : undefined;
}
