import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../src/model/error';
import { Gateway } from '../src/gateway';
import { Redactor } from '../src/model/redaction';
import { secretsIn } from '../src/model/secrets';
import type { Settings } from '../src/model/settings';
import { calls, failure, gatewayFor, pair, refusalOf, settingsFor } from './library/appliance';
import { http, wire, type Asked } from './library/wire';

const KEY = 'Zm9v+YmFy/cXV4YmF6Zm9vYmFycXV4YmF6Zm9vYmE=AA';
const PASSWORD = 'Pä$$ wört/"#\\';
const SECOND = 'zweites <Wort> & mehr';
const BODY_PASSWORD = 'Neues Kennwort+1';

/** The ways in which a text could come back, written down apart from the library's own list. */
function forms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const escaped = encodeURIComponent(secret);
  return [
    secret,
    escaped,
    escaped.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    escaped.replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('base64'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    Buffer.from(`someone:${secret}:`).toString('base64'),
    encodeURIComponent(bytes.toString('base64')),
  ];
}

/** All that could reach a log, a Catch node or a dashboard. */
function emitted(value: unknown): string {
  const parts = [inspect(value, { depth: 20, maxStringLength: null, maxArrayLength: null }), JSON.stringify(value)];
  if (value instanceof GatewayError) parts.push(value.message, String(value), value.stack ?? '', JSON.stringify(value.cause));
  return parts.join('\n');
}

function expectClean(value: unknown, ...secrets: string[]): void {
  const text = emitted(value);
  const unescaped = text.replaceAll('\\"', '"').replaceAll('\\\\', '\\');
  for (const secret of secrets) {
    for (const form of forms(secret)) {
      // Not toContain: what it would print is long.
      expect(text.includes(form) || unescaped.includes(form), `${form} of ${secret}`).toBe(false);
    }
  }
}

const authorizationOf = ({ head }: Asked): string => /^authorization: (.*)$/im.exec(head)?.[1] ?? '';

/** Everything that the appliance was ever told, as a message of it. */
function echo(...secrets: string[]): string {
  return secrets.flatMap((secret) => [...forms(secret), ...forms(`api-admin:${secret}`), ...forms(`${secret}:`)]).join(' | ');
}

const all: Partial<Settings> = { password: PASSWORD, secondFactor: 'password', secondPassword: SECOND };

