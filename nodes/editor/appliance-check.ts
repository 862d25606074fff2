import { hasColon, isConnections, isRate, isSeconds, isWaiting, neededCredentials, urlFault } from '../../src/model/rules';
import { liveConfig } from './state';

type Verdict = true | string;

export function checkUrl(node: RedNode, value: unknown): Verdict {
  const fault = urlFault(typeof value === 'string' ? value.trim() : '');
  return fault === undefined ? true : node._(`check.url-${fault}`);
}

export function checkRealm(node: RedNode, value: unknown): Verdict {
  return value || (liveConfig(node, 'login') || 'realm') !== 'realm' ? true : node._('check.realm-missing');
}

export function checkSeconds(node: RedNode, value: unknown): Verdict {
  if (value === '' || value === undefined) return true;
  return isSeconds(Number(value)) ? true : node._('check.seconds');
}

export function checkConnections(node: RedNode, value: unknown): Verdict {
  if (value === '' || value === undefined) return true;
  return isConnections(Number(value)) ? true : node._('check.connections');
}

export function checkRate(node: RedNode, value: unknown): Verdict {
  return isNothing(value) || isRate(Number(value)) ? true : node._('check.rate');
}

export function checkWaiting(node: RedNode, value: unknown): Verdict {
  return isNothing(value) || isWaiting(Number(value)) ? true : node._('check.waiting');
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

/** Credentials that the chosen login needs. Node-RED asks only while the dialog is open: elsewhere the editor does not have them. */
export function checkCredential(node: RedNode, value: unknown, name: string): Verdict {
  if (name.endsWith('sername') && hasColon(String(value))) return node._('check.username-colon');
  const needed = neededCredentials(liveConfig(node, 'login'), liveConfig(node, 'secondFactor'));
  return value || !needed.includes(name) ? true : node._(`check.${name}-missing`);
}
