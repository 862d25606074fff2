import { createHash } from 'node:crypto';
import { SECRET_MASK } from '../change/compare';
import type { JsonObject } from '../model/json';
import type { AuditRule } from './audit-rule';
import { encodePathSegment } from '../model/path';
import { isPathWithinAny } from '../snapshot/resource-path';
import type { ConfigurationIndex, CollectionMember, DanglingReference } from './configuration-index';

const ROOT = '/api/v1/configuration';
/** Kinds of objects that exist to be used by others. */
const USABLE = /(?:^|-)(?:role|realm|server|profile|polic(?:y|ie))s?(?:$|-)/;

/** Two masked secrets can differ, so objects with a secret are not compared. */
const MASKED_VALUE = JSON.stringify(SECRET_MASK);

const NO_PATHS: ReadonlySet<string> = new Set();
const role = (name: string, description = name): JsonObject => ({ name, description });
const server = (name: string): JsonObject => ({ name, 'auth-server-type': 'local' });
const realm = (name: string, target: string): JsonObject => ({ name, 'authentication-server': target });
const SERVERS = `${ROOT}/authentication/auth-servers/auth-server`;
const REALMS = `${ROOT}/users/user-realms/realm`;
const ROLES = `${ROOT}/users/user-roles/user-role`;
const threeRealms = {
  [`${SERVERS}/Corp`]: server('Corp'),
  [`${REALMS}/A`]: realm('A', 'Corp'),
  [`${REALMS}/B`]: realm('B', 'Corp'),
  [`${REALMS}/C`]: realm('C', 'Corp'),
};

/** Rules that need no knowledge of the release. */
export const objectAuditRules: readonly AuditRule[] = [
  {
    id: 'unused-object',
    severity: 'low',
    title: 'Objects that nothing uses',
    message: 'No other resource holds the name of this object.',
    fix: 'Remove the object, or add an exception with the reason why it stays.',
    check: ({ index, unreadable, isPart }) => {
      // What was not read can use any object.
      if (isPart || (unreadable && unreadable.size > 0)) return undefined;
      const members = [...index.members.values()].filter((member) => isUsable(member, index));
      if (members.length === 0) return undefined;
      return members
        .filter((member) => !index.isUsed(member))
        .map(({ path, name, key }) => ({ path, name, evidence: { field: `/${key}`, value: name } }));
    },
    passes: { resources: { [`${ROLES}/Staff`]: role('Staff'), [`${ROOT}/users/rules`]: { rule: [{ roles: ['Staff'] }] } } },
    fails: { resources: { [`${ROLES}/Staff`]: role('Staff') } },
  },
  {
    id: 'dangling-reference',
    severity: 'medium',
    title: 'References to objects that do not exist',
    message: 'The field names an object that does not exist.',
    fix: 'Create the object, or correct the name.',
    check: ({ index, unreadable = NO_PATHS }) => {
      if (index.members.size === 0) return undefined;
      // The object itself may be unreadable, or only have resources below it.
      const exists = ({ collection, value }: DanglingReference): boolean => {
        const target = `${collection}/${encodePathSegment(value.toWellFormed())}`;
        return isPathWithinAny(target, unreadable) || index.listBelow(target).length > 0;
      };
      const dangling = index.findDanglingReferences().filter((reference) => !exists(reference));
      return dangling.map(({ path, field, value, collection }) => ({
        path,
        name: index.findOwner(path)?.name ?? '',
        message: `${field} names ${JSON.stringify(value)}, which is not in ${collection}.`,
        evidence: { field, value },
      }));
    },
    passes: { resources: threeRealms },
    fails: {
      resources: {
        ...threeRealms,
        ...Object.fromEntries([...'DEFGHIJK'].map((name) => [`${REALMS}/${name}`, realm(name, 'Corp')])),
        [`${REALMS}/Lost`]: realm('Lost', 'Gone'),
      },
    },
  },
  {
    id: 'duplicate-object',
    severity: 'low',
    title: 'Objects with the same content',
    message: 'Another object has the same content.',
    fix: 'Use one of the objects everywhere, and remove the other.',
    check: ({ index }) => {
      if (index.members.size === 0) return undefined;
      return findDuplicates(index).map(([{ path, name }, first]) => ({
        path,
        name,
        message: `The object has the same content as ${JSON.stringify(first.name)}.`,
        evidence: { field: `/${first.key}`, value: first.name },
      }));
    },
    passes: { resources: { [`${ROLES}/A`]: role('A'), [`${ROLES}/B`]: role('B') } },
    fails: { resources: { [`${ROLES}/A`]: role('A', 'Same'), [`${ROLES}/B`]: role('B', 'Same') } },
  },
  {
    id: 'release-not-listed',
    severity: 'medium',
    title: 'Releases and serial numbers that are not in the list',
    message: 'The release or serial number is not in the list of the limits.',
    fix: 'Update the appliance, or add its release and serial number to the limits.',
    check: ({ release, serialNumber, limits }) => {
      const checks = [
        ['release', release, limits.releases],
        ['serial-number', serialNumber, limits['serial-numbers']],
      ] as const;
      const known = checks.filter(([, value, list]) => list !== undefined && value !== null);
      if (known.length === 0) return undefined;
      return known
        .filter(([, value, list]) => value !== null && !list?.includes(value))
        .map(([field, value]) => ({ path: '', name: value ?? '', evidence: { field: `/${field}`, value } }));
    },
    passes: { resources: {}, release: '25.1', limits: { releases: ['25.1'] } },
    fails: { resources: {}, release: '9.0', limits: { releases: ['25.1'] } },
  },
];