describe('secrets that the appliance echoes', () => {
  const loud = echo(PASSWORD, SECOND, KEY, BODY_PASSWORD);
  const secrets = [PASSWORD, SECOND, KEY, BODY_PASSWORD];
  const body = { username: 'j.doe', 'password-cleartext': BODY_PASSWORD };

  it.each<[string, number, string]>([
    ['errors', 400, 'errors'],
    ['errors', 403, 'errors'],
    ['errors', 422, 'errors'],
    ['errors', 500, 'errors'],
    ['errors inside a success', 200, 'errors'],
    ['warnings', 200, 'warnings'],
    ['infos', 201, 'info'],
  ])('in %s (%i) are masked', async (_name, status, list) => {
    const logins = ['{"resume_id":"r1"}', JSON.stringify({ api_key: KEY })];
    const server = await wire(
      (asked) => {
        if (asked.path.endsWith('realm_auth')) return http(200, logins.shift());
        const authorization = authorizationOf(asked);
        return http(status, JSON.stringify({ result: { [list]: [{ message: `${loud} ${authorization} ${asked.body}` }] } }));
      },
      { logins: true },
    );
    const gateway = gatewayFor(server, all);
    // The key comes during the first of them: it has to be known to that very call.
    const create = { path: 'authentication/auth-servers/auth-server/Local/local/users/user', body };
    for (const [operation, input] of [
      ['config.create', create],
      ['sessions.kill', { 'session-id': ['sid1', 'sid2'] }],
    ] as const) {
      const outcome = await gateway.run(operation, input).catch((error: unknown) => error);
      expectClean(outcome, ...(operation === 'config.create' ? secrets : secrets.slice(0, 3)));
      expectClean(outcome, `${KEY}:`, `api-admin:${PASSWORD}`, `api-admin:${SECOND}`);
      // A success on many has no messages that could hold one.
      expect(emitted(outcome).includes('••••')).toBe(operation === 'config.create' || outcome instanceof GatewayError);
    }
  });

  it('in the answer to a login are not repeated', async () => {
    for (const answer of [
      http(401, JSON.stringify({ result: { errors: [{ message: loud }] } })),
      http(500, loud),
      http(302, loud, { location: `https://elsewhere.example/${encodeURIComponent(PASSWORD)}` }),
      http(200, `{"note":"${KEY}"}`),
      http(200, loud),
    ]) {
      const server = await wire(() => answer, { logins: true });
      expectClean(await failure(gatewayFor(server, all).run('sessions.kill-all')), ...secrets);
    }
  });

  it('as a pasted key are masked', async () => {
    const server = await wire((asked) =>
      http(404, JSON.stringify({ result: { errors: [{ message: `${echo(KEY)} ${authorizationOf(asked)}` }] } })),
    );
    const error = await failure(gatewayFor(server, { login: 'key', apiKey: KEY }).run('system.info'));
    expectClean(error, KEY, `${KEY}:`);
    expect(error.message).toContain('404');
  });

  it('as a one-time code are masked, alone and as a credential', async () => {
    let credential = '';
    const server = await wire(
      (asked) => {
        if (!asked.path.endsWith('realm_auth')) {
          const code = credential.split(':')[1] ?? '';
          return http(422, JSON.stringify({ result: { errors: [{ message: echo(code) }] } }));
        }
        if (asked.body.includes('realm"')) return http(200, '{"resume_id":"r1"}');
        credential = Buffer.from(authorizationOf(asked).slice(6), 'base64').toString();
        return http(200, JSON.stringify({ api_key: KEY }));
      },
      { logins: true },
    );
    const error = await failure(gatewayFor(server, { secondFactor: 'totp', totpSecret: 'GEZDGNBVGY3TQOJQ' }).run('sessions.kill-all'));
    expect(credential).toMatch(/^api-admin:\d{6}$/);
    expectClean(error, credential, credential.split(':')[1] ?? '', 'GEZDGNBVGY3TQOJQ');
  });
});

describe('secrets', () => {
  it('of a body are masked in a plan, and sent as they are', async () => {
    const { simulator, gateway } = await pair();
    const input = {
      path: 'authentication/auth-servers/auth-server/System Local/local/users/user',
      body: { username: 'nina', fullname: 'N', 'password-cleartext': BODY_PASSWORD, 'change-password-at-signin': 'true' },
    };
    const { envelope } = await gateway.run('config.create', input, { dryRun: true });
    expectClean(envelope, BODY_PASSWORD);
    expect(envelope.plan?.[0]?.body).toEqual({ ...input.body, 'password-cleartext': '••••' });
    await gateway.run('config.create', input);
    expect(JSON.parse(calls(simulator)[0]?.body ?? '')).toEqual(input.body);
    expect(input.body['password-cleartext']).toBe(BODY_PASSWORD);
  });

  it('are not seen when a gateway is printed', () => {
    const gateway = new Gateway({
      ...settingsFor({ url: 'https://vpn.example.com' }),
      ...all,
      apiKey: KEY,
      totpSecret: 'GEZDGNBVGY3TQOJQ',
    });
    expectClean(gateway, PASSWORD, SECOND, KEY, 'GEZDGNBVGY3TQOJQ');
    gateway.close();
  });

  it('are not quoted by what is wrong with the settings', () => {
    const base = settingsFor({ url: 'https://vpn.example.com' });
    for (const wrong of [
      { url: `https://admin:${KEY}@vpn.example.com` },
      { url: `https://admin:${KEY}@vpn example` },
      { username: `admin:${KEY}` },
      { secondFactor: 'totp' as const, totpSecret: `no base32 ${KEY}` },
      { secondFactor: 'totp' as const, totpSecret: `otpauth://totp/x?secret=${KEY}&digits=99` },
    ]) {
      const error = refusalOf(() => new Gateway({ ...base, ...wrong }));
      expect(error?.code).toBe('BAD_CONFIG');
      expectClean(error, KEY);
    }
  });
});

