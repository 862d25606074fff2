import { isObject, type JsonObject } from '../model/json';
import { encodePathSegment } from '../model/path';
import { CONFIGURATION_PATH, ESAP_PACKAGES_PATH } from './documented';
import type { ProbeResponse, ProbeRunner } from './probe-runner';

/** Branches of the configuration tree that the documentation of the appliance names. */
const BRANCHES = (
  'administrators,administrators/admin-realms,administrators/admin-roles,authentication,authentication/auth-servers,system,users,' +
  'users/user-roles,users/user-realms,users/resource-policies'
).split(',');
const SERVERS = `${CONFIGURATION_PATH}/authentication/auth-servers`;
const REALMS = `${CONFIGURATION_PATH}/administrators/admin-realms/realm`;
const ROLES = `${CONFIGURATION_PATH}/administrators/admin-roles/admin-role`;
const MAX_SERVERS = 8;
const MAX_REALMS = 6;

/** A local auth server that no administrators use. No report contains its name. */
export interface LocalAuthServer {
  readonly name: string;
  /** Position of the server in the list of servers, from 1. */
  readonly position: number;
}

/** Probes the documented parts of the tree. Returns the server on which a check with writes may create a user. */
export async function probeTree(prober: ProbeRunner): Promise<LocalAuthServer | undefined> {
  const root = await prober.get(CONFIGURATION_PATH);
  const again = await prober.get(CONFIGURATION_PATH);
  if (root.isSuccess && again.isSuccess) prober.found('etagPerResponse', root.etag !== again.etag);
  await probeBranches(prober);
  await probeUac(prober);
  await prober.get(ESAP_PACKAGES_PATH);
  await prober.get(`${ESAP_PACKAGES_PATH}?expand`);
  const administrationServers = await probeRealms(prober);
  await probeSessionOptions(prober);
  return probeServers(prober, administrationServers);
}

async function probeBranches(prober: ProbeRunner): Promise<void> {
  const forbidden: string[] = [];
  for (const branch of BRANCHES) {
    if (forbidden.some((one) => branch.startsWith(`${one}/`))) continue;
    const { status, document } = await prober.get(`${CONFIGURATION_PATH}/${branch}`);
    if (status === 403) forbidden.push(branch);
    if (branch === 'authentication/auth-servers') readCollectionInParent(prober, document['auth-server']);
  }
  prober.found('forbiddenBranch', forbidden[0] ?? '');
  if (forbidden.length > 1)
    prober.note(`The account may not read ${forbidden.length} branches of the configuration.`, 'Snapshots and comparisons leave them out.');
}

function readCollectionInParent(prober: ProbeRunner, collection: unknown): void {
  if (Array.isArray(collection)) prober.found('collectionInParent', 'list');
  else if (isObject(collection) && typeof collection['href'] === 'string') prober.found('collectionInParent', 'link');
}

async function probeUac(prober: ProbeRunner): Promise<void> {
  const uac = await prober.get(`${CONFIGURATION_PATH}/uac`);
  if (uac.status === 404) prober.found('uac', 'absent');
  else if (uac.isSuccess)
    prober.found('uac', uac.document['networkDeviceAdministration'] === undefined ? 'plain' : 'device-administration');
}

/** Names of auth servers that admin realms use. */
async function probeRealms(prober: ProbeRunner): Promise<Set<string>> {
  const servers = new Set(['Administrators']);
  const names = entryNames(await prober.get(REALMS));
  for (const name of names.slice(0, MAX_REALMS)) {
    const { document } = await prober.get(`${REALMS}/*`, { path: `${REALMS}/${encodePathSegment(name)}` });
    if (typeof document['authentication-server'] === 'string') servers.add(document['authentication-server']);
  }
  const [first] = names;
  if (first === undefined) prober.skip('the rules of an admin realm', 'no admin realm could be read');
  else await prober.get(`${REALMS}/*/role-mapping-rules`, { path: `${REALMS}/${encodePathSegment(first)}/role-mapping-rules` });
  return servers;
}

