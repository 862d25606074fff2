import { describe, expect, it } from 'vitest';
import { Redactor } from '../../../src/model/redaction';
import { listLeafTexts, isSecretNameValuePair, findSecrets, findInputSecrets } from '../../../src/model/secrets';
import { contentField, requiredField, textField, type Fields } from '../../../src/model/operation';

describe('Masking of secrets', () => {
  it('the redactor leaves text without secrets unchanged', () => {
    const redactor = new Redactor().add('geheim', 'a', undefined, '');
    expect(redactor.text('a database of geheimnisse, a-b')).toBe('•••• database of ••••nisse, ••••-b');
    const value = { list: ['geheim', 1, null, true], deep: { geheim: 'x' } };
    expect(redactor.value(value)).toEqual({ list: ['••••', 1, null, true], deep: { geheim: 'x' } });
    expect(value.list[0]).toBe('geheim');
    expect(new Redactor().text('nothing to hide')).toBe('nothing to hide');
  });

  it.each(['p&quot;a&amp;ü&lt;1&#39;4', 'p&quot;a&amp;ü&lt;1&apos;4', 'p&#34;a&amp;ü&lt;1&#39;4', 'p"a&amp;ü&lt;1\'4'])(
    'the redactor finds a secret with the escapes of web pages and XML: %s',
    (quoted) => expect(new Redactor().add('p"a&ü<1\'4').text(`<p>no ${quoted} here</p>`)).toBe('<p>no •••• here</p>'),
  );

  it.each(['x', '-----BEGIN PRIVATE KEY-----\n'])('the redactor masks a long secret whose end is cut off: %j', (begin) => {
    const secret = `${begin}${Array.from({ length: 300 }, (_, index) => (index * 7919).toString(36)).join('')}`;
    const redactor = new Redactor().add(secret);
    expect(redactor.text(`no: ${secret.slice(0, 100)}`)).toBe('no: ••••');
    expect(redactor.text(`no: ${JSON.stringify(secret).slice(1, 120)}…`)).toBe('no: ••••');
    expect(redactor.text(`no: ${Buffer.from(secret).toString('base64').slice(0, 120)}`)).toBe('no: ••••');
  });

  it('the redactor masks the longer of two overlapping secrets first', () =>
    expect(new Redactor().add('abcd', 'abcdef').text('abcdef abcd')).toBe('•••• ••••'));

  it('the redactor masks secrets that its gateway learns later', () => {
    const origin = new Redactor().add('lasting');
    const own = origin.with(['own one']);
    origin.addTemporary('passing');
    expect(own.text('lasting own one passing')).toBe('•••• •••• ••••');
    expect(origin.text('own one')).toBe('own one');
  });

  it('the redactor accepts half of a surrogate pair as a secret', () => {
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
  ])('the redactor finds a secret %s', (_how, text, inside) => {
    const redactor = new Redactor().add(SECRET);
    if (inside === '') expect(redactor.text(`before ${text} behind`)).toBe('before •••• behind');
    else expect(redactor.text(text)).not.toContain(inside);
    expect(redactor.text(`before ${text.slice(0, 8)}`)).toBe(`before ${text.slice(0, 8)}`);
  });

  it('the redactor masks everything after the beginning of a long secret, whatever its length', () => {
    for (const secret of ['-----BEGIN PRIVATE KEY-----\n' + 'QUJD\n'.repeat(4000), 'x'.repeat(50_000), 'ä€'.repeat(30_000)]) {
      const redactor = new Redactor().add(secret);
      expect(redactor.text(`it was ${secret}!`)).toBe('it was ••••');
      expect(redactor.text(`it was ${JSON.stringify(secret)}!`)).toBe('it was "••••');
      expect(redactor.text(`it was ${Buffer.from(secret).toString('base64')}!`)).toBe('it was ••••');
      expect(redactor.text('it was something else')).toBe('it was something else');
    }
  });

  it('the redactor masks overlapping secrets as one', () =>
    expect(new Redactor().add('abcdef', 'defghi').text('xabcdefghix')).toBe('x••••x'));

  it('the redactor masks a whole value that cannot be read, and does not throw', () => {
    const odd = {
      get body(): string {
        throw new Error('no');
      },
    };
    expect(new Redactor().with(findSecrets(odd)).text('anything')).toBe('••••');
    expect(new Redactor().value({ odd })).toBe('••••');
    const deep: unknown[] = [];
    let at = deep;
    for (let depth = 0; depth < 100_000; depth++) at.push((at = []));
    expect(JSON.stringify(new Redactor().value(deep))).toContain('••••');
  });
});

