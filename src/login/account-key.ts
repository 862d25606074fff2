import { createHash } from 'node:crypto';
import type { CheckedSettings } from '../model/settings';

/** Names one set of credentials at one address; any change of the settings that a login uses makes it another account. */
export function accountHash(settings: CheckedSettings): string {
  const { origin, prefix, login, realm, secondFactor, username, password, secondUsername, secondPassword, totpSecret } = settings;
  const parts = [origin, prefix, login, realm, secondFactor, username, password, secondUsername, secondPassword, totpSecret];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/**
 * Names what may share a key: one account, reached in one way. Behind another proxy the same address may be another appliance, and a
 * client certificate may be what a login was granted for.
 */
export function sessionKey(settings: CheckedSettings): string {
  const { proxy, tls } = settings;
  const connectionParts = [proxy?.url, proxy?.username, proxy?.noproxy, tls?.servername, tls?.cert, tls?.pfx];
  return createHash('sha256')
    .update(JSON.stringify([accountHash(settings), connectionParts]))
    .digest('hex');
}
