import { isObject, readBoolean, readText, type JsonObject } from '../model/json';
import { toPointerSegment } from '../change/compare';
import type { AuditRule, LiveFacts } from './audit-rule';
import type { RuleFault } from './finding';
import { encodeSegment } from '../model/path';

const ADMINISTRATORS = '/api/v1/configuration/administrators';

const HEALTH_LIMITS: Readonly<Record<string, 'cpu' | 'memory' | 'disk'>> = {
  'CPU-UTILIZATION': 'cpu',
  'CPU-UTILIZATION4': 'cpu',
  'SWAP-UTILIZATION': 'memory',
  'DISK-UTILIZATION': 'disk',
};

const leases = (leased: number): LiveFacts => ({
  leases: {
    'leased-license-counts': {
      features: { feature: [{ name: 'Users', 'total-count': 100, clients: { 'client-info': [{ 'leased-count': leased }] } }] },
    },
  },
});
const cluster = (enabled: boolean): LiveFacts => ({ cluster: { members: [{ name: 'node-b', enabled, notes: '' }] } });
const account = (access: string) => ({
  resources: {
    [`${ADMINISTRATORS}/admin-roles/admin-role/Flows/system-tasks`]: { access },
    [`${ADMINISTRATORS}/admin-realms/realm/API/role-mapping-rules`]: { rule: [{ name: 'all', roles: ['Flows'] }] },
  },
  live: { realm: 'API' },
  limits: { operations: ['sessions.list'] },
});

/** Rules for facts outside the configuration. Snapshots do not have them. */
export const statusRules: readonly AuditRule[] = [
  {
    id: 'license-nearly-used',
    severity: 'medium',
    title: 'Licenses that are nearly used up',
    message: 'The share of leased licenses is over the limit.',
    fix: 'Add licenses, or remove leases that nobody needs.',
    check: ({ live, limits }) => {
      if (!live.leases) return undefined;
      return readShares(live.leases).flatMap(({ name, share }): RuleFault[] => {
        if (share <= limits.license) return [];
        const message = `${share}% of the licenses are leased. The limit is ${limits.license}%.`;
        return [{ path: '', name, message, evidence: { field: '/leased-license-counts/features/feature', value: share } }];
      });
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
      if (!Array.isArray(members)) return undefined;
      return members.flatMap((member: unknown, index): RuleFault[] => {
        if (!isObject(member)) return [];
        const name = readText(member['name']);
        const notes = readText(member['notes']);
        if (readBoolean(member['enabled']) === false)
          return [{ path: '', name, evidence: { field: `/members/${index}/enabled`, value: member['enabled'] } }];
        return /unreachable|\bdown\b|fail/i.test(notes)
          ? [{ path: '', name, evidence: { field: `/members/${index}/notes`, value: notes } }]
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
      return Object.entries(HEALTH_LIMITS).flatMap(([key, limit]): RuleFault[] => {
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
      const rules = index.resources.get(`${ADMINISTRATORS}/admin-realms/realm/${encodeSegment(live.realm ?? '')}/role-mapping-rules`);
      if (!operations || !live.realm || !Array.isArray(rules?.['rule'])) return undefined;
      if (operations.some((name) => effects.get(name) !== 'read')) return [];
      const roles = rules['rule'].flatMap((rule: unknown) =>
        isObject(rule) && Array.isArray(rule['roles']) ? rule['roles'].map((role) => String(role).toWellFormed()) : [],
      );
      return [...new Set(roles)].flatMap((role): RuleFault[] => {
        const path = `${ADMINISTRATORS}/admin-roles/admin-role/${encodeSegment(role)}/system-tasks`;
        const access = index.resources.get(path)?.['access'];
        return access === 'write' ? [{ path, name: role, evidence: { field: '/access', value: access } }] : [];
      });
    },
    passes: account('read'),
    fails: account('write'),
  },
];

function readShares(document: JsonObject): { name: string; share: number }[] {
  const counts = document['leased-license-counts'];
  const features = isObject(counts) && isObject(counts['features']) ? toObjects(counts['features']['feature']) : [];
  return features.flatMap((feature) => {
    const total = Number(feature['total-count']);
    const clients = isObject(feature['clients']) ? toObjects(feature['clients']['client-info']) : [];
    const leased = clients.reduce((sum, client) => sum + Number(client['leased-count'] ?? 0), 0);
    return total > 0 && Number.isFinite(leased)
      ? [{ name: readText(feature['name']), share: Math.round((leased / total) * 1000) / 10 }]
      : [];
  });
}

function toObjects(value: unknown): JsonObject[] {
  return (Array.isArray(value) ? value : [value]).filter(isObject);
}