async function probeSessionOptions(prober: ProbeRunner): Promise<void> {
  const [first] = entryNames(await prober.get(ROLES));
  if (first === undefined) return prober.skip('sessionOptionsExtra', 'no admin role could be read');
  const path = `${ROLES}/${encodePathSegment(first)}/general/session-options`;
  const { isSuccess, document } = await prober.get(`${ROLES}/*/general/session-options`, { path });
  if (isSuccess) prober.found('sessionOptionsExtra', document['max-timeout'] !== undefined || document['reminder-time'] !== undefined);
}

async function probeServers(prober: ProbeRunner, administrationServers: ReadonlySet<string>): Promise<LocalAuthServer | undefined> {
  const list = await prober.get(`${SERVERS}/auth-server`);
  const [entry] = entriesOf(list);
  if (entry === undefined) prober.skip('entryLinks', 'the list of auth servers could not be read');
  else prober.found('entryLinks', typeof entry === 'string' ? 'text' : isObject(entry) && entry['href'] !== undefined ? 'href' : 'none');
  let writable: LocalAuthServer | undefined;
  let hasUser = false;
  const catalogs = new Set<string>();
  for (const [index, name] of entryNames(list).slice(0, MAX_SERVERS).entries()) {
    const base = `${SERVERS}/auth-server/${encodePathSegment(name)}`;
    if (!writable || !hasUser) {
      const users = await probeLocalUsers(prober, base);
      if (users) {
        hasUser ||= users.length > 0;
        if (!administrationServers.has(name)) writable ??= { name, position: index + 1 };
        continue;
      }
    }
    for (const directory of ['ad', 'ldap'].filter((one) => !catalogs.has(one))) {
      const below = `${directory}/server-catalog/groups`;
      const { isSuccess } = await prober.get(`${SERVERS}/auth-server/*/${below}`, { path: `${base}/${below}` });
      if (isSuccess) catalogs.add(directory);
      if (isSuccess) break;
    }
  }
  if (!hasUser) prober.skip('userEntries, usersAt, userFields', 'no local user could be read');
  return writable;
}

/** The local users of a server; undefined when it has none of this kind. */
async function probeLocalUsers(prober: ProbeRunner, base: string): Promise<readonly string[] | undefined> {
  const template = `${SERVERS}/auth-server/*/local/users`;
  let list = await prober.get(`${template}/user`, { path: `${base}/local/users/user` });
  const isAtUser = list.isSuccess;
  if (!isAtUser) list = await prober.get(template, { path: `${base}/local/users` });
  const entries = entriesOf(list, 'user');
  if (!list.isSuccess) return undefined;
  prober.found('usersAt', isAtUser ? 'user' : 'users');
  const [entry] = entries;
  if (isObject(entry)) {
    const isWhole = Object.keys(entry).some((key) => !['name', 'username', 'href'].includes(key));
    prober.found('userEntries', isWhole ? 'whole' : entry['username'] === undefined ? 'name' : 'username');
  }
  const names = namesOf(entries);
  if (names[0] !== undefined && prober.variants['userFields'] === undefined) {
    const { isSuccess, document } = await prober.get(`${template}/user/*`, {
      path: `${base}/local/users/user/${encodePathSegment(names[0])}`,
    });
    if (isSuccess) prober.found('userFields', document['user-timezone'] === undefined ? 'plain' : 'policy');
  }
  return names;
}

function entriesOf({ document }: ProbeResponse, key?: string): readonly unknown[] {
  const lists = key === undefined ? Object.values(document) : [document[key]];
  const list = lists.find((value) => Array.isArray(value));
  return Array.isArray(list) ? list : [];
}

function entryNames(observation: ProbeResponse): string[] {
  return namesOf(entriesOf(observation));
}

function namesOf(entries: readonly unknown[]): string[] {
  const name = (entry: JsonObject): unknown => entry['name'] ?? entry['username'];
  return entries
    .map((entry) => (isObject(entry) ? name(entry) : entry))
    .filter((one): one is string => typeof one === 'string' && one !== '');
}
