import { describe, expect, it } from 'vitest';
import { Gateway } from '../../../src/gateway/gateway';
import { checkSettings, type Settings } from '../../../src/model/settings';
import { redactSettings } from '../../../src/model/redacted-settings';
import { getThrownError } from '../../helpers/simulated-appliance';

const base: Settings = { url: 'https://vpn.example.com', realm: 'Admin Users', username: 'admin', password: 'secret' };

describe('checkSettings', () => {
  it('checkSettings returns the defaults of settings that are not set', () => {
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
  ])('checkSettings accepts the address %s', (url, origin, prefix) =>
    expect(checkSettings({ ...base, url })).toMatchObject({ origin, prefix }),
  );

  it('checkSettings reports a missing address and one that is not text', () => {
    const refusal = (url: unknown) => getThrownError(() => checkSettings({ ...base, url: url as string }))?.message;
    expect(refusal(undefined)).toMatch(/^url is missing/);
    expect(refusal(5)).toMatch(/^url must be text/);
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
  ])('checkSettings names the setting %s in the error for %j', (property, wrong) => {
    const error = getThrownError(() => new Gateway({ ...base, ...wrong }));
    expect(error?.code).toBe('BAD_CONFIG');
    expect(error?.message.startsWith(`${property} `)).toBe(true);
  });

  it.each<[Partial<Settings>, string]>([
    [{ url: '' }, 'url is missing. Enter the base URL of the appliance, for example https://vpn.example.com.'],
    [{ url: 'vpn.example.com' }, 'url "vpn.example.com" is not an address. Enter it with https://, for example https://vpn.example.com.'],
    [{ url: 'admin:secret@vpn' }, 'url begins with admin:. Use https://.'],
    [{ url: '//admin:secret@vpn' }, 'url is not an address. Enter it with https://, for example https://vpn.example.com.'],
    [{ url: 'https://a:secret@vpn' }, 'url holds credentials. Enter them in their own fields, where they are stored encrypted.'],
    [{ url: 'https://vpn/?a' }, 'url has a query or a fragment. Enter only the base URL.'],
    [{ url: 'ftp://vpn' }, 'url begins with ftp:. Use https://.'],
    [{ url: 'http://vpn' }, 'url begins with http:. Passwords would travel in clear: use https://. (http: is for loopback only.)'],
    [{ login: 'saml' as 'realm' }, 'login is "saml"; it must be one of realm, legacy, key.'],
    [{ secondFactor: 'sms' as 'none' }, 'secondFactor is "sms"; it must be one of none, password, totp, flow.'],
    [{ permissions: 'all' as 'full' }, 'permissions is "all"; it must be one of full, no-destroy, read-only.'],
    [{ username: '' }, 'username is missing. Enter the administrator’s user name in the settings of the appliance.'],
    [{ password: '' }, 'password is missing. Enter the administrator’s password in the settings of the appliance.'],
    [{ realm: '' }, 'realm is missing. Enter the admin realm to log in to, for example Admin Users in the settings of the appliance.'],
    [{ secondFactor: 'password' }, 'secondPassword is missing. Enter the second password in the settings of the appliance.'],
    [
      { secondFactor: 'totp' },
      'totpSecret is missing. Enter the secret that the codes are computed from in the settings of the appliance.',
    ],
    [{ login: 'key' }, 'apiKey is missing. Enter an API key in the settings of the appliance.'],
    [{ password: 7 as never }, 'password must be text.'],
    [{ secondUsername: {} as never }, 'secondUsername must be text.'],
    [{ username: 'a:b' }, 'username has a colon, which HTTP Basic authentication cannot carry.'],
    [{ vendor: 'two words' }, 'vendor must be one word of letters and digits.'],
    [{ brand: 'a/b' }, 'brand must be one word of letters and digits.'],
    [{ brand: '/b' }, 'brand must be one word of letters and digits.'],
    [{ pin: ' ,' }, 'pin must be a serial number or a machine id.'],
    [{ pin: 7 as never }, 'pin must be a serial number or a machine id.'],
    [{ rate: 0 }, 'rate must be between 0.01 and 10000 requests a second.'],
    [{ waiting: -1 }, 'waiting must be a whole number from 0 to 1000000.'],
    [{ timeout: 0 }, 'timeout must be between 0 and 86400 seconds.'],
    [{ transferTimeout: 86_401 }, 'transferTimeout must be between 0 and 86400 seconds.'],
    [{ connections: 257 }, 'connections must be a whole number from 1 to 256.'],
    [{ proxy: { url: 'proxy' } }, 'proxy has no usable URL. Enter one such as http://proxy.example.com:3128.'],
  ])('%j: says what is wrong and what to do', (wrong, words) => {
    expect(getThrownError(() => checkSettings({ ...base, ...wrong }))?.message).toBe(words);
  });

  it('checkSettings returns valid settings unchanged', () => {
    const given = {
      name: 'vpn-1',
      vendor: 'a-b_C9',
      brand: 'x',
      pin: 'A, b',
      rate: 0.5,
      waiting: 0,
      timeout: 1,
      transferTimeout: 86_400,
      connections: 256,
      permissions: 'read-only',
      proxy: { url: 'https://proxy.example.com' },
      secondFactor: 'flow',
    } as const;
    expect(checkSettings({ ...base, ...given })).toMatchObject(given);
    expect(checkSettings({ ...base, proxy: { url: 'http://proxy' }, vendor: '', name: '' })).toMatchObject({ name: 'vpn.example.com' });
    expect(checkSettings({ url: base.url, login: 'key', apiKey: 'a', username: 'a:b' }).permissions).toBe('full');
    expect(checkSettings({ ...base, secondFactor: 'totp', totpSecret: 'JBSWY3DPEHPK3PXP' }).secondFactor).toBe('totp');
  });

  it('checkSettings does not require a realm and second factor for the other login types', () => {
    expect(checkSettings({ url: base.url, login: 'key', apiKey: 'a' }).secondFactor).toBe('none');
    const legacy = checkSettings({ ...base, realm: '', login: 'legacy', secondFactor: 'totp' });
    expect(legacy.secondFactor).toBe('none');
  });
});

