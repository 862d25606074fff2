import { httpResponse, startRawServer, type RawRequest, type RawServer } from './raw-server';

/** Names and secrets of that appliance. None of them may leave a check. */
export const PLANTED = {
  user: 'Quintessa.Vorhölzer',
  contractor: 'Bartholomew-Zweig',
  server: 'Kundenverzeichnis Nordwest',
  realm: 'Rechenzentrum Betrieb',
  role: 'Nachtschicht-Verwalter',
  host: 'vpn-tresor-7.intern.example',
  address: '198.51.100.217',
  serial: 'XQ7741HHZ02',
  secret: 'hunter2-Zebra!Kaktus',
  mac: '02:de:ad:be:ef:42',
  label: 'vorhoelzer',
};

type Json = Record<string, unknown>;
const { user, contractor, server, realm, role, host, address, serial, secret, mac, label } = PLANTED;
const CONFIGURATION = '/api/v1/configuration';
const SERVERS = `${CONFIGURATION}/authentication/auth-servers/auth-server`;
const USERS = `${SERVERS}/${encodeURIComponent(server)}/local/users/user`;
const ROLES = `${CONFIGURATION}/users/user-roles/user-role`;
const REALMS = `${CONFIGURATION}/administrators/admin-realms/realm`;
const ADMIN_ROLES = `${CONFIGURATION}/administrators/admin-roles/admin-role`;

const link = (href: string): Json => ({ href });
const record = (name: string, index: number): Json => ({
  'session-id': `sid-${serial}-${index}`,
  'active-user-name': name,
  'authentication-realm': realm,
  'source-ip': address,
  'user-roles': [role, 'Users'],
  'posture-level': 7,
  'zenith-client-version': '22.7',
  'mac-address': index % 2 === 0 ? null : mac,
  ...(index === 1 && { 'device-id': secret }),
});
const RECORDS = [record(contractor, 0), record(user, 1), record('o.neill', 2), record(`${contractor}2`, 3)];

const FIXED: Record<string, Json> = {
  '/api/v1/system/system-information': {
    'system-information': { 'host-name': host, 'os-name': secret, 'os-version': '22.8R2.1', 'serial-number': serial, 'power-state': 'on' },
    notes: [{ text: `${user} ${secret}` }, { text: label, urgent: true }],
  },
  '/api/v1/system/healthcheck?status=all': { 'CPU-UTILIZATION': '12', 'USER-COUNT': '4', 'DISK-UTILIZATION': '40', 'FAN-SPEED': 900 },
  '/api/v1/system/healthcheck': { message: `${host} is accessible`, since: 1_700_000_000 },
  '/api/v1/license/named-users': { [label]: { [serial]: true, [user]: 1 }, 'named-users': [] },
  '/api/v1/cluster': { name: host, mode: 'Active/Passive', members: { [contractor]: { enabled: true }, [label]: { enabled: false } } },
  [CONFIGURATION]: { administrators: link(`${CONFIGURATION}/administrators`), users: link(`${CONFIGURATION}/users`) },
  [`${CONFIGURATION}/administrators`]: { 'admin-realms': link(`${CONFIGURATION}/administrators/admin-realms`) },
  [`${CONFIGURATION}/authentication/auth-servers`]: { 'auth-server': link(SERVERS) },
  [SERVERS]: { 'auth-server': [{ name: server }] },
  [REALMS]: { realm: [{ name: realm }] },
  [`${REALMS}/${encodeURIComponent(realm)}`]: { name: realm, 'authentication-server': 'Administrators', contact: { [user]: secret } },
  [`${REALMS}/${encodeURIComponent(realm)}/role-mapping-rules`]: { rule: [{ name: user, roles: [role] }] },
  [ADMIN_ROLES]: { 'admin-role': [{ name: role }] },
  [`${ADMIN_ROLES}/${encodeURIComponent(role)}/general/session-options`]: { 'idle-timeout': 60 },
};

export interface StrictAppliance extends RawServer {
  /** What the check has left: users and roles that were not there at the start. */
  listCreated(): string[];
  /** Refuses to remove anything. */
  keepsAll: boolean;
  /** Files a new item under its name in lower case. */
  filesInLowerCase: boolean;
}

