import type { Gateway } from '../../src/gateway/gateway';
import { asGatewayError } from '../../src/model/error';
import { isObject, type JsonObject } from '../../src/model/json';
import { createPostRoute } from './admin-route';
import { withDialogGateway } from './draft-gateways';

/** What the account of an administrator may do. A property is missing if the appliance does not report it. */
interface AccountCapabilities {
  /** Seconds by which the clock of the appliance is ahead. */
  clock?: number | undefined;
  role?: string | undefined;
  /** Whether the role may write. Known only for the built-in roles. */
  writes?: boolean | undefined;
  /** Minutes of inactivity after which an API key of this role expires. */
  idle?: number | undefined;
  readonly reads: readonly string[];
  readonly denied: readonly string[];
}

/** One read operation for each part of the interface. */
const CAPABILITY_PROBES: readonly (readonly [name: string, operation: string, input: JsonObject])[] = [
  ['administrators', 'config.get', { path: 'administrators' }],
  ['authentication', 'config.get', { path: 'authentication' }],
  ['users', 'config.get', { path: 'users' }],
  ['system', 'config.get', { path: 'system' }],
  ['sessions', 'request.get', { path: 'system/active-users', query: { number: '1' } }],
  ['license', 'license.lease-info', {}],
  ['cluster', 'cluster.status', {}],
];
const MAX_READ_MS = 15_000;
const ROLES_PATH = ['administrators', 'admin-roles', 'admin-role'];
const CAN_ROLE_WRITE: Readonly<Record<string, boolean>> = { '.Administrators': true, '.Read-Only Administrators': false };

/** `POST /gateway-appliance/account` reads what the account may do, after a successful connection test. */
export const accountRoute = createPostRoute('/gateway-appliance/account', (red, body, clientSignal) => {
  const draft = isObject(body.appliance) ? body.appliance : {};
  const typedCredentials = isObject(draft.credentials) ? draft.credentials : {};
  return withDialogGateway(red, body, async (gateway) => ({
    ...(await readAccountCapabilities(gateway, { ...draft, ...typedCredentials }, clientSignal)),
  }));
});

async function readAccountCapabilities(
  gateway: Gateway,
  { realm, username }: JsonObject,
  clientSignal: AbortSignal,
): Promise<AccountCapabilities> {
  const signal = AbortSignal.any([clientSignal, AbortSignal.timeout(MAX_READ_MS)]);
  const read = async (operation: string, input: JsonObject): Promise<unknown> => (await gateway.run(operation, input, { signal })).data;
  // If the login fails, its error is the answer.
  await read('system.info', {});
  const [parts, role] = await Promise.all([probeCapabilities(read), findRole(read, realm, username).catch(() => undefined)]);
  const idle = role === undefined ? undefined : await readIdleMinutes(read, role).catch(() => undefined);
  return { clock: gateway.clockOffsetSeconds, role, writes: CAN_ROLE_WRITE[role ?? ''], idle, ...parts };
}

type ReadOperation = (operation: string, input: JsonObject) => Promise<unknown>;

async function probeCapabilities(read: ReadOperation): Promise<Pick<AccountCapabilities, 'reads' | 'denied'>> {
  const codes = await Promise.all(
    CAPABILITY_PROBES.map(([, operation, input]) =>
      read(operation, input).then(
        () => 'ok',
        (thrown: unknown) => asGatewayError(thrown).code,
      ),
    ),
  );
  const partsWithCode = (code: string): string[] => CAPABILITY_PROBES.flatMap(([name], index) => (codes[index] === code ? [name] : []));
  return { reads: partsWithCode('ok'), denied: partsWithCode('FORBIDDEN') };
}

/** Finds the role in the session of the account, or in the role mapping of its realm if all rules name one role. */
async function findRole(read: ReadOperation, realm: unknown, username: unknown): Promise<string | undefined> {
  const found = await read('sessions.list', { name: username }).catch(() => []);
  const ownSessions = (Array.isArray(found) ? found.filter(isObject) : []).filter(
    (session) => session['active-user-name'] === username && session['authentication-realm'] === realm,
  );
  const roles = new Set(ownSessions.map((session) => session['user-roles']).filter((role) => typeof role === 'string' && role !== ''));
  const candidates = roles.size > 0 ? roles : await readMappedRoles(read, realm);
  const [singleRole] = candidates;
  return candidates.size === 1 && typeof singleRole === 'string' ? singleRole : undefined;
}

async function readMappedRoles(read: ReadOperation, realm: unknown): Promise<Set<unknown>> {
  const rules = await read('config.get', { path: ['administrators', 'admin-realms', 'realm', realm, 'role-mapping-rules'] });
  const list = isObject(rules) && Array.isArray(rules.rule) ? rules.rule.filter(isObject) : [];
  return new Set(list.flatMap(({ roles }) => (Array.isArray(roles) ? (roles as unknown[]) : [roles])));
}

async function readIdleMinutes(read: ReadOperation, role: string): Promise<number | undefined> {
  const options = await read('config.get', { path: [...ROLES_PATH, role, 'general', 'session-options'] });
  const minutes = isObject(options) ? Number(options['idle-timeout']) : NaN;
  return minutes > 0 ? minutes : undefined;
}