describe('isSecretName', () => {
  it.each(
    `password Password password-cleartext password-encrypted cluster-password backup_password passwordHash password-hash passphrase
    secret sharedSecret shared-secret pre-shared-key preSharedKey presharedkey psk private-key privateKey private_key api-key apiKey
    api_key APIKey APIToken DBPassword vpnAPISecret token access-token accessToken community snmp-community community-string totpSecret password2 secrets
    authorization Authorization proxy-authorization cookie set-cookie cookies pass db-pass credential credentials auth otp one-time-otp
    sessionid JSESSIONID jwt keytab ntlm-hash ntlmHash`.split(/\s+/),
  )('%s is one', (name) => {
    for (const value of ['Xq93', 4711, ['Xq93', 4711], { value: 'Xq93', inner: { deep: 'Xq93-deep' } }]) {
      expect(new Redactor().value({ [name]: value })).toEqual({ [name]: '••••' });
    }
    expect(new Redactor().value({ list: [{ name, value: 'Xq93' }] })).toEqual({ list: [{ name, value: '••••' }] });
    expect([...findSecrets({ a: [{ [name]: { value: ['Xq93', 47_11] } }] })].sort()).toEqual(['4711', 'Xq93']);
  });

  it.each([
    'change-password-at-signin',
    'username',
    'token-lifetime',
    'community-list',
    'keyboard',
    'secretary',
    'monkey',
    'key-type',
    'session-id',
    'sessionId',
    'two-factor-auth',
    'auth-server',
    'bypass',
    'hash',
  ])('isSecretName returns false for %s', (name) => expect(new Redactor().value({ [name]: 'shown' })).toEqual({ [name]: 'shown' }));

  it('isSecretName ignores values that reveal nothing, such as an empty text or the word off', () => {
    const value = { password: '', token: null, secret: false };
    expect(new Redactor().value(value)).toEqual(value);
  });
});

describe('Values below a secret name', () => {
  const leaves = (value: unknown): string[] => [...listLeafTexts(value)].map(String).sort();

  it.each<[unknown, string[]]>([
    ['text', ['text']],
    ['x', ['x']],
    [0, ['0']],

    ['true', []],
    ['false', []],
    ['True', ['True']],
    [true, []],
    [null, []],
    [undefined, []],
    [() => 'x', []],
    [Buffer.from('bytes'), ['bytes']],
    [
      ['a', 'bc'],
      ['a', 'bc'],
    ],
    [
      [['a'], 17],
      ['17', 'a'],
    ],
    [{ a: 'abc', b: 'abcd', c: 123, d: 1234 }, ['1234', 'abcd']],
    [{ a: ['abc', 'abcd'] }, ['abcd']],
    [[{ a: 'abc' }, 'x'], ['x']],
    [{ a: { allow: 'true', value: 'false' } }, []],
  ])('%j: texts and numbers are secret, except short ones in an object and booleans', (value, secrets) => {
    expect(leaves(value)).toEqual(secrets);
  });

  it('A number below a secret name is secret, however large it is', () => expect(leaves(12n)).toEqual(['12']));

  it('values below a secret name are searched once even if an object contains itself', () => {
    const circle: Record<string, unknown> = { a: 'once-only' };
    circle['self'] = circle;
    circle['list'] = [circle];
    expect(leaves(circle)).toEqual(['once-only']);
    const body: Record<string, unknown> = { password: 'once-too' };
    body['self'] = [body, body];
    expect([...findSecrets(body)]).toEqual(['once-too']);
  });
});

