import { isObject, readBoolean, readText, type JsonObject } from '../model/json';
import { toPointerSegment } from '../change/compare';
import { SECRET_MASK } from '../change/compare';
import type { AuditRule, AuditSubject } from './audit-rule';
import type { CollectionMember } from './configuration-index';
import type { RuleFault } from './finding';

const ROOT = '/api/v1/configuration';
const ADMIN_REALMS = `${ROOT}/administrators/admin-realms/realm`;
const REALM = `${ADMIN_REALMS}/Admins`;
const USER = `${ROOT}/authentication/auth-servers/auth-server/Local/local/users/user/jo`;
const SESSION_OPTIONS = /\/session-options$/;
const SECOND_FACTOR = /second|two-?factor|multi-?factor|mfa|totp/i;
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
export const accessRules: readonly AuditRule[] = [
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
    check: ({ index }) => {
      const realms = [...index.members.values()].filter(
        ({ collection, resource }) => collection === ADMIN_REALMS && readServer(resource) !== undefined,
      );
      if (realms.length === 0) return undefined;
      const servers = readServerTypes([...index.members.values()]);
      return realms
        .filter(({ path, resource }) => {
          const resources = [resource, ...index.listBelow(path).map((below) => index.resources.get(below) ?? {})];
          return !STRONG_SERVERS.includes(servers.get(readServer(resource) ?? '') ?? '') && !resources.some(hasSecondFactor);
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
        return (['idle-timeout', 'max-timeout'] as const).flatMap((key): RuleFault[] => {
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
      checkUsers(subject, /^one-time-use$/, ({ resource }) => {
        if (readBoolean(resource['one-time-use']) === true) return 'one-time-use';
        return Object.keys(resource).find((key) => {
          const end = ACCOUNT_END_FIELD.test(key) ? Date.parse(String(resource[key])) : NaN;
          return end < subject.now;
        });
      }),
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
      checkUsers(subject, LAST_USE_FIELD, ({ resource }) =>
        Object.keys(resource).find((key) => LAST_USE_FIELD.test(key) && isNever(resource[key])),
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
      const clients = index.paths.filter((path) => isRadiusOrSnmpClient(path));
      if (clients.length === 0) return undefined;
      return clients.flatMap((path): RuleFault[] => {
        const resource = index.resources.get(path) ?? {};
        const name = index.findOwner(path)?.name ?? '';
        const secret = weakSecrets.get(path) ?? findWeakSecret(resource);
        if (secret !== undefined) return [{ path, name, evidence: { field: toPointerSegment(secret), value: SECRET_MASK } }];
        return WELL_KNOWN.has(name.toLowerCase()) ? [{ path, name, evidence: { field: '/name', value: name } }] : [];
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

function findOpenAccess(path: string, { index }: AuditSubject): RuleFault[] {
  const resource = index.resources.get(path) ?? {};
  const name = index.findOwner(path)?.name ?? '';
  if (resource['customized'] === 'any-ip') return [{ path, name, evidence: { field: '/customized', value: 'any-ip' } }];
  return index.listBelow(path).flatMap((below): RuleFault[] => {
    const { access, netmask } = index.resources.get(below) ?? {};
    return access === 'allow' && netmask === '0.0.0.0' ? [{ path: below, name, evidence: { field: '/netmask', value: netmask } }] : [];
  });
}

function readServer(realm: JsonObject): string | undefined {
  const server = realm['authentication-server'];
  return typeof server === 'string' && server !== '' ? server : undefined;
}

function readServerTypes(members: readonly CollectionMember[]): Map<string, string> {
  const servers = members.filter(({ collection }) => collection.endsWith('/auth-servers/auth-server'));
  return new Map(servers.map(({ name, resource }) => [name, readText(resource['auth-server-type']).toLowerCase()]));
}

function hasSecondFactor(value: unknown, depth = 0): boolean {
  if (depth > 20 || typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => hasSecondFactor(item, depth + 1));
  return Object.entries(value).some(([key, item]) => {
    if (SECOND_FACTOR.test(key)) return hasValue(item);
    return hasSecondFactor(item, depth + 1);
  });
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
  needed: RegExp,
  findField: (user: CollectionMember) => string | undefined,
): RuleFault[] | undefined {
  const users = [...index.members.values()].filter(({ key, collection }) => key === 'username' && collection.includes('/local/users'));
  if (!users.some(({ resource }) => Object.keys(resource).some((key) => needed.test(key) || ACCOUNT_END_FIELD.test(key)))) return undefined;
  return users.flatMap((user): RuleFault[] => {
    if (readBoolean(user.resource['enabled']) === false || user.resource['enabled'] === 'disabled') return [];
    const field = findField(user);
    if (field === undefined) return [];
    return [{ path: user.path, name: user.name, evidence: { field: toPointerSegment(field), value: user.resource[field] } }];
  });
}
