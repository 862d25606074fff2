import { isObject, readSwitchValue, readText, type JsonObject } from '../model/json';
import { toPointerSegment } from '../change/compare';
import type { AuditRule, ApplianceStatusData } from './audit-rule';
import type { Evidence, AuditRuleFault } from './finding';
import { encodePathSegment } from '../model/path';

const ADMINISTRATORS = '/api/v1/configuration/administrators';

const HEALTH_LIMITS: Readonly<Record<string, 'cpu' | 'memory' | 'disk'>> = {
  'CPU-UTILIZATION': 'cpu',
  'CPU-UTILIZATION4': 'cpu',
  'SWAP-UTILIZATION': 'memory',
  'DISK-UTILIZATION': 'disk',
};

/** An appliance that leases no licenses to others only says that its own are used up. */
const USERS_REACHED = 'MAX-LICENSED-USERS-REACHED';

const leases = (leased: number): ApplianceStatusData => ({
  leases: {
    'leased-license-counts': {
      features: { feature: [{ name: 'Users', 'total-count': 100, clients: { 'client-info': [{ 'leased-count': leased }] } }] },
    },
  },
});
const cluster = (enabled: boolean): ApplianceStatusData => ({ cluster: { members: [{ name: 'node-b', enabled, notes: '' }] } });
const account = (access: string) => ({
  resources: {
    [`${ADMINISTRATORS}/admin-roles/admin-role/Flows/system-tasks`]: { access },
    [`${ADMINISTRATORS}/admin-realms/realm/API/role-mapping-rules`]: { rule: [{ name: 'all', roles: ['Flows'] }] },
  },
  live: { realm: 'API' },
  limits: { operations: ['sessions.list'] },
});

/** Rules for facts outside the configuration. Snapshots do not have them. */
export const statusAuditRules: readonly AuditRule[] = [
  {
    id: 'license-nearly-used',
    severity: 'medium',
    title: 'Licenses that are nearly used up',
    message: 'The share of leased licenses is over the limit.',
    fix: 'Add licenses, or remove leases that nobody needs.',
    check: ({ live, limits }) => {
      const reached = live.health?.[USERS_REACHED];
      if (!live.leases && reached === undefined) return undefined;
      const leases = readShares(live.leases ?? {}).flatMap(({ name, share, evidence }): AuditRuleFault[] => {
        if (share <= limits.license) return [];
        const message = `${share}% of the licenses are leased. The limit is ${limits.license}%.`;
        return [{ path: '', name, message, evidence }];
      });
      if (readText(reached).toUpperCase() !== 'YES') return leases;
      const evidence = { field: toPointerSegment(USERS_REACHED), value: reached };
      return [...leases, { path: '', name: USERS_REACHED, message: 'All licensed users are signed in.', evidence }];
    },
    passes: { resources: {}, live: leases(10) },
    fails: { resources: {}, live: leases(99) },
  },
  {
    id: 'cluster-member-down',
    severity: 'high',
    title: 'Cluster members that are down',
    message: 'The member of the cluster is disabled or unreachable.',
    fix: 'Start the member, or remove it from the cluster.',
    check: ({ live }) => {
      const { members } = live.cluster ?? {};
      if (!Array.isArray(members) && !isObject(members)) return undefined;
      return toEntries(members, '/members').flatMap(([field, member]): AuditRuleFault[] => {
        const name = readText(member['name']);
        const notes = readText(member['notes']);
        if (readSwitchValue(member['enabled']) === false)
          return [{ path: '', name, evidence: { field: `${field}/enabled`, value: member['enabled'] } }];
        return /unreachable|\bdown\b|fail(?!-?\s?over)/i.test(notes)
          ? [{ path: '', name, evidence: { field: `${field}/notes`, value: notes } }]
          : [];
      });
    },
    passes: { resources: {}, live: cluster(true) },
    fails: { resources: {}, live: cluster(false) },
  },
  {
    id: 'health-over-limit',
    severity: 'medium',
    title: 'Health values over their limit',
    message: 'The health value is over its limit.',
    fix: 'Find out what uses the appliance, and free or add resources.',
    check: ({ live, limits }) => {
      const { health } = live;
      if (!health) return undefined;
      return Object.entries(HEALTH_LIMITS).flatMap(([key, limit]): AuditRuleFault[] => {
        const value = Number(health[key] ?? -1);
        if (!(value > limits[limit])) return [];
        const message = `${key} is ${value}. The limit is ${limits[limit]}.`;
        return [{ path: '', name: key, message, evidence: { field: toPointerSegment(key), value } }];
      });
    },
    passes: { resources: {}, live: { health: { 'DISK-UTILIZATION': 20 } } },
    fails: { resources: {}, live: { health: { 'DISK-UTILIZATION': 99 } } },
  },
  {
    id: 'account-has-more-rights',
    severity: 'medium',
    title: 'An account with more rights than the flows need',
    message: 'The account of the appliance node may write, but the listed operations only read.',
    fix: 'Give the account a role that may only read (docs/reference/permissions.md).',
    check: ({ index, live, limits, effects }) => {
      const { operations } = limits;
      const rules = index.resources.get(`${ADMINISTRATORS}/admin-realms/realm/${encodePathSegment(live.realm ?? '')}/role-mapping-rules`);
      const roleRules = toEntries(rules?.['rule'], '/rule').map(([, rule]) => rule['roles']);
      if (!operations || !live.realm || rules?.['rule'] === undefined) return undefined;
      if (operations.some((name) => effects.get(name) !== 'read')) return [];
      const roles = roleRules
        .flatMap((names): readonly unknown[] => (Array.isArray(names) ? names : [names]))
        .map((role) => readText(role).toWellFormed());
      return [...new Set(roles)].flatMap((role): AuditRuleFault[] => {
        const path = `${ADMINISTRATORS}/admin-roles/admin-role/${encodePathSegment(role)}/system-tasks`;
        const access = index.resources.get(path)?.['access'];
        return access === 'write' ? [{ path, name: role, evidence: { field: '/access', value: access } }] : [];
      });
    },
    passes: account('read'),
    fails: account('write'),
  },
];

function readShares(document: JsonObject): { name: string; share: number; evidence: Evidence }[] {
  const counts = document['leased-license-counts'];
  const features =
    isObject(counts) && isObject(counts['features'])
      ? toEntries(counts['features']['feature'], '/leased-license-counts/features/feature')
      : [];
  return features.flatMap(([field, feature]) => {
    const total = Number(feature['total-count']);
    const clients = isObject(feature['clients']) ? toEntries(feature['clients']['client-info'], '') : [];
    const leased = clients.reduce((sum, [, client]) => sum + Number(client['leased-count'] ?? 0), 0);
    return total > 0 && Number.isFinite(leased)
      ? [
          {
            name: readText(feature['name']),
            share: Math.round((leased / total) * 1000) / 10,
            evidence: { field: `${field}/total-count`, value: feature['total-count'] },
          },
        ]
      : [];
  });
}

/** The objects of a list, each with its JSON pointer. A single object can come without an array. */
function toEntries(value: unknown, pointer: string): [string, JsonObject][] {
  if (isObject(value)) return [[pointer, value]];
  return Array.isArray(value) ? value.flatMap((item: unknown, index) => (isObject(item) ? [[`${pointer}/${index}`, item]] : [])) : [];
}