describe('masking', () => {
  it('leaves everything else alone', () => {
    const redactor = new Redactor().add('geheim', 'a', undefined, '');
    expect(redactor.text('a database of geheimnisse, a-b')).toBe('•••• database of ••••nisse, ••••-b');
    const value = { list: ['geheim', 1, null, true], deep: { geheim: 'x' } };
    expect(redactor.value(value)).toEqual({ list: ['••••', 1, null, true], deep: { geheim: 'x' } });
    expect(value.list[0]).toBe('geheim');
    expect(new Redactor().text('nothing to hide')).toBe('nothing to hide');
  });

  it.each(['p&quot;a&amp;ü&lt;1&#39;4', 'p&quot;a&amp;ü&lt;1&apos;4', 'p&#34;a&amp;ü&lt;1&#39;4', 'p"a&amp;ü&lt;1\'4'])(
    'knows how pages and XML quote a secret: %s',
    (quoted) => expect(new Redactor().add('p"a&ü<1\'4').text(`<p>no ${quoted} here</p>`)).toBe('<p>no •••• here</p>'),
  );

  it.each(['x', '-----BEGIN PRIVATE KEY-----\n'])('knows a long secret that is cut short where it is quoted: %j', (begin) => {
    const secret = `${begin}${Array.from({ length: 300 }, (_, index) => (index * 7919).toString(36)).join('')}`;
    const redactor = new Redactor().add(secret);
    expect(redactor.text(`no: ${secret.slice(0, 100)}`)).toBe('no: ••••');
    expect(redactor.text(`no: ${JSON.stringify(secret).slice(1, 120)}…`)).toBe('no: ••••');
    expect(redactor.text(`no: ${Buffer.from(secret).toString('base64').slice(0, 120)}`)).toBe('no: ••••');
  });

  it('takes the longer of two secrets first', () => expect(new Redactor().add('abcd', 'abcdef').text('abcdef abcd')).toBe('•••• ••••'));

  it('knows what its origin learns later', () => {
    const origin = new Redactor().add('lasting');
    const own = origin.with(['own one']);
    origin.addPassing('passing');
    expect(own.text('lasting own one passing')).toBe('•••• •••• ••••');
    expect(origin.text('own one')).toBe('own one');
  });

  it('takes half a character for a secret without falling over', () => {
    expect(new Redactor().add('half\ud83d').text('ok')).toBe('ok');
  });

  const SECRET = 'p/ä "x"+<y> & z';
  const hex = (text: string): string => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const inner = (before: string): string => Buffer.from(`${before}${SECRET}12`).toString('base64');

  it.each([
    ['as it is', SECRET, ''],
    ['in base64', Buffer.from(SECRET).toString('base64'), ''],
    ['in base64 without padding', Buffer.from(SECRET).toString('base64').replace(/=+$/, ''), ''],
    ['in base64 for addresses', Buffer.from(SECRET).toString('base64url'), ''],
    ['in base64 behind nothing', inner(''), inner('').slice(4, 20)],
    ['in base64 behind one byte', inner('a'), inner('a').slice(4, 20)],
    ['in base64 behind two bytes', inner('ab'), inner('ab').slice(4, 20)],
    ['in an address', encodeURIComponent(SECRET), ''],
    ['in an address, lower case', encodeURIComponent(SECRET).toLowerCase(), ''],
    ['in an address, in either case', encodeURIComponent(SECRET).replace('%2F', '%2f'), ''],
    ['in an address, every byte escaped', hex(SECRET), ''],
    ['in a form', new URLSearchParams({ '': SECRET }).toString().slice(1), ''],
    ['in base64 in an address', encodeURIComponent(Buffer.from(SECRET).toString('base64')), ''],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1), ''],
    ['in JSON with escaped slashes', JSON.stringify(SECRET).slice(1, -1).replace('/', '\\/'), ''],
    ['in JSON of ASCII', JSON.stringify(SECRET).slice(1, -1).replace('ä', '\\u00E4'), ''],
    ['in XML', SECRET.replaceAll('&', '&amp;').replaceAll('<', '&lt;'), ''],
    ['in HTML by numbers', SECRET.replace('ä', '&#228;').replace('/', '&#x2F;').replaceAll('&#x', '&#X'), ''],
  ])('finds a secret %s', (_how, text, inside) => {
    const redactor = new Redactor().add(SECRET);
    if (inside === '') expect(redactor.text(`before ${text} behind`)).toBe('before •••• behind');
    else expect(redactor.text(text)).not.toContain(inside);
    expect(redactor.text(`before ${text.slice(0, 8)}`)).toBe(`before ${text.slice(0, 8)}`);
  });

  it('takes everything from the beginning of a long secret on, however long it is', () => {
    for (const secret of ['-----BEGIN PRIVATE KEY-----\n' + 'QUJD\n'.repeat(4000), 'x'.repeat(50_000), 'ä€'.repeat(300_000)]) {
      const redactor = new Redactor().add(secret);
      expect(redactor.text(`it was ${secret}!`)).toBe('it was ••••');
      expect(redactor.text(`it was ${JSON.stringify(secret)}!`)).toBe('it was "••••');
      expect(redactor.text(`it was ${Buffer.from(secret).toString('base64')}!`)).toBe('it was ••••');
      expect(redactor.text('it was something else')).toBe('it was something else');
    }
  });

  it('finds those that overlap as one', () => expect(new Redactor().add('abcdef', 'defghi').text('xabcdefghix')).toBe('x••••x'));

  it('shows nothing where it cannot look, and does not throw', () => {
    const odd = {
      get body(): string {
        throw new Error('no');
      },
    };
    expect(new Redactor().with(secretsIn(odd)).text('anything')).toBe('••••');
    expect(new Redactor().value({ odd })).toBe('••••');
    const deep: unknown[] = [];
    let at = deep;
    for (let depth = 0; depth < 100_000; depth++) at.push((at = []));
    expect(JSON.stringify(new Redactor().value(deep))).toContain('••••');
  });
});

