/* Rules that the dialogs in the browser share with the library. This file must not need Node.js or import a module that does. */

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

export type UrlFault = 'missing' | 'invalid' | 'credentials' | 'query' | 'http' | 'protocol';

/** Finds the fault of a base URL; undefined when it is valid. */
export function findUrlFault(text: string): UrlFault | undefined {
  if (text === '') return 'missing';
  if (!URL.canParse(text)) return 'invalid';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'protocol';
  if (url.username || url.password) return 'credentials';
  // The URL object does not report a lone ? or #.
  if (/[?#]/.test(text)) return 'query';
  return url.protocol === 'https:' || LOOPBACK.test(url.hostname) ? undefined : 'http';
}

/** Paths of pages, which people copy from a browser. The interface is never below one. */
const PAGE_PATH = /^\/(?:admin|dana|dana-na|dana-admin|login|welcome)(?:\/|$)|\.(?:cgi|html?|php|jsp|aspx?)$/i;

/** Whether a valid base URL has the path of a page. */
export function hasWebPagePath(text: string): boolean {
  return URL.canParse(text) && PAGE_PATH.test(new URL(text).pathname);
}

/** `setTimeout` turns more than 2^31 ms into 1 ms. */
export const MAX_TIMEOUT_SECONDS = 86_400;
export const MAX_CONNECTIONS = 256;

export function isValidTimeout(value: number): boolean {
  return value > 0 && value <= MAX_TIMEOUT_SECONDS;
}

export function isValidConnections(value: number): boolean {
  return isCount(value) && value <= MAX_CONNECTIONS;
}

export const MIN_RATE = 0.01;
export const MAX_RATE = 10_000;
export const MAX_WAITING = 1_000_000;

/** Requests per second; fractions are allowed. */
export function isValidRate(value: number): boolean {
  return value >= MIN_RATE && value <= MAX_RATE;
}

export function isValidWaiting(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_WAITING;
}

/** The serial numbers and machine ids of a pin, in upper case. */
export function parseIdentityPins(pin: string): string[] {
  return pin
    .toUpperCase()
    .split(/[\s,;]/)
    .filter((part) => part !== '');
}

/** What an appliance node allows. */
export const PERMISSIONS = ['full', 'no-destroy', 'read-only'] as const;
export type Permissions = (typeof PERMISSIONS)[number];

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1;
}

/** Whether a number is outside the range of its field. */
export function isNumberOutOfRange(range: 'count' | 'positive' | undefined, value: unknown): boolean {
  if (range === 'count') return !isCount(value);
  return range === 'positive' && !((value as number) > 0);
}

/** The credentials that a login needs. Other credentials are ignored. */
export function listRequiredCredentials(login: unknown, secondFactor: unknown): readonly string[] {
  if (login === 'key') return ['apiKey'];
  const second: Readonly<Record<string, string>> = { password: 'secondPassword', totp: 'totpSecret' };
  const more = login === 'legacy' ? undefined : second[String(secondFactor)];
  return ['username', 'password', ...(more === undefined ? [] : [more])];
}

/** HTTP Basic authentication ends the user name at the first colon. */
export function containsColon(username: string | undefined): boolean {
  return username?.includes(':') === true;
}

/** The formats of a text field. */
export type TextFormat = 'ipv4' | 'netmask' | 'address' | 'host' | 'mask' | 'amount';

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** Ones followed by zeros. Zeros alone would match every address. */
function isNetmask(text: string): boolean {
  if (!IPV4.test(text)) return false;
  const bits = text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return /^1+0*$/.test(bits.toString(2).padStart(32, '0'));
}

const isIPv6 = (text: string): boolean => /^[0-9a-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`);
/** A host name or an address. Text that looks like an address must be a valid one. */
function isHost(text: string): boolean {
  if (/^[\d.]*$/.test(text)) return IPV4.test(text);
  return text.includes(':') ? isIPv6(text) : !/[\s/@?#\\]/.test(text);
}

/** A prefix length such as 24 or 64, which some releases expect. */
const isLength = (text: string): boolean => /^[1-9]\d{0,2}$/.test(text) && Number(text) <= 128;

/** Parses `10%` or `0.5 %` to a percentage; undefined for other texts. */
export function parsePercentage(text: string): number | undefined {
  const [, digits] = /^(\d{1,3}(?:\.\d{1,6})?) ?%$/.exec(text.trim()) ?? [];
  const share = Number(digits);
  return share > 0 && share <= 100 ? share : undefined;
}

const isCountText = (text: string): boolean => isCount(Number(text));

const rules: Readonly<Record<TextFormat, (text: string) => boolean>> = {
  ipv4: (text) => IPV4.test(text),
  netmask: isNetmask,
  address: (text) => IPV4.test(text) || isIPv6(text),
  host: isHost,
  mask: (text) => isNetmask(text) || isLength(text),
  amount: (text) => isCountText(text) || parsePercentage(text) !== undefined,
};

export function matchesTextFormat(rule: TextFormat, text: string): boolean {
  return rules[rule](text);
}
