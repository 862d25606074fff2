import { GatewayError } from './error';
import {
  hasColon,
  isValidConnections,
  isValidRate,
  isValidTimeout,
  isValidWaiting,
  MIN_RATE,
  MAX_CONNECTIONS,
  MAX_RATE,
  MAX_TIMEOUT_SECONDS,
  MAX_WAITING,
  requiredCredentials,
  PERMISSIONS,
  parsePins,
  findUrlFault,
  type Permissions,
  type UrlFault,
} from './rules';
import { parseTotpSecret } from './totp';
import { trusted, safeMessage, type SafeMessage } from './safe-message';

/** Seconds that one exchange may take, unless the settings say otherwise. */
export const DEFAULT_TIMEOUT_SECONDS = 30;

/**
 * How the appliance is trusted, and who we are to it: names and meanings are those of `tls.connect` and `tls.createSecureContext`.
 * Texts are PEM; `pfx` is PKCS#12.
 */
export interface TlsSettings {
  /** Certificates of the authorities that may have signed that of the appliance. Default: those that come with Node.js. */
  ca?: string | Buffer | (string | Buffer)[];
  /** Client certificate, with its chain. */
  cert?: string | Buffer;
  /** Private key of the client certificate. */
  key?: string | Buffer;
  /** Client certificate and key in one, in place of `cert` and `key`. */
  pfx?: string | Buffer;
  /** Opens `key` or `pfx`. */
  passphrase?: string;
  /** Name that the certificate of the appliance has to have. Default: the host of `url`. */
  servername?: string;
  /** False: whoever answers is believed, and passwords go to them. Default: true. */
  rejectUnauthorized?: boolean;
  /** Protocols offered by ALPN. Default: none; the library speaks HTTP/1.1. */
  ALPNProtocols?: string[];
}

/** An HTTP proxy that the connections go through, by CONNECT. */
export interface ProxySettings {
  /** Address of the proxy, `http://` or `https://`. */
  url: string;
  /** Account at the proxy. Default: none. */
  username?: string;
  password?: string;
  /** Hosts that are reached without it: `vpn.example.com`, `*.example.com`, `.example.com`, each with or without a port, or `*`. */
  noproxy?: readonly string[];
}

/** Everything about one appliance. Names are those of the contract's section 3. Only `url` and what its login needs are required. */
export interface Settings {
  /** How results and errors call the appliance. Default: host and port of `url`. */
  name?: string;
  /** Base URL, such as `https://vpn.example.com`; a path prefix is kept. `http:` is for loopback hosts only. */
  url: string;
  /**
   * How an API key is had: `realm` logs in with `realm`, `username` and `password`, `legacy` the same at `/api/v1/auth` without a
   * realm, `key` takes `apiKey`. Default: `realm`.
   */
  login?: 'realm' | 'legacy' | 'key';
  /** Admin realm, such as `Admin Users`; required for `realm`. */
  realm?: string;
  /**
   * What answers the second step of a `realm` login: nothing, `secondPassword`, a code computed from `totpSecret`, or whoever runs
   * `login.resume`; with `flow` only `login.login` starts a login. Default: `none`.
   */
  secondFactor?: 'none' | 'password' | 'totp' | 'flow';
  /** Administrator's account; required unless `login` is `key`. No colon. */
  username?: string;
  /** Its password; required unless `login` is `key`. */
  password?: string;
  /** Account of the second step. Default: `username`. */
  secondUsername?: string;
  /** Required for the second factor `password`. */
  secondPassword?: string;
  /** Base32, or an `otpauth://` address; required for the second factor `totp`. */
  totpSecret?: string;
  /** Required for the login `key`. It cannot be renewed here: once it has expired, runs fail with `UNAUTHORIZED`. */
  apiKey?: string;
  /** Default: verified against the authorities that come with Node.js. */
  tls?: TlsSettings;
  /** Default: none. */
  proxy?: ProxySettings;
  /** Seconds for one exchange, once it has a connection, up to 86,400. Default: 30. */
  timeout?: number;
  /** The same for one import or export. Default: 600. */
  transferTimeout?: number;
  /** Most simultaneous connections, 1 to 256. Default: 8. */
  connections?: number;
  /** The word in `<vendor>-enforcer`. Default: found once from the `uac` configuration. */
  vendor?: string;
  /** The word in `exclude<Brand>Packages`. Default: found once from a session's record. */
  brand?: string;
  /** A folder in which every write is recorded, before it is sent and after. Default: none. */
  journal?: string;
  /** Plan every write instead of sending it. Default: false. */
  dryRun?: boolean;
  /**
   * Serial number or machine id of the appliance; several, separated by spaces or commas, where the members of a cluster share an address.
   * Nothing is written to one that tells another. Default: none.
   */
  pin?: string;
  /**
   * What may leave, whatever an operation asks: everything, nothing that ends, removes or replaces something, or no write at all.
   * Default: `full`.
   */
  permissions?: Permissions;
  /** Tells `onExchange` of each exchange. Default: false. */
  log?: boolean;
  /** Most requests a second, logins among them; what is more waits. Default: no ceiling. */
  rate?: number;
  /** Most runs that may wait beside those that the connections are busy with; what is more ends with `LIMIT`. Default: no ceiling. */
  waiting?: number;
}

