import type { JsonObject } from './body-shape';
import type { SimulatorSettings } from './options';

/** Generated sessions. The same number always gives the same session, so that nothing must be stored. */
const FIRST = 'anna,ben,carla,david,elena,felix,greta,hugo,ines,jonas,katrin,lukas,maria,nils,olga,paul,rosa,stefan,tanja,viktor'.split(
  ',',
);
const LAST =
  'weber,schmidt,fischer,wagner,becker,hoffmann,schulz,koch,richter,klein,wolf,neumann,braun,zimmermann,krause,lehmann,huber,mayer,fuchs,lang'.split(
    ',',
  );
// Names as in directories: other scripts, spaces, and characters that must be encoded in a URL.
const UNUSUAL_NAMES = [
  'jürgen.müller',
  'zoë.o’brien',
  '山田太郎',
  'олена.шевченко',
  'CORP\\anna.weber',
  'søren østergård',
  'max+vpn@example.com',
  'a&b 50%/#1',
  'ملاك',
  '🙂.tester',
];
const REALMS = ['Employees', 'Employees', 'Employees', 'Contractors', 'Partners', 'Büro #1 / EU'];
const ROLES: Record<string, string> = {
  Employees: 'Users, Intranet',
  Contractors: 'Contractors',
  Partners: 'Partner Portal',
  'Büro #1 / EU': 'Büro #1/EU & 50%',
};
const AGENTS = [
  'Windows 11 Desktop Client',
  'macOS Desktop Client',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64)',
  'iOS Client',
  'Android Client',
  'Linux Desktop Client',
];
const SERVERS: Record<string, [string, string]> = {
  Employees: ['Corp AD', 'Active Directory'],
  Contractors: ['System Local', 'Local Authentication'],
  Partners: ['Partner LDAP', 'LDAP Server'],
  'Büro #1 / EU': ['Corp AD', 'Active Directory'],
};
/** A realm with its users. Without local users, they come from a directory. */
export interface SessionRealm {
  readonly name: string;
  readonly server: string;
  readonly type: string;
  readonly roles: string;
  readonly users: readonly string[];
}

const DEFAULT_REALMS: readonly SessionRealm[] = REALMS.map((name) => {
  const [server, type] = SERVERS[name] ?? ['System Local', 'Local Authentication'];
  return { name, server, type, roles: ROLES[name] ?? 'Users', users: [] };
});

const FIRST_SIGN_IN_MS = Date.UTC(2026, 0, 15, 8, 0, 0);
// The appliance's local time; user-sign-in-time comes without a zone.
const ZONE_OFFSET_MS = 3_600_000;
const ADMINISTRATOR_INTERVAL = 97;

const pick = <T>(items: readonly T[], number: number): T => items[number % items.length] as T;

