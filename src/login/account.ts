import { createHash } from 'node:crypto';
import type { CheckedSettings } from '../model/settings';

/** Names one set of credentials at one address; any change of the settings that a login uses makes it another account. */
export function accountOf(settings: CheckedSettings): string {
  const { origin, prefix, login, realm, secondFactor, username, password, secondUsername, secondPassword, totpSecret } = settings;
  const parts = [origin, prefix, login, realm, secondFactor, username, password, secondUsername, secondPassword, totpSecret];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
