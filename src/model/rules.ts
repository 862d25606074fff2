/*
 * Rules that the dialogs in the browser apply as well as the library: one place for each. Nothing here may need Node.js, or import what does.
 */

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

export type UrlFault = 'missing' | 'invalid' | 'credentials' | 'query' | 'http' | 'protocol';

/** What is wrong with a base URL, or undefined. */
export function findUrlFault(text: string): UrlFault | undefined {
  if (text === '') return 'missing';
  if (!URL.canParse(text)) return 'invalid';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'protocol';
  if (url.username || url.password) return 'credentials';
  // Of a lone ? or # the URL itself tells nothing.
  if (/[?#]/.test(text)) return 'query';
  return url.protocol === 'https:' || LOOPBACK.test(url.hostname) ? undefined : 'http';
}

/** Longer ones would overflow the timer: `setTimeout` turns more than 2^31 ms into 1 ms. */
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

/** Requests a second; less than one is possible. */
export function isValidRate(value: number): boolean {
  return value >= MIN_RATE && value <= MAX_RATE;
}

export function isValidWaiting(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_WAITING;
}

/** The serial numbers and machine ids that a pin allows, in one case. */
export function parsePins(pin: string): string[] {
  return pin
    .toUpperCase()
    .split(/[\s,;]/)
    .filter((part) => part !== '');
}

/** What an appliance node lets through. */
export const PERMISSIONS = ['full', 'no-destroy', 'read-only'] as const;
export type Permissions = (typeof PERMISSIONS)[number];

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1;
}

/** Whether a number is outside of what its field takes. */
export function isOutOfRange(range: 'count' | 'positive' | undefined, value: unknown): boolean {
  if (range === 'count') return !isCount(value);
  return range === 'positive' && !((value as number) > 0);
}

/** The credentials that a login needs; the rest may be there and is not used. */
export function requiredCredentials(login: unknown, secondFactor: unknown): readonly string[] {
  if (login === 'key') return ['apiKey'];
  const second: Readonly<Record<string, string>> = { password: 'secondPassword', totp: 'totpSecret' };
  const more = login === 'legacy' ? undefined : second[String(secondFactor)];
  return ['username', 'password', ...(more === undefined ? [] : [more])];
}

/** HTTP Basic authentication ends the user name at the first colon. */
export function hasColon(username: string | undefined): boolean {
  return username?.includes(':') === true;
}

/** What a text of a field can be asked to be. */
export type TextRule = 'ipv4' | 'netmask' | 'address' | 'host' | 'mask' | 'amount';

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** Ones from the left and zeros from there on; not zeros only, which would be every address. */
function isNetmask(text: string): boolean {
  if (!IPV4.test(text)) return false;
  const bits = text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return /^1+0*$/.test(bits.toString(2).padStart(32, '0'));
}

const isIPv6 = (text: string): boolean => /^[0-9a-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`);
/** A name or an address; what looks like an address has to be one. */
function isHost(text: string): boolean {
  if (/^[\d.]*$/.test(text)) return IPV4.test(text);
  return text.includes(':') ? isIPv6(text) : !/[\s/@?#\\]/.test(text);
}

/** A length such as 24 or 64, as some releases want it. */
const isLength = (text: string): boolean => /^[1-9]\d{0,2}$/.test(text) && Number(text) <= 128;

/** `10%`, `0.5 %`: a share of all, in percent; undefined for what is none. */
export function parsePercentage(text: string): number | undefined {
  const [, digits] = /^(\d{1,3}(?:\.\d{1,6})?) ?%$/.exec(text.trim()) ?? [];
  const share = Number(digits);
  return share > 0 && share <= 100 ? share : undefined;
}

const isCountText = (text: string): boolean => isCount(Number(text));

const rules: Readonly<Record<TextRule, (text: string) => boolean>> = {
  ipv4: (text) => IPV4.test(text),
  netmask: isNetmask,
  address: (text) => IPV4.test(text) || isIPv6(text),
  host: isHost,
  mask: (text) => isNetmask(text) || isLength(text),
  amount: (text) => isCountText(text) || parsePercentage(text) !== undefined,
};

export function matchesRule(rule: TextRule, text: string): boolean {
  return rules[rule](text);
}