/** Settings with defaults filled in and the base URL taken apart. */
export interface CheckedSettings extends Settings {
  name: string;
  login: 'realm' | 'legacy' | 'key';
  secondFactor: 'none' | 'password' | 'totp' | 'flow';
  timeout: number;
  transferTimeout: number;
  connections: number;
  permissions: Permissions;
  origin: string;
  /** Path of the base URL without a trailing slash; empty for most appliances. */
  prefix: string;
}

const CREDENTIAL_DESCRIPTIONS = {
  username: 'the administrator’s user name',
  password: 'the administrator’s password',
  secondPassword: 'the second password',
  totpSecret: 'the secret that the codes are computed from',
  apiKey: 'an API key',
} as const;

/** What is sent as it is, or looked for in what comes back. */
const TEXT_SETTINGS = ['realm', 'username', 'password', 'secondUsername', 'secondPassword', 'totpSecret', 'apiKey'] as const;

/** Checks settings before anything is sent. Errors: `BAD_CONFIG` naming the property, what is wrong and what to do. */
export function checkSettings(settings: Settings): CheckedSettings {
  const { origin, pathname, host } = checkUrl(settings.url);
  const login = checkChoice('login', settings.login ?? 'realm', ['realm', 'legacy', 'key']);
  const secondFactor = checkChoice('secondFactor', settings.secondFactor ?? 'none', ['none', 'password', 'totp', 'flow']);
  const requiredNames = requiredCredentials(login, secondFactor) as (keyof typeof CREDENTIAL_DESCRIPTIONS)[];
  for (const name of requiredNames) requireSetting(settings[name], name, CREDENTIAL_DESCRIPTIONS[name]);
  for (const name of TEXT_SETTINGS) {
    if (settings[name] !== undefined && typeof settings[name] !== 'string') throw badConfig(safeMessage`${trusted(name)} has to be text.`);
  }
  if (login !== 'key') {
    for (const name of ['username', 'secondUsername'] as const) {
      if (hasColon(settings[name]))
        throw badConfig(safeMessage`${trusted(name)} has a colon, which HTTP Basic authentication cannot carry.`);
    }
  }
  if (login === 'realm') requireSetting(settings.realm, 'realm', 'the admin realm to log in to, for example Admin Users');
  if (requiredNames.includes('totpSecret')) parseTotpSecret(settings.totpSecret ?? '');
  if (settings.proxy) checkProxy(settings.proxy.url);
  checkWord('vendor', settings.vendor);
  checkWord('brand', settings.brand);
  checkGuards(settings);
  return {
    ...settings,
    name: settings.name || host,
    login,
    secondFactor: login === 'realm' ? secondFactor : 'none',
    timeout: checkSeconds('timeout', settings.timeout, DEFAULT_TIMEOUT_SECONDS),
    transferTimeout: checkSeconds('transferTimeout', settings.transferTimeout, 600),
    connections: checkConnections(settings.connections),
    permissions: checkChoice('permissions', settings.permissions ?? 'full', PERMISSIONS),
    origin,
    prefix: trimTrailingSlashes(pathname),
  };
}

