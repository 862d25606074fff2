import { describe, expect, it } from 'vitest';
import { Gateway } from '../src/gateway';
import { checkSettings, type Settings } from '../src/model/settings';
import { refusalOf } from './library/appliance';

const base: Settings = { url: 'https://vpn.example.com', realm: 'Admin Users', username: 'admin', password: 'secret' };

describe('settings', () => {
  it('have defaults', () => {
    expect(checkSettings(base)).toMatchObject({
      name: 'vpn.example.com',
      login: 'realm',
      secondFactor: 'none',
      timeout: 30,
      transferTimeout: 600,
      connections: 8,
      origin: 'https://vpn.example.com',
      prefix: '',
    });
  });

  it.each([
    ['https://vpn.example.com:8443/a/b//', 'https://vpn.example.com:8443', '/a/b'],
    ['https://vpn.example.com/', 'https://vpn.example.com', ''],
    ['HTTPS://VPN.Example.com:443', 'https://vpn.example.com', ''],
    ['https://[::1]:8443', 'https://[::1]:8443', ''],
    ['http://localhost:8080', 'http://localhost:8080', ''],
    ['http://127.0.0.1', 'http://127.0.0.1', ''],
    ['http://127.5.5.5', 'http://127.5.5.5', ''],
    ['http://[::1]/x', 'http://[::1]', '/x'],
  ])('take the address %s', (url, origin, prefix) => expect(checkSettings({ ...base, url })).toMatchObject({ origin, prefix }));

  it('without an address, or with one that is no text, say so', () => {
    const refusal = (url: unknown) => refusalOf(() => checkSettings({ ...base, url: url as string }))?.message;
    expect(refusal(undefined)).toMatch(/^url is missing/);
    expect(refusal(5)).toMatch(/^url has to be text/);
  });

  it.each<[string, Partial<Settings>]>([
    ['url', { url: '' }],
    ['url', { url: 'vpn.example.com' }],
    ['url', { url: 'https://' }],
    ['url', { url: 'ftp://vpn.example.com' }],
    ['url', { url: 'http://vpn.example.com' }],
    ['url', { url: 'http://localhost.example.com' }],
    ['url', { url: 'http://128.0.0.1' }],
    ['url', { url: 'https://admin@vpn.example.com' }],
    ['url', { url: 'https://vpn.example.com/?a=b' }],
    ['url', { url: 'https://vpn.example.com/#a' }],
    ['login', { login: 'saml' as 'realm' }],
    ['secondFactor', { secondFactor: 'sms' as 'none' }],
    ['username', { username: '' }],
    ['username', { username: 'a:b' }],
    ['password', { password: '' }],
    ['realm', { realm: '' }],
    ['secondUsername', { secondUsername: 'a:b' }],
    ['secondPassword', { secondFactor: 'password' }],
    ['totpSecret', { secondFactor: 'totp' }],
    ['totpSecret', { secondFactor: 'totp', totpSecret: 'not base 32!' }],
    ['totpSecret', { secondFactor: 'totp', totpSecret: 'otpauth://totp/x?secret=JBSWY3DP&algorithm=md5' }],
    ['apiKey', { login: 'key' }],
    ['timeout', { timeout: 0 }],
    ['timeout', { timeout: -1 }],
    ['timeout', { timeout: NaN }],
    ['timeout', { timeout: 1e9 }],
    ['transferTimeout', { transferTimeout: 0 }],
    ['connections', { connections: 0 }],
    ['connections', { connections: 1.5 }],
    ['connections', { connections: 1000 }],
    ['proxy', { proxy: { url: 'proxy.example.com' } }],
    ['proxy', { proxy: { url: 'socks5://proxy.example.com' } }],
  ])('that are wrong name %s: %j', (property, wrong) => {
    const error = refusalOf(() => new Gateway({ ...base, ...wrong }));
    expect(error?.code).toBe('BAD_CONFIG');
    expect(error?.message.startsWith(`${property} `)).toBe(true);
  });

  it('need no realm and second factor for the other ways', () => {
    expect(checkSettings({ url: base.url, login: 'key', apiKey: 'a' }).secondFactor).toBe('none');
    const legacy = checkSettings({ ...base, realm: '', login: 'legacy', secondFactor: 'totp' });
    expect(legacy.secondFactor).toBe('none');
  });
});
