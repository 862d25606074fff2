import { isObject, readSwitchValue, readText, type JsonObject } from '../model/json';
import { toPointerSegment } from '../change/compare';
import { SECRET_MASK } from '../change/compare';
import { encodePathSegment } from '../model/path';
import { isPathWithinAny } from '../snapshot/resource-path';
import type { AuditRule, AuditSubject } from './audit-rule';
import type { CollectionMember } from './configuration-index';
import { readDate } from './read-date';
import type { Evidence, AuditRuleFault } from './finding';

const ROOT = '/api/v1/configuration';
const ADMIN_REALMS = `${ROOT}/administrators/admin-realms/realm`;
const SERVERS = `${ROOT}/authentication/auth-servers/auth-server`;
const REALM = `${ADMIN_REALMS}/Admins`;
const USER = `${SERVERS}/Local/local/users/user/jo`;
const LOCAL_USERS = /\/local\/users(?:\/user)?$/;
const OPEN_MASK = /^(?:0\.0\.0\.0|\/?0)$/;
const OPEN_ADDRESS = /^(?:\*|(?:0\.0\.0\.0|::)\/0(?:\.0\.0\.0)?)$/;
const SESSION_OPTIONS = /\/session-options$/;
/** Not a number of seconds. */
const SECOND_FACTOR = /(?<!per-)second(?!s(?![a-z]))|two-?factor|multi-?factor|mfa|totp/i;
/** Servers that ask for a second factor themselves, or that leave the sign-in to an identity provider which may do so. */
const STRONG_SERVERS = ['totp', 'saml', 'oauth', 'certificate', 'cert'];
const WITHOUT_VALUE = ['', 'none', 'false', 'disabled', '0'];
const LAST_USE_FIELD = /^last-(?:log-?in|sign-?in|access|used)(?:-(?:time|date|at))?$/i;
const ACCOUNT_END_FIELD = /^(?:account-)?(?:expir(?:es|y|ation)(?:-(?:date|time|on|at))?|valid-(?:to|until))$/i;
const CLIENT = /\/(?:radius-clients\/radius-client|snmpEnforcement\/clients\/client|snmp[^/]*(?:\/[^/]+)*)\/[^/]+$/i;
/** Names and communities that attackers try first. */
const WELL_KNOWN = new Set([
  'public',
  'private',
  'default',
  'test',
  'admin',
  'cisco',
  'community',
  'secret',
  'password',
  'radius',
  'snmp',
  'testing123',
]);
const SECRET_FIELD = /^(?:(?:ro-|rw-|read-|write-)?community(?:-string)?|shared-?secret|secret)$/i;