const URL_FAULTS: Readonly<Record<UrlFault, (shown: string, protocol: string) => SafeMessage>> = {
  missing: () => safeMessage`url is missing. Enter the base URL of the appliance, for example https://vpn.example.com.`,
  invalid: (shown) => safeMessage`url${shown} is not an address. Enter it with https://, for example https://vpn.example.com.`,
  credentials: () => safeMessage`url holds credentials. Enter them in their own fields, where they are stored encrypted.`,
  query: () => safeMessage`url has a query or a fragment. Enter only the base URL.`,
  http: () => safeMessage`url begins with http:. Passwords would travel in clear: use https://. (http: is for loopback only.)`,
  protocol: (_, protocol) => safeMessage`url begins with ${protocol}. Use https://.`,
};

function checkUrl(text: string | undefined = ''): URL {
  if (typeof text !== 'string') throw badConfig('url has to be text, for example https://vpn.example.com.');
  const fault = findUrlFault(text);
  if (fault === undefined) return new URL(text);
  // Not quoted when it may hold a password.
  const quotedUrl = text.includes('@') ? '' : ` ${JSON.stringify(text)}`;
  throw badConfig(URL_FAULTS[fault](quotedUrl, URL.canParse(text) ? new URL(text).protocol : ''));
}

function checkProxy(text: string): void {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  if (protocol !== 'http:' && protocol !== 'https:')
    throw badConfig('proxy has no usable URL. Enter one such as http://proxy.example.com:3128.');
}

/** A part of a name in an address. */
function checkWord(property: string, value: string | undefined): void {
  if (value && !/^[A-Za-z0-9_-]+$/.test(value))
    throw badConfig(safeMessage`${trusted(property)} has to be one word of letters and digits.`);
}

function checkGuards({ pin, rate, waiting }: Settings): void {
  if (pin !== undefined && (typeof pin !== 'string' || parsePins(pin).length === 0))
    throw badConfig('pin has to be a serial number or a machine id.');
  if (rate !== undefined && !isValidRate(rate)) throw badConfig(`rate has to be between ${MIN_RATE} and ${MAX_RATE} requests a second.`);
  if (waiting !== undefined && !isValidWaiting(waiting)) throw badConfig(`waiting has to be a whole number from 0 to ${MAX_WAITING}.`);
}

/** Without those at its end. */
function trimTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end--;
  return path.slice(0, end);
}

function requireSetting(value: string | undefined, property: string, description: string): void {
  if (!value)
    throw badConfig(safeMessage`${trusted(property)} is missing. Enter ${trusted(description)} in the settings of the appliance.`);
}

function checkChoice<T extends string>(property: string, value: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (!found)
    throw badConfig(safeMessage`${trusted(property)} is ${JSON.stringify(value)}; it has to be one of ${trusted(choices.join(', '))}.`);
  return found;
}

function checkSeconds(property: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (!isValidTimeout(value)) throw badConfig(safeMessage`${trusted(property)} has to be between 0 and ${MAX_TIMEOUT_SECONDS} seconds.`);
  return value;
}

function checkConnections(value: number | undefined): number {
  if (value === undefined) return 8;
  if (!isValidConnections(value)) throw badConfig(`connections has to be a whole number from 1 to ${MAX_CONNECTIONS}.`);
  return value;
}

/** A plain text is ours. */
function badConfig(message: string | SafeMessage): GatewayError {
  return new GatewayError('BAD_CONFIG', message);
}
