import { asGatewayError, badInput, GatewayError } from '../model/error';
import type { ObjectKind } from '../model/field';
import { isObject, type JsonObject } from '../model/json';
import { ours, sentence } from '../model/sentence';
import { links } from './links';

/** One of the things that a field can name. */
export interface Entry {
  /** What goes into the field. */
  readonly value: string;
  /** What else tells it from others. */
  readonly note?: string;
}

/** Runs a read by its full name. Rejects with a `GatewayError`. */
export type Read = (operation: string, input?: Readonly<Record<string, unknown>>) => Promise<unknown>;

interface Listing {
  /** Fields without which there is no list: whose users, of which server. */
  readonly needs: readonly string[];
  list(read: Read, given: Readonly<Record<string, string>>): Promise<Entry[]>;
  /** They come in an order that says more than their names: the newest first. */
  readonly inOrder?: true;
}

/** Which of them is local or a directory stands in each server only; with more servers than these all are offered. */
const MOST_SERVERS = 40;
const SERVERS = 'authentication/auth-servers/auth-server';

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

function entry(value: unknown, ...notes: unknown[]): Entry[] {
  const note = notes.map(text).filter(Boolean).join(', ');
  return text(value) === '' ? [] : [{ value: text(value), ...(note !== '' && { note }) }];
}

async function below(read: Read, path: string): Promise<Entry[]> {
  const found = await read('config.get', { path });
  return isObject(found) ? links(found).flatMap(({ name }) => entry(name)) : [];
}

const tree = (path: string): Listing => ({ needs: [], list: (read) => below(read, path) });

/** Authentication servers that have one of these parts; one that cannot be read is offered too. */
function serversWith(...parts: readonly string[]): Listing {
  return {
    needs: [],
    list: async (read) => {
      const servers = await below(read, SERVERS);
      if (servers.length > MOST_SERVERS) return servers;
      const kinds = await Promise.all(servers.map(({ value }) => kindOf(read, value)));
      return servers.flatMap(({ value }, index) => {
        const { type, has } = kinds[index] ?? {};
        return has === undefined || parts.some((part) => has.includes(part) || part === type) ? entry(value, type) : [];
      });
    },
  };
}

async function kindOf(read: Read, name: string): Promise<{ type?: string; has?: string[] }> {
  const server = await read('config.get', { path: [...SERVERS.split('/'), name] }).catch(() => undefined);
  return isObject(server) ? { type: text(server['auth-server-type']), has: Object.keys(server) } : {};
}

/** More of the journal are found by its own operation. */
const MOST_ENTRIES = 500;
const written = (read: Read): Promise<JsonObject[]> => read('journal.list', { limit: MOST_ENTRIES }).then(objects);

const sessions = (read: Read): Promise<JsonObject[]> => read('sessions.list').then(objects);

/** On a licence server they are grouped by the kind of client. */
async function namedUsers(read: Read, kind: string | undefined): Promise<Entry[]> {
  const document = await read('license.list-named-users', kind === undefined ? {} : { 'client-kind': kind });
  if (!isObject(document)) return [];
  const groups = [document, ...Object.values(document).filter(isObject)];
  return groups.flatMap((group) => objects(group['named-users'])).flatMap((user) => entry(user.User, user.Role, user.Appliance, user.IP));
}

async function clientKinds(read: Read): Promise<Entry[]> {
  const document = await read('license.list-named-users');
  return isObject(document) ? Object.keys(document).flatMap((key) => (isObject(document[key]) ? entry(key) : [])) : [];
}

/** The interface shows no list there; releases that have none refuse in one of these ways. */
function noList(thrown: unknown): never {
  const { code } = asGatewayError(thrown);
  if (!['NOT_FOUND', 'INVALID_REQUEST', 'APPLIANCE_ERROR'].includes(code)) throw thrown;
  throw new GatewayError('NOT_FOUND', 'This appliance gives no list of these. Enter the name as you know it.');
}

/** A resource outside of the configuration that releases have a list of, whatever they call it. */
function named(path: string, ...keys: readonly string[]): Listing {
  return {
    needs: [],
    list: async (read) => {
      const document = await read('request.get', { path }).catch(noList);
      const lists = isObject(document) ? Object.values(document) : [document];
      return lists
        .flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))
        .flatMap((item) => {
          if (!isObject(item)) return entry(item);
          const key = keys.find((one) => text(item[one]) !== '');
          return key === undefined ? [] : entry(item[key]);
        });
    },
  };
}

