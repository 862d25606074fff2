import type { NodeAPI } from 'node-red';
import type { Gateway } from '../src/gateway';
import { asGatewayError } from '../src/model/error';
import { isObject, type JsonObject } from '../src/model/json';
import { adminRoute } from './admin';
import { askAppliance } from './drafts';

/** What an administrator's account is good for, as far as the appliance lets it know; what nobody tells is not there. */
export interface Account {
  /** Seconds by which the appliance's clock is ahead. */
  clock?: number | undefined;
  role?: string | undefined;
  /** Whether the role may write: known of those that every appliance has. */
  writes?: boolean | undefined;
  /** Minutes without use after which a key of that role ends. */
  idle?: number | undefined;
  readonly reads: readonly string[];
  readonly denied: readonly string[];
}

/** One read for each part of the interface, small where there is a choice. */
const PARTS: readonly (readonly [name: string, operation: string, input: JsonObject])[] = [
  ['administrators', 'config.get', { path: 'administrators' }],
  ['authentication', 'config.get', { path: 'authentication' }],
  ['users', 'config.get', { path: 'users' }],
  ['system', 'config.get', { path: 'system' }],
  ['sessions', 'request.get', { path: 'system/active-users', query: { number: '1' } }],
  ['license', 'license.lease-info', {}],
  ['cluster', 'cluster.status', {}],
];
const LONGEST_MS = 15_000;
const ROLES = ['administrators', 'admin-roles', 'admin-role'];
const WRITERS: Readonly<Record<string, boolean>> = { '.Administrators': true, '.Read-Only Administrators': false };

/** `POST /gateway-appliance/account`: after a test that succeeded, what else is worth knowing before Done. It only reads. */
export function registerAccount(red: NodeAPI): void {
  adminRoute(red, '/gateway-appliance/account', (body, gone) => {
    const draft = isObject(body.appliance) ? body.appliance : {};
    const typed = isObject(draft.credentials) ? draft.credentials : {};
    return askAppliance(red, body, async (gateway) => ({ ...(await accountOf(gateway, { ...draft, ...typed }, gone)) }));
  });
}

async function accountOf(gateway: Gateway, { realm, username }: JsonObject, gone: AbortSignal): Promise<Account> {
  const signal = AbortSignal.any([gone, AbortSignal.timeout(LONGEST_MS)]);
  const read = async (operation: string, input: JsonObject): Promise<unknown> => (await gateway.run(operation, input, { signal })).data;
  // Without a login there is nothing to be told; then that is the answer.
  await read('system.info', {});
  const [parts, role] = await Promise.all([allowed(read), roleOf(read, realm, username).catch(() => undefined)]);
  const idle = role === undefined ? undefined : await idleOf(read, role).catch(() => undefined);
  return { clock: gateway.clock, role, writes: WRITERS[role ?? ''], idle, ...parts };
}

type Read = (operation: string, input: JsonObject) => Promise<unknown>;

async function allowed(read: Read): Promise<Pick<Account, 'reads' | 'denied'>> {
  const codes = await Promise.all(
    PARTS.map(([, operation, input]) =>
      read(operation, input).then(
        () => 'ok',
        (thrown: unknown) => asGatewayError(thrown).code,
      ),
    ),
  );
  const named = (code: string): string[] => PARTS.flatMap(([name], index) => (codes[index] === code ? [name] : []));
  return { reads: named('ok'), denied: named('FORBIDDEN') };
}

/** By its own session, where the list has those of administrators; else by the rules of its realm, if all lead to one role. */
async function roleOf(read: Read, realm: unknown, username: unknown): Promise<string | undefined> {
  const found = await read('sessions.list', { name: username }).catch(() => []);
  const own = (Array.isArray(found) ? found.filter(isObject) : []).filter(
    (one) => one['active-user-name'] === username && one['authentication-realm'] === realm,
  );
  const roles = new Set(own.map((one) => one['user-roles']).filter((role) => typeof role === 'string' && role !== ''));
  const mapped = roles.size > 0 ? roles : await mappedTo(read, realm);
  const [only] = mapped;
  return mapped.size === 1 && typeof only === 'string' ? only : undefined;
}

async function mappedTo(read: Read, realm: unknown): Promise<Set<unknown>> {
  const rules = await read('config.get', { path: ['administrators', 'admin-realms', 'realm', realm, 'role-mapping-rules'] });
  const list = isObject(rules) && Array.isArray(rules.rule) ? rules.rule.filter(isObject) : [];
  return new Set(list.flatMap(({ roles }) => (Array.isArray(roles) ? (roles as unknown[]) : [roles])));
}

async function idleOf(read: Read, role: string): Promise<number | undefined> {
  const options = await read('config.get', { path: [...ROLES, role, 'general', 'session-options'] });
  const minutes = isObject(options) ? Number(options['idle-timeout']) : NaN;
  return minutes > 0 ? minutes : undefined;
}
