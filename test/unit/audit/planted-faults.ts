import type { AuditRuleExample } from '../../../src/audit/audit-rule';
import type { JsonObject } from '../../../src/model/json';

const ROOT = '/api/v1/configuration';
const KINDS = ['unused', 'dangling', 'duplicate', 'open', 'single', 'session', 'one-time', 'never', 'ends', 'weak', 'client'] as const;
/** Faults outside the configuration, and rights. The last two can occur once. */
const OTHER_KINDS = ['license', 'member', 'rights', 'health', 'release'] as const;
const ALL_KINDS = [...KINDS, ...OTHER_KINDS];
type Kind = (typeof ALL_KINDS)[number];
const RULES: Record<Kind, string> = {
  unused: 'unused-object',
  dangling: 'dangling-reference',
  duplicate: 'duplicate-object',
  open: 'admin-realm-open',
  single: 'admin-realm-single-factor',
  session: 'session-too-long',
  'one-time': 'user-one-time',
  never: 'user-never-used',
  ends: 'certificate-ends',
  weak: 'certificate-weak',
  client: 'well-known-community',
  license: 'license-nearly-used',
  member: 'cluster-member-down',
  rights: 'account-has-more-rights',
  health: 'health-over-limit',
  release: 'release-not-listed',
};

export interface PlantedTree {
  readonly resources: Map<string, JsonObject>;
  /** Facts outside the configuration. */
  readonly subject: Omit<AuditRuleExample, 'resources'>;
  /** Rule and path of each fault, or its name if it has no path. */
  readonly faults: ReadonlySet<string>;
}

function createRandom(seed: number): (limit: number) => number {
  let state = seed * 2654435761 + 12345;
  return (limit) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) | 0;
    return (state >>> 1) % limit;
  };
}