describe('A pair of name and value', () => {
  it.each([
    [{ name: 'api-key', value: 'x' }, true],
    [{ key: 'psk', value: 'x' }, true],
    [{ attribute: 'password', value: 'x' }, true],
    [{ field: 'token', value: 'x' }, true],
    [{ name: 'x', key: 'psk' }, true],
    [{ name: 'x', value: 'password' }, false],
    [{ title: 'password' }, false],
    [{ name: ['password'] }, false],
    [{}, false],
  ])('isSecretNameValuePair recognizes a pair of name and value: %j', (pair, named) =>
    expect(isSecretNameValuePair(pair as never)).toBe(named),
  );

  it('in a pair of name and value, only the value is secret', () => {
    const body = { name: 'api-key', value: 'one', 'value-text': 'two', revalue: 'three', other: 'four', inner: { value: 'five' } };
    expect([...findSecrets(body)].sort()).toEqual(['one', 'two']);
    expect([...findSecrets([Object.create({ name: 'api-key', value: 'inherited' }) as object])]).toEqual([]);
  });
});

describe('Bytes, numbers and texts without names', () => {
  it('Bytes, numbers and texts without names are not secret', () => {
    const bytes = Buffer.from('{"password":"x"}');
    expect([...findSecrets({ a: bytes, b: 7, c: null, d: 'password', e: ['token', 5, null, undefined], f: 'x {"token":"y"}' })]).toEqual(
      [],
    );
    expect([...findSecrets('{"token":')]).toEqual([]);
    expect([...findSecrets(undefined)]).toEqual([]);
    expect([...findSecrets(new Map([['password', 'x']]))]).toEqual([]);
  });
});

describe('The secrets of an input', () => {
  const fields: Fields = {
    pin: textField('Pin', '', { secret: true }),
    body: contentField('Body', ''),
    note: requiredField(textField('Note', '')),
  };
  const of = (input: Record<string, unknown>): string[] => [...findInputSecrets(fields, input)].map(String).sort();

  it.each<[string, Record<string, unknown>, string[]]>([
    ['a secret field', { pin: '12' }, ['12']],
    ['no field of the operation', { other: { password: 'x' } }, []],
    ['a form', { body: 'a=1&password=x%20y+z&token=t' }, ['t', 'x y z', 'x y+z', 'x%20y+z']],
    ['a query', { body: '?token=t' }, ['t']],
    ['lines', { body: 'token=t\r\npsk=k\n\nsecret = s' }, [' s', 'k', 's', 't']],
    ['a name that is escaped', { body: 'api%5Fkey=k&%zz=q' }, ['k']],
    ['bytes of a form', { body: Buffer.from('token=t') }, ['t']],
    ['bytes of JSON', { body: Buffer.from('{"token":"t"}') }, ['t']],
    ['JSON', { body: '{"token":"t","a":"b"}' }, ['t']],
    ['an object', { body: { token: 't' } }, ['t']],
    ['an equals sign in a secret', { body: 'token=a=b' }, ['a=b']],
    ['no value', { body: 'token=&psk' }, ['']],
    ['text that is only text', { body: 'the token is mine' }, []],
    ['text in another field', { note: 'token=t' }, []],
    ['JSON in another field', { note: '{"token":"t"}' }, ['t']],
    ['a number', { note: 5, body: 7 }, []],
  ])('The secrets of an input are found: %s', (_what, input, secrets) => expect(of(input)).toEqual(secrets));

  it('The secrets of an input are found even without field definitions', () =>
    expect([...findInputSecrets(undefined, { password: 'x' })]).toEqual([]));
});
