import { liveConfig } from './state';

type Verdict = true | string;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** The base URL as `src/model/settings.ts` checks it again when it runs. */
export function checkUrl(node: RedNode, value: unknown): Verdict {
  const text = typeof value === 'string' ? value.trim() : '';
  if (text === '') return node._('check.url-missing');
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return node._('check.url-invalid');
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return node._('check.url-protocol');
  if (url.username || url.password) return node._('check.url-credentials');
  if (url.search || url.hash || /[?#]$/.test(text)) return node._('check.url-query');
  return url.protocol === 'https:' || LOOPBACK.test(url.hostname) ? true : node._('check.url-http');
}

export function checkRealm(node: RedNode, value: unknown): Verdict {
  return value || (liveConfig(node, 'login') || 'realm') !== 'realm' ? true : node._('check.realm-missing');
}

export function checkSeconds(node: RedNode, value: unknown): Verdict {
  if (value === '' || value === undefined) return true;
  const seconds = Number(value);
  return seconds > 0 && seconds <= 86_400 ? true : node._('check.seconds');
}

export function checkConnections(node: RedNode, value: unknown): Verdict {
  if (value === '' || value === undefined) return true;
  const connections = Number(value);
  return Number.isInteger(connections) && connections >= 1 && connections <= 256 ? true : node._('check.connections');
}

/** Credentials that the chosen login needs. Node-RED asks only while the dialog is open: elsewhere the editor does not have them. */
export function checkCredential(node: RedNode, value: unknown, name: string): Verdict {
  const login = liveConfig(node, 'login');
  const factor = login === 'realm' ? liveConfig(node, 'secondFactor') : 'none';
  const needed: Record<string, boolean> = {
    username: login !== 'key',
    password: login !== 'key',
    apiKey: login === 'key',
    secondPassword: factor === 'password',
    totpSecret: factor === 'totp',
  };
  if (name.endsWith('sername') && String(value).includes(':')) return node._('check.username-colon');
  return value || !needed[name] ? true : node._(`check.${name}-missing`);
}