/** A well mixed 32-bit number (the finalizer of murmur3). */
function hashNumber(index: number, salt: number): number {
  let h = Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

const hex = (value: number): string => value.toString(16).padStart(8, '0');

/** The last eight digits are the number of the session, so that an id is found without a table. */
export function toSessionId(index: number): string {
  return `sid${hex(hashNumber(index, 1))}${hex(hashNumber(index, 2))}${hex(hashNumber(index, 3))}${hex(hashNumber(index, 4))}${hex(index)}`;
}

export function parseSessionId(id: string): number | undefined {
  const digits = /^sid[0-9a-f]{32}([0-9a-f]{8})$/.exec(id)?.[1];
  const index = digits === undefined ? NaN : parseInt(digits, 16);
  return toSessionId(index) === id ? index : undefined;
}

const isAdministrator = (index: number): boolean => index % ADMINISTRATOR_INTERVAL === 7;

function pickRealm(index: number, realms: readonly SessionRealm[]): SessionRealm | undefined {
  return (realms.length > 0 ? realms : DEFAULT_REALMS)[hashNumber(index, 6) % (realms.length || DEFAULT_REALMS.length)];
}

export function toUserName(index: number, realms: readonly SessionRealm[] = []): string {
  if (isAdministrator(index)) return 'admin';
  const users = pickRealm(index, realms)?.users ?? [];
  if (users.length > 0) return pick(users, hashNumber(index, 13));
  if (index % 17 === 5) return `${pick(UNUSUAL_NAMES, Math.floor(index / 17))}${index > 170 ? String(index) : ''}`;
  // Some people are signed in twice.
  const person = index % 9 === 8 ? index - 1 : index;
  const round = Math.floor(person / (FIRST.length * LAST.length));
  return `${pick(FIRST, person)}.${pick(LAST, Math.floor(person / FIRST.length) + person)}${round > 0 ? String(round + 1) : ''}`;
}

function toSignInTimes(index: number): { micro: string; local: string } {
  const at = FIRST_SIGN_IN_MS + index * 1370;
  const local = new Date(at + ZONE_OFFSET_MS).toISOString();
  const micro = String(hashNumber(index, 5) % 1_000_000).padStart(6, '0');
  return { micro: `${Math.floor(at / 1000)}.${micro}`, local: `${local.slice(0, 10).replaceAll('-', '/')} ${local.slice(11, 19)}` };
}

/** A complete record with the fields of "Active user record", and null for missing values. */
export function generateSession(index: number, settings: SimulatorSettings, realms: readonly SessionRealm[] = []): JsonObject {
  const administrator = isAdministrator(index);
  const signedIn = administrator ? undefined : pickRealm(index, realms);
  const agent = administrator ? 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)' : pick(AGENTS, hashNumber(index, 7));
  const tunnel = agent.includes('Client');
  const { micro, local } = toSignInTimes(index);
  const r = hashNumber(index, 8);
  const failed = tunnel && r % 11 === 0;
  const clientVersion = `${settings.brand.charAt(0).toLowerCase()}${settings.brand.slice(1)}-client-version`;
  return {
    'active-user-name': toUserName(index, realms),
    'active-secondary-user-name': r % 13 === 0 ? `second-${index}` : null,
    'agent-type': agent,
    'authentication-realm': signedIn?.name ?? settings.realm,
    'browser-id': hex(hashNumber(index, 9)) + hex(hashNumber(index, 10)),
    'device-id': tunnel ? hex(hashNumber(index, 11)) : null,
    'endpoint-security-status': failed
      ? 'Host Checker: failed\nAntivirus: out of date\nFirewall: passed'
      : 'Host Checker: passed\nAntivirus: passed\nFirewall: passed',
    events: r % 5,
    'hc-failed-reasons': failed ? 'Antivirus definitions are older than 10 updates.' : null,
    'login-node': settings.name,
    'mac-address': tunnel ? `02:${[16, 8, 0].map((shift) => ((r >> shift) & 0xff).toString(16).padStart(2, '0')).join(':')}:00:01` : null,
    'network-connect-ip': tunnel ? `10.${64 + ((index >> 16) & 63)}.${(index >> 8) & 255}.${index & 255}` : null,
    'network-connect-ipv6': tunnel && r % 3 === 0 ? `fd00::${(index & 0xffff).toString(16)}` : null,
    'network-connect-transport-mode': tunnel ? (r % 4 === 0 ? 'SSL' : 'ESP') : null,
    'ngp-session-id': hex(hashNumber(index, 12)),
    'primary-auth-server-name': signedIn?.server ?? 'Administrators',
    'primary-auth-server-type': signedIn?.type ?? 'Local Authentication',
    [clientVersion]: tunnel ? `22.7.${r % 4}.${1000 + (r % 900)}` : null,
    'secondary-auth-server-name': r % 13 === 0 ? 'Second Factor TOTP' : null,
    'secondary-auth-server-type': r % 13 === 0 ? 'TOTP Server' : null,
    'session-id': toSessionId(index),
    'sign-in-time-micro': micro,
    'source-ip': `198.51.${100 + (r % 3)}.${1 + ((r >>> 8) % 254)}`,
    'user-roles': signedIn?.roles ?? '.Administrators',
    'user-sign-in-time': local,
  };
}
