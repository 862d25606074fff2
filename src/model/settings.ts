import { GatewayError } from './error';
import {
  containsColon,
  isValidConnections,
  isValidRate,
  isValidTimeout,
  isValidWaiting,
  MIN_RATE,
  MAX_CONNECTIONS,
  MAX_RATE,
  MAX_TIMEOUT_SECONDS,
  MAX_WAITING,
  listRequiredCredentials,
  PERMISSIONS,
  parseIdentityPins,
  findUrlFault,
  type Permissions,
  type UrlFault,
} from './rules';
import { parseTotpSecret } from './totp';
import { trusted, safeMessage, type SafeMessage } from './safe-message';

/** Default seconds for one exchange. */
export const DEFAULT_TIMEOUT_SECONDS = 30;
const MIN_SIGNING_KEY_LENGTH = 16;

/** Whether the settings name a snapshot folder to rehearse with. */
export function isRehearsing({ rehearsal }: Pick<Settings, 'rehearsal'>): boolean {
  return typeof rehearsal === 'string' && rehearsal.trim() !== '';
}

/** TLS options. Names and meanings follow `tls.connect` and `tls.createSecureContext`. Texts are PEM; `pfx` is PKCS#12. */
export interface TlsSettings {
  /** Certificates of the authorities that may sign the appliance's certificate. Default: those of Node.js. */
  ca?: string | Buffer | (string | Buffer)[];
  /** Client certificate with its chain. */
  cert?: string | Buffer;
  /** Private key of the client certificate. */
  key?: string | Buffer;
  /** Client certificate and key in one file, in place of `cert` and `key`. */
  pfx?: string | Buffer;
  /** Passphrase of `key` or `pfx`. */
  passphrase?: string;
  /** Expected name in the appliance's certificate. Default: the host of `url`. */
  servername?: string;
  /** False: any certificate is accepted, and passwords go to any server that answers. Default: true. */
  rejectUnauthorized?: boolean;
  /** Protocols to offer with ALPN. Default: none; the library speaks HTTP/1.1. */
  ALPNProtocols?: string[];
}

/** An HTTP proxy for all connections (CONNECT). */
export interface ProxySettings {
  /** Address of the proxy, `http://` or `https://`. */
  url: string;
  /** Account at the proxy. Default: none. */
  username?: string;
  password?: string;
  /** Hosts to reach directly: `vpn.example.com`, `*.example.com`, `.example.com`, each with an optional port, or `*`. */
  noproxy?: readonly string[];
}

/** Settings of one appliance, named as in the contract's section 3. Required are `url` and what the login needs. */
export interface Settings {
  /** Name of the appliance in results and errors. Default: host and port of `url`. */
  name?: string;
  /** Base URL, such as `https://vpn.example.com`, with an optional path. `http:` is for loopback hosts only. */
  url: string;
  /**
   * Source of the API key: `realm` logs in with `realm`, `username` and `password`; `legacy` logs in at `/api/v1/auth` without a realm;
   * `key` uses `apiKey`. Default: `realm`.
   */
  login?: 'realm' | 'legacy' | 'key';
  /** Admin realm, such as `Admin Users`; required for `realm`. */
  realm?: string;
  /**
   * Answer to the second step of a `realm` login: none, `secondPassword`, a code from `totpSecret`, or `login.resume` in a flow. With
   * `flow`, only `login.login` starts a login. Default: `none`.
   */
  secondFactor?: 'none' | 'password' | 'totp' | 'flow';
  /** User name of the administrator, without a colon; required unless `login` is `key`. */
  username?: string;
  /** Password of `username`; required unless `login` is `key`. */
  password?: string;
  /** User name of the second step. Default: `username`. */
  secondUsername?: string;
  /** Required for the second factor `password`. */
  secondPassword?: string;
  /** Base32 text or an `otpauth://` address; required for the second factor `totp`. */
  totpSecret?: string;
  /** Required for the login `key`. The library cannot renew it: after it expires, runs fail with `UNAUTHORIZED`. */
  apiKey?: string;
  /**
   * A random text of 16 characters or more that signs journal entries, containments, states of watches and locks. Records of this appliance
   * without a valid code are then reported and not used. Default: nothing is signed.
   */
  signingKey?: string;
  /** Default: verified against the authorities of Node.js. */
  tls?: TlsSettings;
  /** Default: none. */
  proxy?: ProxySettings;
  /** Seconds for one exchange, without the wait for a connection, up to 86,400. Default: 30. */
  timeout?: number;
  /** Seconds for one import or export. Default: 600. */
  transferTimeout?: number;
  /** Maximum number of connections, 1 to 256. Default: 8. */
  connections?: number;
  /** The word in `<vendor>-enforcer`. Default: read once from the `uac` configuration. */
  vendor?: string;
  /** The word in `exclude<Brand>Packages`. Default: read once from the record of a session. */
  brand?: string;
  /** Folder that records every write, before and after it is sent. Default: none. */
  journal?: string;
  /** Plan every write instead of sending it. Default: false. */
  dryRun?: boolean;
  /**
   * A snapshot folder. All requests then go to a copy of it in a separate process, and none to `url`; the credentials are not used.
   * Default: none.
   */
  rehearsal?: string;
  /**
   * Serial number or machine id of the appliance. Separate several with spaces or commas when cluster members share an address. Writes to
   * another appliance fail. Default: none.
   */
  pin?: string;
  /**
   * What may be sent, whatever an operation asks: everything, nothing that ends, removes or replaces something, or no write. Default:
   * `full`.
   */
  permissions?: Permissions;
  /** Calls `onExchange` for each exchange. Default: false. */
  log?: boolean;
  /** Maximum requests per second, logins included; further requests wait. Default: no limit. */
  rate?: number;
  /** Maximum runs that wait while all connections are busy; further runs fail with `LIMIT`. Default: no limit. */
  waiting?: number;
}