/** An appliance that differs from the simulator in many ways. It refuses what it does not know. */
export async function startStrictAppliance(): Promise<StrictAppliance> {
  const items = new Map<string, Json>([[`${USERS}/${encodeURIComponent(contractor)}`, toUser({ username: contractor, fullname: user })]]);
  const initial = new Set(items.keys());
  const refuse = (status: number): string => reply(status, { result: { errors: [{ message: `${user}: ${secret}`, hint: label }] } });
  const read = (path: string): string => {
    const found = FIXED[path] ?? items.get(path);
    if (found) return reply(200, found);
    if (path === USERS || path === ROLES) return reply(200, listItems(items, path));
    if (path === '/api/v1/license/license-server-lease-information') return refuse(403);
    return refuse(path === '/api/v1/license/license-client-lease-state' ? 405 : 404);
  };
  const write = ({ method, path, body }: RawRequest): string => {
    const sent = method === 'DELETE' ? {} : (JSON.parse(body) as Json);
    if (method === 'POST' && (path === USERS || path === ROLES)) {
      const keyField = 'username' in sent ? 'username' : 'name';
      if (appliance.filesInLowerCase) sent[keyField] = String(sent[keyField]).toLowerCase();
      const item = `${path}/${encodeURIComponent(String(sent[keyField]))}`;
      if (items.has(item)) return refuse(422);
      items.set(item, path === USERS ? toUser(sent) : { ...sent, general: link(`${item}/general`) });
      return reply(200, { result: { info: [{ message: `Created by ${user}` }] } });
    }
    if (!items.has(path) || (method === 'DELETE' && appliance.keepsAll))
      return refuse(method === 'PUT' ? 404 : appliance.keepsAll ? 500 : 404);
    if (method === 'DELETE') items.delete(path);
    // It replaces.
    else items.set(path, path.startsWith(USERS) ? toUser({ username: items.get(path)?.['username'], ...sent }) : sent);
    return reply(200, { result: { info: [{ message: 'Done' }] } });
  };
  const answer = (request: RawRequest): string => {
    const { method, path, head } = request;
    const key = Buffer.from(/^authorization: Basic (.*)$/im.exec(head)?.[1] ?? '', 'base64').toString();
    if (path.endsWith('/api/v1/auth')) return refuse(404);
    if (path.endsWith('realm_auth')) return key === 'api-admin:simulator' ? reply(200, { api_key: secret }) : refuse(401);
    if (key !== `${secret}:`) return httpResponse(403, '');
    if (path.startsWith('/api/v1/system/active-users?')) return reply(200, toPage(new URLSearchParams(path.split('?')[1])));
    return method === 'GET' ? read(path) : write(request);
  };
  const raw = await startRawServer(answer, { forwardsLogins: true });
  const appliance: StrictAppliance = Object.assign(raw, {
    listCreated: () => [...items.keys()].filter((path) => !initial.has(path)),
    keepsAll: false,
    filesInLowerCase: false,
  });
  return appliance;
}

function reply(status: number, document: Json): string {
  return httpResponse(status, JSON.stringify(document), { 'content-type': 'application/json', etag: `"${secret.length}"` });
}

function toUser(sent: Json): Json {
  const shown = Object.entries(sent).filter(([key]) => key !== 'password-cleartext');
  return { enabled: 'true', 'shoe-size': 44, note: secret, ...Object.fromEntries(shown) };
}

function listItems(items: ReadonlyMap<string, Json>, path: string): Json {
  const found = [...items].filter(([item]) => item.startsWith(`${path}/`)).map(([, values]) => values);
  return { [path.endsWith('user-role') ? 'user-role' : 'user']: found };
}

/** Counts from 0, with text totals and the flag beside the records. */
function toPage(query: URLSearchParams): Json {
  const name = query.get('name');
  const matched = RECORDS.filter((one) => name === null || one['active-user-name'] === name);
  const start = Number(query.get('start') ?? 0);
  const page = matched.slice(start, start + Number(query.get('number') ?? 200));
  return {
    'active-users': {
      ...(page.length > 0 && { 'active-user-records': { 'active-user-record': page } }),
      'total-matched-record-number': String(matched.length),
    },
    'Is-last-record': String(start + page.length >= matched.length),
  };
}