/** Rules for documented resources: realms, sessions, users, clients (appliance-api.md). */
export const accessAuditRules: readonly AuditRule[] = [
  {
    id: 'admin-realm-open',
    severity: 'high',
    title: 'Admin realms that any address may reach',
    message: 'Administrators can sign in to the realm from any address.',
    fix: 'Allow only the addresses of administrators in the authentication policy of the realm.',
    check: (subject) => {
      const sourceIps = subject.index.paths.filter(
        (path) => path.startsWith(`${ADMIN_REALMS}/`) && path.endsWith('/authentication-policy/source-ip'),
      );
      if (sourceIps.length === 0) return undefined;
      return sourceIps.flatMap((path) => findOpenAccess(path, subject));
    },
    passes: { resources: { [`${REALM}/authentication-policy/source-ip`]: { customized: 'selected-ip' } } },
    fails: { resources: { [`${REALM}/authentication-policy/source-ip`]: { customized: 'any-ip' } } },
  },
  {
    id: 'admin-realm-single-factor',
    severity: 'high',
    title: 'Admin realms without a second factor',
    message: 'Administrators sign in to the realm with one factor.',
    fix: 'Add a second authentication server to the realm.',
    check: ({ index, isPart, unreadable = new Set() }) => {
      const realms = [...index.members.values()].filter(
        ({ collection, resource }) => collection === ADMIN_REALMS && readServer(resource) !== undefined,
      );
      if (realms.length === 0) return undefined;
      const servers = readServerTypes([...index.members.values()]);
      // A server that was not read can ask for a second factor itself.
      const isKnown = (server: string): boolean =>
        servers.has(server) || !(isPart || isPathWithinAny(`${SERVERS}/${encodePathSegment(server.toWellFormed())}`, unreadable));
      return realms
        .filter(({ resource }) => isKnown(readServer(resource) ?? ''))
        .filter(({ path, resource }) => {
          const resources = [resource, ...index.listBelow(path).map((below) => index.resources.get(below) ?? {})];
          return !STRONG_SERVERS.includes(servers.get(readServer(resource) ?? '') ?? '') && !hasSecondFactor(resources);
        })
        .map(({ path, name, resource }) => ({
          path,
          name,
          evidence: { field: '/authentication-server', value: readServer(resource) },
        }));
    },
    passes: { resources: { [REALM]: { name: 'Admins', 'authentication-server': 'Local', 'secondary-authentication-server': 'Codes' } } },
    fails: { resources: { [REALM]: { name: 'Admins', 'authentication-server': 'Local' } } },
  },
  {
    id: 'session-too-long',
    severity: 'medium',
    title: 'Sessions that may idle or last too long',
    message: 'The session time is over the limit.',
    fix: 'Shorten the idle or maximum session time of the role.',
    check: ({ index, limits }) => {
      const options = index.paths.filter((path) => SESSION_OPTIONS.test(path));
      if (options.length === 0) return undefined;
      return options.flatMap((path) => {
        const resource = index.resources.get(path) ?? {};
        return (['idle-timeout', 'max-timeout'] as const).flatMap((key): AuditRuleFault[] => {
          const minutes = typeof resource[key] === 'string' && resource[key].trim() === '' ? NaN : Number(resource[key] ?? NaN);
          if (!(minutes > limits[key])) return [];
          const message = `${key} is ${minutes} minutes. The limit is ${limits[key]}.`;
          return [{ path, name: index.findOwner(path)?.name ?? '', message, evidence: { field: `/${key}`, value: resource[key] } }];
        });
      });
    },
    passes: { resources: { [`${ROOT}/users/user-roles/user-role/A/general/session-options`]: { 'idle-timeout': '10' } } },
    fails: { resources: { [`${ROOT}/users/user-roles/user-role/A/general/session-options`]: { 'idle-timeout': '600' } } },
  },
  {
    id: 'user-one-time',
    severity: 'medium',
    title: 'Enabled local users that are for one use or have expired',
    message: 'The enabled user is for one use, or has expired.',
    fix: 'Disable or delete the user.',
    check: (subject) =>
      checkUsers(
        subject,
        (key) => key === 'one-time-use' || ACCOUNT_END_FIELD.test(key),
        ({ resource }) => {
          if (readSwitchValue(resource['one-time-use']) === true) return 'one-time-use';
          return Object.keys(resource).find((key) => ACCOUNT_END_FIELD.test(key) && readDate(resource[key]) < subject.now);
        },
      ),
    passes: { resources: { [USER]: { username: 'jo', enabled: 'true', 'one-time-use': 'false' } } },
    fails: { resources: { [USER]: { username: 'jo', enabled: 'true', 'one-time-use': 'true' } } },
  },
  {
    id: 'user-never-used',
    severity: 'low',
    title: 'Enabled local users who never signed in',
    message: 'The enabled user has never signed in.',
    fix: 'Disable or delete the user.',
    check: (subject) =>
      checkUsers(
        subject,
        (key) => LAST_USE_FIELD.test(key),
        ({ resource }) => Object.keys(resource).find((key) => LAST_USE_FIELD.test(key) && isNever(resource[key])),
      ),
    passes: { resources: { [USER]: { username: 'jo', enabled: 'true', 'last-login': '2026-01-01T00:00:00Z' } } },
    fails: { resources: { [USER]: { username: 'jo', enabled: 'true', 'last-login': 'Never' } } },
  },
  {
    id: 'well-known-community',
    severity: 'high',
    title: 'RADIUS and SNMP clients with well-known names or communities',
    message: 'The client has a name, community or secret that attackers try first.',
    fix: 'Set a long random community or secret, and give the client its own name.',
    check: ({ index, weakSecrets }) => {
      const clients = index.paths.filter((path) => isRadiusOrSnmpClient(path) && isRadiusOrSnmpClient(index.maskNames(path)));
      if (clients.length === 0) return undefined;
      return clients.flatMap((path): AuditRuleFault[] => {
        const resource = index.resources.get(path) ?? {};
        const name = index.findOwner(path)?.name ?? '';
        const secret = weakSecrets.get(path) ?? findWeakSecret(resource);
        if (secret !== undefined) return [{ path, name, evidence: { field: toPointerSegment(secret), value: SECRET_MASK } }];
        return index.members.has(path) && WELL_KNOWN.has(name.toLowerCase())
          ? [{ path, name, evidence: { field: '/name', value: name } }]
          : [];
      });
    },
    passes: { resources: { [`${ROOT}/uac/snmpEnforcement/clients/client/hall`]: { name: 'hall', community: 'x7Kq-92' } } },
    fails: { resources: { [`${ROOT}/uac/snmpEnforcement/clients/client/hall`]: { name: 'hall', community: 'public' } } },
  },
];

