/*
 * Rules that the dialogs in the browser apply as well as the library: one place for each. Nothing here may need Node.js, or import what does.
 */

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

export type UrlFault = 'missing' | 'invalid' | 'credentials' | 'query' | 'http' | 'protocol';

/** What is wrong with a base URL, or undefined. */
export function urlFault(text: string): UrlFault | undefined {
  if (text === '') return 'missing';
  if (!URL.canParse(text)) return 'invalid';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'protocol';
  if (url.username || url.password) return 'credentials';
  // Of a lone ? or # the URL itself tells nothing.
  if (url.search || url.hash || /[?#]$/.test(text)) return 'query';
  return url.protocol === 'https:' || LOOPBACK.test(url.hostname) ? undefined : 'http';
}

/** Longer ones would overflow the timer: `setTimeout` turns more than 2^31 ms into 1 ms. */
export const MOST_SECONDS = 86_400;
export const MOST_CONNECTIONS = 256;

export function isSeconds(value: number): boolean {
  return value > 0 && value <= MOST_SECONDS;
}

export function isConnections(value: number): boolean {
  return isCount(value) && value <= MOST_CONNECTIONS;
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1;
}

/** Whether a number is outside of what its field takes. */
export function isOutOf(range: 'count' | 'positive' | undefined, value: unknown): boolean {
  if (range === 'count') return !isCount(value);
  return range === 'positive' && !((value as number) > 0);
}

/** The credentials that a login needs; the rest may be there and is not used. */
export function neededCredentials(login: unknown, secondFactor: unknown): readonly string[] {
  if (login === 'key') return ['apiKey'];
  const second: Readonly<Record<string, string>> = { password: 'secondPassword', totp: 'totpSecret' };
  const more = login === 'legacy' ? undefined : second[String(secondFactor)];
  return ['username', 'password', ...(more === undefined ? [] : [more])];
}

/** HTTP Basic authentication ends the user name at the first colon. */
export function hasColon(username: string | undefined): boolean {
  return username?.includes(':') === true;
}
