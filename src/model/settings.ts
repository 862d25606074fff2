import { GatewayError } from './error';
import { readSecret } from './totp';

/** What `tls.createSecureContext` and `tls.connect` need; a Node-RED `tls-config` node fills it. Verification is on unless it says no. */
export interface TlsSettings {
  ca?: string | Buffer | (string | Buffer)[];
  cert?: string | Buffer;
  key?: string | Buffer;
  pfx?: string | Buffer;
  passphrase?: string;
  servername?: string;
  rejectUnauthorized?: boolean;
  ALPNProtocols?: string[];
}

export interface ProxySettings {
  url: string;
  username?: string;
  password?: string;
  /** Hosts that are reached without the proxy, as the core `http proxy` node has them. */
  noproxy?: readonly string[];
}

/** Everything about one appliance. Names are those of the contract's section 3; times are in seconds. */
export interface Settings {
  name?: string;
  url: string;
  login?: 'realm' | 'legacy' | 'key';
  realm?: string;
  secondFactor?: 'none' | 'password' | 'totp' | 'flow';
  username?: string;
  password?: string;
  secondUsername?: string;
  secondPassword?: string;
  totpSecret?: string;
  apiKey?: string;
  tls?: TlsSettings;
  proxy?: ProxySettings;
  timeout?: number;
  transferTimeout?: number;
  connections?: number;
  vendor?: string;
  brand?: string;
  dryRun?: boolean;
}

/** Settings with defaults filled in and the base URL taken apart. */
export interface CheckedSettings extends Settings {
  name: string;
  login: 'realm' | 'legacy' | 'key';
  secondFactor: 'none' | 'password' | 'totp' | 'flow';
  timeout: number;
  transferTimeout: number;
  connections: number;
  origin: string;
  /** Path of the base URL without a trailing slash; empty for most appliances. */
  prefix: string;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Checks settings before anything is sent. Errors: `BAD_CONFIG` naming the property, what is wrong and what to do. */
export function checkSettings(settings: Settings): CheckedSettings {
  const { origin, pathname, host } = checkUrl(settings.url);
  const login = oneOf('login', settings.login ?? 'realm', ['realm', 'legacy', 'key']);
  const secondFactor = oneOf('secondFactor', settings.secondFactor ?? 'none', ['none', 'password', 'totp', 'flow']);
  if (login === 'key') need(settings.apiKey, 'apiKey', 'an API key');
  else {
    need(settings.username, 'username', 'the administrator’s user name');
    need(settings.password, 'password', 'the administrator’s password');
    if (settings.username?.includes(':')) throw bad('username has a colon, which HTTP Basic authentication cannot carry.');
    if (settings.secondUsername?.includes(':')) throw bad('secondUsername has a colon, which HTTP Basic authentication cannot carry.');
  }
  if (login === 'realm') {
    need(settings.realm, 'realm', 'the admin realm to log in to, for example Admin Users');
    if (secondFactor === 'password') need(settings.secondPassword, 'secondPassword', 'the second password');
    if (secondFactor === 'totp') {
      need(settings.totpSecret, 'totpSecret', 'the secret that the codes are computed from');
      readSecret(settings.totpSecret ?? '');
    }
  }
  if (settings.proxy) checkProxy(settings.proxy.url);
  checkWord('vendor', settings.vendor);
  checkWord('brand', settings.brand);
  return {
    ...settings,
    name: settings.name || host,
    login,
    secondFactor: login === 'realm' ? secondFactor : 'none',
    timeout: seconds('timeout', settings.timeout, 30),
    transferTimeout: seconds('transferTimeout', settings.transferTimeout, 600),
    connections: connections(settings.connections),
    origin,
    prefix: pathname.replace(/\/+$/, ''),
  };
}

function checkUrl(text: string): URL {
  if (!text) throw bad('url is missing. Enter the base URL of the appliance, for example https://vpn.example.com.');
  if (!URL.canParse(text)) {
    // Not quoted when it may hold a password.
    const shown = text.includes('@') ? '' : ` ${JSON.stringify(text)}`;
    throw bad(`url${shown} is not an address. Enter it with https://, for example https://vpn.example.com.`);
  }
  const url = new URL(text);
  if (url.username || url.password) throw bad('url holds credentials. Enter them in their own fields, where they are stored encrypted.');
  if (url.search || url.hash) throw bad('url has a query or a fragment. Enter only the base URL.');
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    throw bad('url begins with http:. Passwords would travel in clear: use https://. (http: is for loopback only.)');
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw bad(`url begins with ${url.protocol}. Use https://.`);
  return url;
}

function checkProxy(text: string): void {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  if (protocol !== 'http:' && protocol !== 'https:') throw bad('proxy has no usable URL. Enter one such as http://proxy.example.com:3128.');
}

/** A part of a name in an address. */
function checkWord(property: string, value: string | undefined): void {
  if (value && !/^[A-Za-z0-9_-]+$/.test(value)) throw bad(`${property} has to be one word of letters and digits.`);
}

function need(value: string | undefined, property: string, what: string): void {
  if (!value) throw bad(`${property} is missing. Enter ${what} in the appliance node.`);
}

function oneOf<T extends string>(property: string, value: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (!found) throw bad(`${property} is ${JSON.stringify(value)}; it has to be one of ${choices.join(', ')}.`);
  return found;
}

function seconds(property: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  // setTimeout turns more than 2^31 ms into 1 ms.
  if (!(value > 0 && value <= 86_400)) throw bad(`${property} has to be between 0 and 86400 seconds.`);
  return value;
}

function connections(value: number | undefined): number {
  if (value === undefined) return 8;
  if (!(Number.isInteger(value) && value >= 1 && value <= 256)) throw bad('connections has to be a whole number from 1 to 256.');
  return value;
}

function bad(message: string): GatewayError {
  return new GatewayError('BAD_CONFIG', message);
}
