import {
  containsColon,
  isValidConnections,
  isValidRate,
  isValidTimeout,
  isValidWaiting,
  listRequiredCredentials,
  findUrlFault,
  hasWebPagePath,
} from '../../../src/model/rules';
import { getConfigDialogValue } from '../dialog-state';

type Verdict = true | string;

export function checkUrl(node: RedNode, value: unknown): Verdict {
  const url = typeof value === 'string' ? value.trim() : '';
  const problem = findUrlFault(url) ?? (hasWebPagePath(url) ? 'page' : undefined);
  return problem === undefined ? true : node._(`check.url-${problem}`);
}

export function checkRealm(node: RedNode, value: unknown): Verdict {
  return value || (getConfigDialogValue(node, 'login') || 'realm') !== 'realm' ? true : node._('check.realm-missing');
}

export function checkTimeoutSeconds(node: RedNode, value: unknown): Verdict {
  if (value === '' || value === undefined) return true;
  return isValidTimeout(Number(value)) ? true : node._('check.seconds');
}

export function checkMaxConnections(node: RedNode, value: unknown): Verdict {
  if (value === '' || value === undefined) return true;
  return isValidConnections(Number(value)) ? true : node._('check.connections');
}

export function checkRateLimit(node: RedNode, value: unknown): Verdict {
  return isEmpty(value) || isValidRate(Number(value)) ? true : node._('check.rate');
}

export function checkMaxQueued(node: RedNode, value: unknown): Verdict {
  return isEmpty(value) || isValidWaiting(Number(value)) ? true : node._('check.waiting');
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

/** Checks a credential that the login needs. Node-RED validates credentials only while the dialog is open. */
export function checkCredential(node: RedNode, value: unknown, name: string): Verdict {
  if (name.endsWith('sername') && containsColon(String(value))) return node._('check.username-colon');
  const needed = listRequiredCredentials(getConfigDialogValue(node, 'login'), getConfigDialogValue(node, 'secondFactor'));
  return value || !needed.includes(name) ? true : node._(`check.${name}-missing`);
}