/** How each kind of thing is listed. The only registry: a field that says `names` gets a picker. */
export const catalogue: Readonly<Record<Exclude<ObjectKind, 'path' | 'appliance' | 'operation'>, Listing>> = {
  'auth-server': tree(SERVERS),
  'local-server': serversWith('local'),
  'directory-server': serversWith('ad', 'ldap'),
  'local-user': {
    needs: ['server'],
    list: async (read, { server }) =>
      objects(await read('users.list', { server })).flatMap((user) => entry(user.username ?? user.name, user.fullname)),
  },
  'directory-group': {
    needs: ['server', 'directory'],
    list: async (read, given) => objects(await read('groups.list', given)).flatMap((group) => entry(group.name, group.dn ?? group.group)),
  },
  'admin-realm': tree('administrators/admin-realms/realm'),
  'admin-role': tree('administrators/admin-roles/admin-role'),
  'user-realm': tree('users/user-realms/realm'),
  'user-role': tree('users/user-roles/user-role'),
  session: {
    needs: [],
    list: async (read) =>
      (await sessions(read)).flatMap((one) =>
        entry(one['session-id'], one['active-user-name'], one['source-ip'], one['authentication-realm'], one['user-sign-in-time']),
      ),
  },
  'session-user': {
    needs: [],
    list: async (read) => {
      const realms = new Map((await sessions(read)).map((one) => [text(one['active-user-name']), one['authentication-realm']]));
      return [...realms].flatMap(([name, realm]) => entry(name, realm));
    },
  },
  contained: {
    needs: [],
    list: async (read) => objects(await read('contain.list')).flatMap((one) => entry(one.id, one.name, one.until)),
  },
  'contained-name': {
    needs: [],
    list: async (read) => objects(await read('contain.list')).flatMap((one) => entry(one.name ?? one['source-ip'], one.until)),
  },
  backup: {
    needs: ['folder'],
    inOrder: true,
    list: async (read, { folder }) => [
      { value: 'latest' },
      ...objects(await read('backup.list', { folder })).flatMap((one) => entry(one.backup, one.appliance, one.release, one.time)),
    ],
  },
  'journal-entry': {
    needs: [],
    inOrder: true,
    list: async (read) => (await written(read)).flatMap((one) => entry(one.id, one.operation, one.actor, one.at)),
  },
  'journal-actor': { needs: [], list: async (read) => (await written(read)).flatMap((one) => entry(one.actor)) },
  'radius-client': tree('uac/network-access/radius-clients/radius-client'),
  'snmp-client': tree('uac/snmpEnforcement/clients/client'),
  'cluster-member': {
    needs: [],
    list: async (read) => {
      const cluster = await read('cluster.status');
      return isObject(cluster) ? objects(cluster.members).flatMap((one) => entry(one.name, one['internal-ip'], one.notes)) : [];
    },
  },
  certificate: named('system/certificates/device-certificates', 'subject-name', 'subject-common-name', 'name', 'subject'),
  csr: named('system/certificates/device-certificate-csrs', 'csr-name', 'name', 'subject-common-name'),
  'named-user': { needs: [], list: (read, given) => namedUsers(read, given['client-kind']) },
  'client-kind': { needs: [], list: clientKinds },
  // The interface has no list of them, only these names of the ports that every appliance has.
  interface: { needs: [], list: () => Promise.resolve(['<Internal Port>', '<External Port>'].map((value) => ({ value }))) },
};

/**
 * What there is of a kind now, each once, as it comes. Errors: `BAD_INPUT` for a kind that there is none of, or when a field that it is
 * listed by is missing.
 */
export async function listThings(kind: string, given: Readonly<Record<string, unknown>>, read: Read): Promise<Entry[]> {
  const listing = Object.hasOwn(catalogue, kind) ? catalogue[kind as keyof typeof catalogue] : undefined;
  if (!listing) throw badInput('There is no list of that kind.');
  const texts = Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (text(value) === '' ? [] : [[name, text(value)]])));
  for (const name of listing.needs) if (!Object.hasOwn(texts, name)) throw badInput(sentence`${ours(name)} is needed for this list.`);
  const found = new Map((await listing.list(read, texts)).map((one) => [one.value, one]));
  return [...found.values()];
}

/** The first that are shown: by name, or those that came first. */
export function firstOf(kind: string, entries: readonly Entry[], most: number): Entry[] {
  const listing: Listing | undefined = Object.hasOwn(catalogue, kind) ? catalogue[kind as keyof typeof catalogue] : undefined;
  return listing?.inOrder ? entries.slice(0, most) : firstByName(entries, most);
}

/** The first of them by name. Of 10,000 a hundred are shown: to bring the others in order takes longer than all else. */
export function firstByName(entries: readonly Entry[], most: number): Entry[] {
  const { compare } = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
  const first: Entry[] = [];
  for (const one of entries) {
    const last = first.length === most ? first.at(-1) : undefined;
    if (last && compare(one.value, last.value) >= 0) continue;
    first.splice(placeOf(one, first, compare), 0, one);
    if (first.length > most) first.pop();
  }
  return first;
}

/** Behind those that come before it or are called alike, by halves. */
function placeOf(one: Entry, sorted: readonly Entry[], compare: (a: string, b: string) => number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(sorted[middle]?.value ?? '', one.value) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
