import type { Settings } from './settings';

/** All secrets of the settings, in the forms in which they are sent. */
export function listSettingsSecrets(settings: Settings): (string | undefined)[] {
  const { username = '', password, secondUsername, secondPassword, totpSecret, apiKey, signingKey, proxy, tls } = settings;
  const secrets = [password, secondPassword, totpSecret, apiKey, proxy?.password, tls?.passphrase];
  if (password) secrets.push(`${username}:${password}`);
  if (secondPassword) secrets.push(`${secondUsername || username}:${secondPassword}`);
  if (apiKey) secrets.push(`${apiKey}:`);
  if (proxy?.password) secrets.push(`${proxy.username ?? ''}:${proxy.password}`);
  if (signingKey) secrets.push(signingKey);
  if (proxy) secrets.push(readUrlPassword(proxy.url));
  return secrets;
}

/** The password in the address of a proxy, decoded. */
function readUrlPassword(url: string): string {
  const { password } = new URL(url);
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}
