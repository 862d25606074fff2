import { asGatewayError, badInput, GatewayError } from '../model/error';
import type { ObjectKind } from '../model/field';
import { isObject, type JsonObject } from '../model/json';
import { trusted, safeMessage } from '../model/safe-message';
import { readResourceLinks } from './links';

/** An object of the appliance that a field can name. */
export interface LookupItem {
  /** The value for the field. */
  readonly value: string;
  /** Details that distinguish it from similar objects. */
  readonly note?: string;
  /** How many sessions have the value. */
  readonly sessions?: number;
}

/** Runs a read operation by its full name. Rejects with a `GatewayError`. */
export type RunReadOperation = (operation: string, input?: Readonly<Record<string, unknown>>) => Promise<unknown>;

interface ObjectLookup {
  /** Fields that the list depends on, such as the server of users. */
  readonly requiredFields: readonly string[];
  list(read: RunReadOperation, fieldValues: Readonly<Record<string, string>>): Promise<LookupItem[]>;
  /** Whether the items already have a meaningful order, the newest first. */
  readonly isOrdered?: true;
}

/** Maximum number of servers whose type is checked, because each costs one request. With more servers, all are offered. */
const MAX_SERVERS = 40;
const SERVERS = 'authentication/auth-servers/auth-server';

const toObjects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const toText = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

function toLookupItems(value: unknown, ...notes: unknown[]): LookupItem[] {
  const note = notes.map(toText).filter(Boolean).join(', ');
  return toText(value) === '' ? [] : [{ value: toText(value), ...(note !== '' && { note }) }];
}

async function listChildren(read: RunReadOperation, path: string): Promise<LookupItem[]> {
  const found = await read('config.get', { path });
  return isObject(found) ? readResourceLinks(found).flatMap(({ name }) => toLookupItems(name)) : [];
}

const childrenLookup = (path: string): ObjectLookup => ({ requiredFields: [], list: (read) => listChildren(read, path) });

/** Lists authentication servers that have one of these parts, and servers that cannot be read. */
function serverLookup(...parts: readonly string[]): ObjectLookup {
  return {
    requiredFields: [],
    list: async (read) => {
      const servers = await listChildren(read, SERVERS);
      if (servers.length > MAX_SERVERS) return servers;
      const kinds = await Promise.all(servers.map(({ value }) => readServerType(read, value)));
      return servers.flatMap(({ value }, index) => {
        const { type, keys } = kinds[index] ?? {};
        return keys === undefined || parts.some((part) => keys.includes(part) || part === type) ? toLookupItems(value, type) : [];
      });
    },
  };
}

async function readServerType(read: RunReadOperation, name: string): Promise<{ type?: string; keys?: string[] }> {
  const server = await read('config.get', { path: [...SERVERS.split('/'), name] }).catch(() => undefined);
  return isObject(server) ? { type: toText(server['auth-server-type']), keys: Object.keys(server) } : {};
}

/** Maximum number of listed journal entries. `journal.list` returns older ones. */
const MAX_JOURNAL_ENTRIES = 500;
const listJournalEntries = (read: RunReadOperation): Promise<JsonObject[]> =>
  read('journal.list', { limit: MAX_JOURNAL_ENTRIES }).then(toObjects);

const listSessionRecords = (read: RunReadOperation): Promise<JsonObject[]> => read('sessions.list').then(toObjects);

/** Returns the texts that a filter on a field of the session can compare. Roles are a list. */
function toFieldTexts(value: unknown): string[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).map(toText).filter((text) => text !== '');
}

/** Lists the values that a field of the current sessions has, the most frequent first. */
async function listSessionValues(read: RunReadOperation, field: string): Promise<LookupItem[]> {
  const counts = new Map<string, number>();
  for (const session of await listSessionRecords(read))
    for (const text of toFieldTexts(session[field])) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([value, sessions]) => ({ value, sessions })).sort((a, b) => b.sessions - a.sessions);
}