describe('names of secrets', () => {
  it.each(
    `password Password password-cleartext password-encrypted cluster-password backup_password passwordHash password-hash passphrase
    secret sharedSecret shared-secret pre-shared-key preSharedKey presharedkey psk private-key privateKey private_key api-key apiKey
    api_key APIKey token access-token accessToken community snmp-community community-string totpSecret password2 secrets`.split(/\s+/),
  )('%s is one', (name) => {
    for (const value of ['Xq93', 4711, ['Xq93', 4711], { value: 'Xq93', inner: { deep: 'Xq93-deep' } }]) {
      expect(new Redactor().value({ [name]: value })).toEqual({ [name]: '••••' });
    }
    expect(new Redactor().value({ list: [{ name, value: 'Xq93' }] })).toEqual({ list: [{ name, value: '••••' }] });
    expect([...secretsIn({ a: [{ [name]: { value: ['Xq93', 47_11] } }] })].sort()).toEqual(['4711', 'Xq93']);
  });

  it.each(['change-password-at-signin', 'username', 'token-lifetime', 'community-list', 'keyboard', 'secretary', 'monkey', 'key-type'])(
    '%s is none',
    (name) => expect(new Redactor().value({ [name]: 'shown' })).toEqual({ [name]: 'shown' }),
  );

  it('leave what tells nothing: empty, off', () => {
    const value = { password: '', token: null, secret: false };
    expect(new Redactor().value(value)).toEqual(value);
  });

  it('are masked in a plan whatever type they have, and what stands under them is found elsewhere', async () => {
    const { gateway } = await pair();
    const body = { name: 'n', 'shared-secret': 47110815, snmp: { community: ['public-ro'] }, note: 'was 47110815, public-ro' };
    const { envelope } = await gateway.run('config.create', { path: 'system/x', body }, { dryRun: true });
    expect(envelope.plan?.[0]?.body).toEqual({ name: 'n', 'shared-secret': '••••', snmp: { community: '••••' }, note: 'was ••••, ••••' });
  });
});