describe('Settings in a support bundle', () => {
  const shown = (more: Partial<Settings>) => redactSettings(checkSettings({ ...base, ...more }));

  it('a support bundle shows only numbers and choices of the settings, and whether other values are set', () => {
    expect(shown({})).toEqual({
      url: 'https://…',
      login: 'realm',
      secondFactor: 'none',
      timeout: 30,
      transferTimeout: 600,
      connections: 8,
      permissions: 'full',
      rate: null,
      waiting: null,
      dryRun: false,
      rehearsal: false,
      log: false,
      pin: false,
      journal: false,
      signed: false,
      vendor: false,
      brand: false,
      tls: { verified: true, ca: false, 'client-certificate': false, servername: false },
      proxy: null,
    });
    const everything = {
      url: 'https://vpn.example.com:8443/a',
      rate: 1,
      waiting: 0,
      dryRun: true,
      log: true,
      pin: 'A',
      journal: '/j',
      vendor: 'v',
      brand: 'b',
      tls: { rejectUnauthorized: false, ca: 'c', pfx: 'p', servername: 's' },
      proxy: { url: 'https://proxy', username: 'u', noproxy: ['a', 'b'] },
    };
    expect(shown(everything)).toMatchObject({
      url: 'https://…:8443/…',
      rate: 1,
      waiting: 0,
      dryRun: true,
      log: true,
      pin: true,
      journal: true,
      vendor: true,
      brand: true,
      tls: { verified: false, ca: true, 'client-certificate': true, servername: true },
      proxy: { encrypted: true, account: true, exceptions: 2 },
    });
    expect(shown({ journal: '', dryRun: false, tls: { cert: 'c' }, proxy: { url: 'http://proxy', username: '' } })).toMatchObject({
      journal: false,
      dryRun: false,
      tls: { verified: true, ca: false, 'client-certificate': true, servername: false },
      proxy: { encrypted: false, account: false, exceptions: 0 },
    });
  });
});