/** Settings with defaults and the base URL split into its parts. */
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

/** Settings that must be text, because they are sent as they are or searched for in responses. */
const TEXT_SETTINGS = ['realm', 'username', 'password', 'secondUsername', 'secondPassword', 'totpSecret', 'apiKey', 'signingKey'] as const;

/** Checks settings before anything is sent. Errors: `BAD_CONFIG` naming the property, the fault and what to do. */
export function checkSettings(settings: Settings): CheckedSettings {
  const { origin, pathname, host } = checkUrl(settings.url);
  const login = checkChoice('login', settings.login ?? 'realm', ['realm', 'legacy', 'key']);
  const secondFactor = checkChoice('secondFactor', settings.secondFactor ?? 'none', ['none', 'password', 'totp', 'flow']);
  const requiredNames = listRequiredCredentials(login, secondFactor) as (keyof typeof CREDENTIAL_DESCRIPTIONS)[];
  for (const name of requiredNames) requireSetting(settings[name], name, CREDENTIAL_DESCRIPTIONS[name]);
  for (const name of TEXT_SETTINGS) {
    if (settings[name] !== undefined && typeof settings[name] !== 'string') throw badConfig(safeMessage`${trusted(name)} must be text.`);
  }
  if (login !== 'key') {
    for (const name of ['username', 'secondUsername'] as const) {
      if (containsColon(settings[name]))
        throw badConfig(safeMessage`${trusted(name)} has a colon, which HTTP Basic authentication cannot carry.`);
    }
  }
  if (login === 'realm') requireSetting(settings.realm, 'realm', 'the admin realm to log in to, for example Admin Users');
  if (requiredNames.includes('totpSecret')) parseTotpSecret(settings.totpSecret ?? '');
  if (settings.proxy) checkProxy(settings.proxy.url);
  checkWord('vendor', settings.vendor);
  checkWord('brand', settings.brand);
  checkGuards(settings);
  if (settings.signingKey && settings.signingKey.length < MIN_SIGNING_KEY_LENGTH)
    throw badConfig(`signingKey has fewer than ${MIN_SIGNING_KEY_LENGTH} characters. Enter a longer random text.`);
  return {
    ...settings,
    name: settings.name || host,
    login,
    secondFactor: login === 'realm' ? secondFactor : 'none',
    timeout: checkTimeoutSeconds('timeout', settings.timeout, DEFAULT_TIMEOUT_SECONDS),
    transferTimeout: checkTimeoutSeconds('transferTimeout', settings.transferTimeout, 600),
    connections: checkMaxConnections(settings.connections),
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
  if (typeof text !== 'string') throw badConfig('url must be text, for example https://vpn.example.com.');
  const fault = findUrlFault(text);
  if (fault === undefined) return new URL(text);
  // The URL is not quoted when it may hold a password.
  const quotedUrl = text.includes('@') ? '' : ` ${JSON.stringify(text)}`;
  throw badConfig(URL_FAULTS[fault](quotedUrl, URL.canParse(text) ? new URL(text).protocol : ''));
}

function checkProxy(text: string): void {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  if (protocol !== 'http:' && protocol !== 'https:')
    throw badConfig('proxy has no usable URL. Enter one such as http://proxy.example.com:3128.');
}

/** A word that becomes part of a name in a path. */
function checkWord(property: string, value: string | undefined): void {
  if (value && !/^[A-Za-z0-9_-]+$/.test(value)) throw badConfig(safeMessage`${trusted(property)} must be one word of letters and digits.`);
}

function checkGuards({ pin, rate, waiting }: Settings): void {
  if (pin !== undefined && (typeof pin !== 'string' || parseIdentityPins(pin).length === 0))
    throw badConfig('pin must be a serial number or a machine id.');
  if (rate !== undefined && !isValidRate(rate)) throw badConfig(`rate must be between ${MIN_RATE} and ${MAX_RATE} requests a second.`);
  if (waiting !== undefined && !isValidWaiting(waiting)) throw badConfig(`waiting must be a whole number from 0 to ${MAX_WAITING}.`);
}

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
    throw badConfig(safeMessage`${trusted(property)} is ${JSON.stringify(value)}; it must be one of ${trusted(choices.join(', '))}.`);
  return found;
}

function checkTimeoutSeconds(property: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (!isValidTimeout(value)) throw badConfig(safeMessage`${trusted(property)} must be between 0 and ${MAX_TIMEOUT_SECONDS} seconds.`);
  return value;
}

function checkMaxConnections(value: number | undefined): number {
  if (value === undefined) return 8;
  if (!isValidConnections(value)) throw badConfig(`connections must be a whole number from 1 to ${MAX_CONNECTIONS}.`);
  return value;
}

/** A plain string counts as trusted. */
function badConfig(message: string | SafeMessage): GatewayError {
  return new GatewayError('BAD_CONFIG', message);
}