/** A license server groups named users by the kind of client. */
async function listNamedUsers(read: RunReadOperation, kind: string | undefined): Promise<LookupItem[]> {
  const document = await read('license.list-named-users', kind === undefined ? {} : { 'client-kind': kind });
  if (!isObject(document)) return [];
  const groups = [document, ...Object.values(document).filter(isObject)];
  return groups
    .flatMap((group) => toObjects(group['named-users']))
    .flatMap((user) => toLookupItems(user.User, user.Role, user.Appliance, user.IP));
}

async function listClientKinds(read: RunReadOperation): Promise<LookupItem[]> {
  const document = await read('license.list-named-users');
  return isObject(document) ? Object.keys(document).flatMap((key) => (isObject(document[key]) ? toLookupItems(key) : [])) : [];
}

/** Reports these errors as a missing list, because the API description does not include the list. */
function rejectMissingList(thrown: unknown): never {
  const { code } = asGatewayError(thrown);
  if (!['NOT_FOUND', 'INVALID_REQUEST', 'APPLIANCE_ERROR'].includes(code)) throw thrown;
  throw new GatewayError('NOT_FOUND', 'This appliance has no list of these names. Enter the name yourself.');
}

/** Lists a resource outside of the configuration tree, whose key differs between releases. */
function resourceLookup(path: string, ...keys: readonly string[]): ObjectLookup {
  return {
    requiredFields: [],
    list: async (read) => {
      const document = await read('request.get', { path }).catch(rejectMissingList);
      const lists = isObject(document) ? Object.values(document) : [document];
      return lists
        .flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))
        .flatMap((item) => {
          if (!isObject(item)) return toLookupItems(item);
          const key = keys.find((candidate) => toText(item[candidate]) !== '');
          return key === undefined ? [] : toLookupItems(item[key]);
        });
    },
  };
}

/** How to list each kind of object. A field with `names` gets a picker with this list. */
export const objectLookups: Readonly<Record<Exclude<ObjectKind, 'path' | 'appliance' | 'operation'>, ObjectLookup>> = {
  'auth-server': childrenLookup(SERVERS),
  'local-server': serverLookup('local'),
  'directory-server': serverLookup('ad', 'ldap'),
  'local-user': {
    requiredFields: ['server'],
    list: async (read, { server }) =>
      toObjects(await read('users.list', { server })).flatMap((user) => toLookupItems(user.username ?? user.name, user.fullname)),
  },
  'directory-group': {
    requiredFields: ['server', 'directory'],
    list: async (read, fieldValues) =>
      toObjects(await read('groups.list', fieldValues)).flatMap((group) => toLookupItems(group.name, group.dn ?? group.group)),
  },
  'admin-realm': childrenLookup('administrators/admin-realms/realm'),
  'admin-role': childrenLookup('administrators/admin-roles/admin-role'),
  'user-realm': childrenLookup('users/user-realms/realm'),
  'user-role': childrenLookup('users/user-roles/user-role'),
  session: {
    requiredFields: [],
    list: async (read) =>
      (await listSessionRecords(read)).flatMap((session) =>
        toLookupItems(
          session['session-id'],
          session['active-user-name'],
          session['source-ip'],
          session['authentication-realm'],
          session['user-sign-in-time'],
        ),
      ),
  },
  'session-user': {
    requiredFields: [],
    list: async (read) => {
      const realms = new Map(
        (await listSessionRecords(read)).map((session) => [toText(session['active-user-name']), session['authentication-realm']]),
      );
      return [...realms].flatMap(([name, realm]) => toLookupItems(name, realm));
    },
  },
  'session-value': {
    requiredFields: ['field'],
    isOrdered: true,
    list: (read, { field }) => listSessionValues(read, field ?? ''),
  },
  contained: {
    requiredFields: [],
    list: async (read) =>
      toObjects(await read('contain.list')).flatMap((contained) => toLookupItems(contained.id, contained.name, contained.until)),
  },
  'contained-name': {
    requiredFields: [],
    list: async (read) =>
      toObjects(await read('contain.list')).flatMap((contained) =>
        toLookupItems(contained.name ?? contained['source-ip'], contained.until),
      ),
  },
  backup: {
    requiredFields: ['folder'],
    isOrdered: true,
    list: async (read, { folder }) => [
      { value: 'latest' },
      ...toObjects(await read('backup.list', { folder })).flatMap((backup) =>
        toLookupItems(backup.backup, backup.appliance, backup.release, backup.time),
      ),
    ],
  },
  'journal-entry': {
    requiredFields: [],
    isOrdered: true,
    list: async (read) =>
      (await listJournalEntries(read)).flatMap((journalEntry) =>
        toLookupItems(journalEntry.id, journalEntry.operation, journalEntry.actor, journalEntry.at),
      ),
  },
  'journal-actor': {
    requiredFields: [],
    list: async (read) => (await listJournalEntries(read)).flatMap((journalEntry) => toLookupItems(journalEntry.actor)),
  },
  'radius-client': childrenLookup('uac/network-access/radius-clients/radius-client'),
  'snmp-client': childrenLookup('uac/snmpEnforcement/clients/client'),
  'cluster-member': {
    requiredFields: [],
    list: async (read) => {
      const cluster = await read('cluster.status');
      return isObject(cluster)
        ? toObjects(cluster.members).flatMap((member) => toLookupItems(member.name, member['internal-ip'], member.notes))
        : [];
    },
  },
  certificate: resourceLookup('system/certificates/device-certificates', 'subject-name', 'subject-common-name', 'name', 'subject'),
  csr: resourceLookup('system/certificates/device-certificate-csrs', 'csr-name', 'name', 'subject-common-name'),
  'named-user': { requiredFields: [], list: (read, fieldValues) => listNamedUsers(read, fieldValues['client-kind']) },
  'client-kind': { requiredFields: [], list: listClientKinds },
  // The API has no list of interfaces; every appliance has these two ports.
  interface: { requiredFields: [], list: () => Promise.resolve(['<Internal Port>', '<External Port>'].map((value) => ({ value }))) },
};