function isUsable({ collection, key }: CollectionMember, index: ConfigurationIndex): boolean {
  if (key !== 'name') return false;
  return USABLE.test(collection.slice(collection.lastIndexOf('/') + 1)) || index.isReferenced(collection);
}

/** Pairs of an object and the first object of its collection with the same content, including everything below it. */
function findDuplicates(index: ConfigurationIndex): [CollectionMember, CollectionMember][] {
  // Numbers instead of texts save memory. Members with the same number are compared in full.
  const byHash = new Map<number, CollectionMember | CollectionMember[]>();
  for (const member of index.members.values()) {
    if (member.key !== 'name') continue;
    const content = describeContent(member);
    if (content.includes(MASKED_VALUE)) continue;
    const hash = hashText(content);
    const same = byHash.get(hash);
    if (same === undefined) byHash.set(hash, member);
    else if (Array.isArray(same)) same.push(member);
    else byHash.set(hash, [same, member]);
  }
  const pairs: [CollectionMember, CollectionMember][] = [];
  for (const candidates of byHash.values()) {
    if (!Array.isArray(candidates)) continue;
    const first = new Map<string, CollectionMember>();
    for (const member of candidates) {
      const below = describeBelow(member, index);
      if (below === undefined || (below === '' && !hasContent(withoutKey(member)))) continue;
      const content = `${below} ${describeContent(member)}`;
      const twin = first.get(content);
      if (twin) pairs.push([member, twin]);
      else first.set(content, member);
    }
  }
  return pairs.sort(([a], [b]) => (a.path < b.path ? -1 : 1));
}

function describeContent(member: CollectionMember): string {
  return `${member.collection} ${JSON.stringify(withoutKey(member))}`;
}

/** FNV-1a. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

function withoutKey({ resource, key }: CollectionMember): JsonObject {
  return Object.fromEntries(
    Object.keys(resource)
      .filter((field) => field !== key)
      .sort()
      .map((field) => [field, resource[field]]),
  );
}

/** Describes the resources below an object; undefined if one of them has a secret. */
function describeBelow({ path }: CollectionMember, index: ConfigurationIndex): string | undefined {
  const below = index.listBelow(path);
  if (below.length === 0) return '';
  const text = below.map((child) => `${child.slice(path.length)} ${JSON.stringify(index.resources.get(child))}`).join('\n');
  return text.includes(MASKED_VALUE) ? undefined : digestText(text);
}

function hasContent(resource: JsonObject): boolean {
  return Object.values(resource).some((value) => value !== null && value !== '' && JSON.stringify(value) !== '[]');
}

function digestText(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