/** A sound configuration of about `size` resources with faults of every kind. */
export function plantFaults(seed: number, size: number, faultCount: number): PlantedTree {
  const random = createRandom(seed);
  const resources = new Map<string, JsonObject>();
  const faults = new Set<string>();
  const roles: string[] = [];
  const features: JsonObject[] = [];
  const members: JsonObject[] = [];
  const health: Record<string, number> = { 'CPU-UTILIZATION': 10, 'DISK-UTILIZATION': 20 };
  const accountRoles: string[] = [];
  let release = '25.1';
  const add = (path: string, resource: JsonObject): string => {
    resources.set(`${ROOT}/${path}`, resource);
    return `${ROOT}/${path}`;
  };
  const addServer = (name: string): string =>
    add(`authentication/auth-servers/auth-server/${name}`, { name, 'auth-server-type': 'ldap', description: `Directory of ${name}` });
  const addRole = (name: string, isLong = false): string => {
    const path = add(`users/user-roles/user-role/${name}`, { name, description: `Role number ${resources.size}` });
    const options = `users/user-roles/user-role/${name}/general/session-options`;
    add(options, { 'idle-timeout': isLong ? '600' : '20', 'max-timeout': '480' });
    return path;
  };
  const addRealm = (name: string, server: string, used: readonly string[]): string => {
    const path = add(`users/user-realms/realm/${name}`, { name, 'authentication-server': server, description: `Realm ${resources.size}` });
    add(`users/user-realms/realm/${name}/role-mapping-rules`, {
      rule: used.map((role, index) => ({ name: `Rule ${index}`, roles: [role] })),
    });
    add(`authentication/signin/urls/access-url/${name}`, { 'url-pattern': `*/${name}/`, realms: `${name}, Main` });
    return path;
  };
  const addAdminRealm = (name: string, isOpen: boolean, isSingle: boolean): string => {
    const path = add(`administrators/admin-realms/realm/${name}`, {
      name,
      description: `Realm ${resources.size}`,
      'authentication-server': 'Directory-0',
      ...(!isSingle && { 'secondary-authentication-server': 'Directory-1' }),
    });
    add(`administrators/admin-realms/realm/${name}/authentication-policy/source-ip`, { customized: isOpen ? 'any-ip' : 'selected-ip' });
    add(`administrators/signin/${name}`, { 'url-pattern': `*/${name}`, realm: name });
    return path;
  };
  const addUser = (username: string, oneTime: string, lastLogin: string): string =>
    add(`authentication/auth-servers/auth-server/Directory-0/local/users/user/${username}`, {
      ...{ username, enabled: 'true', 'one-time-use': oneTime, 'last-login': lastLogin },
    });
  const addCertificate = (name: string, end: string, bits: number): string =>
    add(`system/certificates/${name}`, { subject: `CN=${name}`, 'valid-to': end, 'key-size': bits });
  const addClient = (name: string, community: string): string =>
    add(`uac/snmpEnforcement/clients/client/${name}`, { name, community, 'ip-address': `192.0.2.${resources.size}` });

  const addFeature = (name: string, leased: number): string => {
    features.push({ name, 'total-count': 100, clients: { 'client-info': [{ 'leased-count': leased }] } });
    return name;
  };
  const addMember = (name: string, enabled: boolean): string => {
    members.push({ name, enabled, notes: 'Active' });
    return name;
  };
  const addAccountRole = (name: string, access: string): string => {
    const path = add(`administrators/admin-roles/admin-role/${name}`, { name, description: `Role number ${resources.size}` });
    add(`administrators/admin-roles/admin-role/${name}/system-tasks`, { access });
    accountRoles.push(name);
    return `${path}/system-tasks`;
  };

  addFeature('Users', 50);
  addMember('node-1', true);
  addAccountRole('Readers', 'read');
  for (let number = 0; number < 10; number++) addServer(`Directory-${number}`);
  add('users/user-realms/realm/Main', { name: 'Main', 'authentication-server': 'Directory-0', description: 'First' });
  for (let number = 0; resources.size < size; number++) {
    const name = `Group-${random(1_000_000)}-${number}`;
    roles.push(name);
    addRole(name);
    addRealm(`Realm-${number}`, `Directory-${number % 10}`, [name]);
    if (number % 8 === 0) addAdminRealm(`Admins-${number}`, false, false);
    addUser(`user-${number}`, 'false', '2026-01-01T00:00:00Z');
    if (number % 4 === 0) addCertificate(`portal-${number}`, '2090-01-01T00:00:00Z', 4096);
    if (number % 4 === 1) addClient(`switch-${number}`, `k3y-${number}`);
  }
  const plant: Record<Kind, (id: string) => string> = {
    unused: (id) => addRole(`Unused-${id}`),
    dangling: (id) => addRealm(`Broken-${id}`, `Gone-${id}`, [roles[random(roles.length)] ?? '']),
    duplicate: (id) => {
      add(`users/resource-profiles/web-profile/A-${id}`, { name: `A-${id}`, url: `https://${id}.example.com`, role: roles[0] });
      const path = add(`users/resource-profiles/web-profile/B-${id}`, {
        name: `B-${id}`,
        url: `https://${id}.example.com`,
        role: roles[0],
      });
      add(`users/bookmarks/${id}`, { profiles: [`A-${id}`, `B-${id}`] });
      return path;
    },
    open: (id) => `${addAdminRealm(`Open-${id}`, true, false)}/authentication-policy/source-ip`,
    single: (id) => addAdminRealm(`Single-${id}`, false, true),
    session: (id) => {
      const path = addRole(`Long-${id}`, true);
      add(`users/bookmarks/long-${id}`, { roles: `Main, Long-${id}` });
      return `${path}/general/session-options`;
    },
    'one-time': (id) => addUser(`guest-${id}`, 'true', '2026-01-01T00:00:00Z'),
    never: (id) => addUser(`idle-${id}`, 'false', 'Never'),
    ends: (id) => addCertificate(`old-${id}`, '2020-01-01T00:00:00Z', 4096),
    weak: (id) => addCertificate(`weak-${id}`, '2090-01-01T00:00:00Z', 1024),
    client: (id) => addClient(`open-${id}`, 'public'),
    license: (id) => addFeature(`Feature-${id}`, 95),
    member: (id) => addMember(`node-${id}`, false),
    rights: (id) => addAccountRole(`Flows-${id}`, 'write'),
    health: () => {
      health['SWAP-UTILIZATION'] = 99;
      return 'SWAP-UTILIZATION';
    },
    release: () => (release = '9.0'),
  };
  for (let number = 0; number < faultCount; number++) {
    const kind = ALL_KINDS[number < ALL_KINDS.length ? number : random(ALL_KINDS.length - 2)] ?? 'unused';
    faults.add(`${RULES[kind]} ${plant[kind](`${number}-${random(1000)}`)}`);
  }
  add('administrators/admin-realms/realm/API/role-mapping-rules', { rule: [{ name: 'All', roles: accountRoles }] });
  const leases = { 'leased-license-counts': { features: { feature: features } } };
  const live = { leases, cluster: { members }, health, realm: 'API' };
  return { resources, faults, subject: { release, limits: { releases: ['25.1'], operations: ['sessions.list'] }, live } };
}