/**
 * Lists the current objects of a kind, each once, in the order of the appliance. Errors: `BAD_INPUT` for an unknown kind or a missing
 * field.
 */
export async function listObjects(
  kind: string,
  fieldValues: Readonly<Record<string, unknown>>,
  read: RunReadOperation,
): Promise<LookupItem[]> {
  const listing = Object.hasOwn(objectLookups, kind) ? objectLookups[kind as keyof typeof objectLookups] : undefined;
  if (!listing) throw badInput('There is no list of this kind.');
  const texts = Object.fromEntries(
    Object.entries(fieldValues).flatMap(([name, value]) => (toText(value) === '' ? [] : [[name, toText(value)]])),
  );
  for (const name of listing.requiredFields)
    if (!Object.hasOwn(texts, name)) throw badInput(safeMessage`This list needs a value for ${trusted(name)}.`);
  const found = new Map((await listing.list(read, texts)).map((item) => [item.value, item]));
  return [...found.values()];
}

/** Returns the first `limit` items: in their own order if they have one, otherwise by name. */
export function selectFirstItems(kind: string, items: readonly LookupItem[], limit: number): LookupItem[] {
  const listing: ObjectLookup | undefined = Object.hasOwn(objectLookups, kind)
    ? objectLookups[kind as keyof typeof objectLookups]
    : undefined;
  return listing?.isOrdered ? items.slice(0, limit) : selectFirstItemsByName(items, limit);
}

/** Returns the first `limit` items by name. It sorts only those, because sorting 10,000 names takes longer than reading them. */
export function selectFirstItemsByName(items: readonly LookupItem[], limit: number): LookupItem[] {
  const { compare } = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
  const first: LookupItem[] = [];
  for (const item of items) {
    const last = first.length === limit ? first.at(-1) : undefined;
    if (last && compare(item.value, last.value) >= 0) continue;
    first.splice(findInsertIndex(item, first, compare), 0, item);
    if (first.length > limit) first.pop();
  }
  return first;
}

/** Finds the insert position after equal names by binary search. */
function findInsertIndex(item: LookupItem, sorted: readonly LookupItem[], compare: (a: string, b: string) => number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(sorted[middle]?.value ?? '', item.value) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