/** Whether the resource is a client of RADIUS or SNMP. */
export function isRadiusOrSnmpClient(path: string): boolean {
  return CLIENT.test(path);
}

/** Returns the field with a well-known secret. Called before secrets are masked. */
export function findWeakSecret(resource: JsonObject): string | undefined {
  return Object.keys(resource).find((key) => {
    const value = resource[key];
    return SECRET_FIELD.test(key) && typeof value === 'string' && WELL_KNOWN.has(value.trim().toLowerCase());
  });
}

function findOpenAccess(path: string, { index }: AuditSubject): AuditRuleFault[] {
  const resource = index.resources.get(path) ?? {};
  const name = index.findOwner(path)?.name ?? '';
  if (resource['customized'] === 'any-ip') return [{ path, name, evidence: { field: '/customized', value: 'any-ip' } }];
  // The addresses are resources of their own, or lists in the resource.
  return [path, ...index.listBelow(path)].flatMap((below) =>
    listOpenAddresses(index.resources.get(below)).map((evidence) => ({ path: below, name, evidence })),
  );
}

function listOpenAddresses(value: unknown, pointer = '', depth = 0): Evidence[] {
  if (depth > 20 || typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value).flatMap(([key, item]: [string, unknown]) =>
    listOpenAddresses(item, pointer + toPointerSegment(key), depth + 1),
  );
  if (!isObject(value) || value['access'] !== 'allow') return below;
  const { address, netmask } = value;
  if (OPEN_MASK.test(readText(netmask))) return [{ field: `${pointer}/netmask`, value: netmask }, ...below];
  return OPEN_ADDRESS.test(readText(address)) ? [{ field: `${pointer}/address`, value: address }, ...below] : below;
}

function readServer(realm: JsonObject): string | undefined {
  const server = realm['authentication-server'];
  return typeof server === 'string' && server !== '' ? server : undefined;
}

function readServerTypes(members: readonly CollectionMember[]): Map<string, string> {
  const servers = members.filter(({ collection }) => collection.endsWith('/auth-servers/auth-server'));
  return new Map(servers.map(({ name, resource }) => [name, readText(resource['auth-server-type']).toLowerCase()]));
}

/** The name of a second server decides. Other fields, such as a template of the second user name, have a value also without a server. */
function hasSecondFactor(resources: readonly JsonObject[]): boolean {
  const fields = resources.flatMap((resource) => listSecondFactorFields(resource));
  const servers = fields.filter(([key]) => /server/i.test(key));
  return (servers.length > 0 ? servers : fields).some(([, value]) => hasValue(value));
}

function listSecondFactorFields(value: unknown, depth = 0): [string, unknown][] {
  if (depth > 20 || typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => listSecondFactorFields(item, depth + 1));
  return Object.entries(value).flatMap(([key, item]: [string, unknown]) =>
    SECOND_FACTOR.test(key) ? [[key, item]] : listSecondFactorFields(item, depth + 1),
  );
}

function hasValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasValue);
  if (isObject(value)) return Object.values(value).some(hasValue);
  return value !== undefined && value !== null && !WITHOUT_VALUE.includes(readText(value).toLowerCase());
}

function isNever(value: unknown): boolean {
  return (
    value === null || value === '' || value === 0 || value === '0' || (typeof value === 'string' && value.trim().toLowerCase() === 'never')
  );
}

/** Checks enabled local users. Returns undefined if no user has the field that the rule needs. */
function checkUsers(
  { index }: AuditSubject,
  isNeeded: (key: string) => boolean,
  findField: (user: CollectionMember) => string | undefined,
): AuditRuleFault[] | undefined {
  const users = [...index.members.values()].filter(({ collection }) => LOCAL_USERS.test(collection));
  if (!users.some(({ resource }) => Object.keys(resource).some(isNeeded))) return undefined;
  return users.flatMap((user): AuditRuleFault[] => {
    if (readSwitchValue(user.resource['enabled']) === false) return [];
    const field = findField(user);
    if (field === undefined) return [];
    return [{ path: user.path, name: user.name, evidence: { field: toPointerSegment(field), value: user.resource[field] } }];
  });
}
