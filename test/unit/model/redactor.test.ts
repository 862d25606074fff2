import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/model/error';
import { Redactor, redactSecrets } from '../../../src/model/redaction';
import { MultiStringSearch } from '../../../src/model/multi-string-search';
import { parseNestedJson, findSecrets, findInputSecrets, redactQuery } from '../../../src/model/secrets';
import { listSettingsSecrets } from '../../../src/model/settings-secrets';
import { contentField, objectField, requiredField, textField } from '../../../src/model/operation';
import { safeMessage } from '../../../src/model/safe-message';
import { createDecodedTexts } from '../../../src/model/decoded-views';

const SECRET = 'Grüße "an" \\ alle/+&<';
const mask = (words: string, ...secrets: string[]): string => new Redactor().add(...secrets).text(words);
const inJson = (words: string): string => JSON.stringify(words).slice(1, -1);
const inMarkup = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const inForm = (words: string): string => encodeURIComponent(words).replaceAll('%20', '+');

describe('The redactor, for a secret that was escaped several times,', () => {
  it.each<[string, string]>([
    ['JSON in JSON', inJson(inJson(SECRET))],
    ['JSON in JSON in JSON', inJson(inJson(inJson(SECRET)))],
    ['an address in an address', encodeURIComponent(encodeURIComponent(SECRET))],
    ['an address in an address in an address', encodeURIComponent(encodeURIComponent(encodeURIComponent(SECRET)))],
    ['a form in JSON', inJson(inForm(SECRET))],
    ['JSON in a form', inForm(inJson(SECRET))],
    ['JSON in markup', inMarkup(inJson(SECRET))],
    ['markup in JSON', inJson(inMarkup(SECRET))],
    ['markup in markup', inMarkup(inMarkup(SECRET))],
    ['base64 in an address in JSON', inJson(encodeURIComponent(Buffer.from(SECRET).toString('base64')))],
    [
      'JSON with every sign as its number, twice',
      inJson(SECRET.replace(/[^]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)),
    ],
  ])('the redactor finds the secret as %s and leaves the text around it', (_how, form) => {
    expect(mask(`before ${form} after`, SECRET)).toBe('before •••• after');
  });

  it('the redactor finds the hexadecimal form of a secret, in upper and lower case, unless the secret is too short', () => {
    const digits = Buffer.from(SECRET).toString('hex');
    expect(mask(`was ${digits}, ${digits.toUpperCase()}.`, SECRET)).toBe('was ••••, ••••.');
    expect(mask('pin 31323334', '1234')).toBe('pin ••••');
    expect(mask('pin 313233', '123')).toBe('pin 313233');
    const long = `${SECRET} `.repeat(60);
    expect(mask(`was ${Buffer.from(long).toString('hex')}`, long)).toBe('was ••••');
  });

  it('the redactor finds any secret that was escaped twice in any way', () => {
    const ways = [inJson, encodeURIComponent, inForm, inMarkup];
    const secrets = fc.string({ unit: 'grapheme', minLength: 6, maxLength: 40 }).filter((one) => one.isWellFormed() && /[^\w\s]/.test(one));
    const how = fc.array(fc.constantFrom(...ways), { minLength: 0, maxLength: 2 });
    fc.assert(
      fc.property(secrets, how, fc.constantFrom('utf8', 'base64', 'hex'), (secret, steps, inner) => {
        const first = inner === 'utf8' ? secret : Buffer.from(secret).toString(inner);
        const form = steps.reduce((words, step) => step(words), first);
        expect(mask(`=> ${form} <=`, secret)).not.toContain(form);
      }),
      { numRuns: 500 },
    );
  });
});

describe('The redactor, for a text that contains JSON,', () => {
  const body = { name: 'n', password: 4711, more: { psk: 'a', note: 'kept' } };

  it.each<[string, unknown, unknown]>([
    ['an object', { body: JSON.stringify(body) }, { body: '{"name":"n","password":"••••","more":{"psk":"••••","note":"kept"}}' }],
    ['a list', [JSON.stringify([body])], ['[{"name":"n","password":"••••","more":{"psk":"••••","note":"kept"}}]']],
    [
      'JSON in JSON',
      { body: JSON.stringify({ body: JSON.stringify({ token: 'x' }) }) },
      { body: JSON.stringify({ body: JSON.stringify({ token: '••••' }) }) },
    ],
    ['a text alone', ' {"token":"x"}', '{"token":"••••"}'],
    ['no names of secrets: it stays as it was written', { body: '{ "a" : 1 }' }, { body: '{ "a" : 1 }' }],
    ['no JSON', { body: '{"password":"x"' }, { body: '{"password":"x"' }],
    ['a text in quotation marks', { body: '"password"' }, { body: '"password"' }],
  ])('The redactor, for a text that contains JSON, masks values of secret fields: %s', (_what, value, shown) => {
    expect(new Redactor().value(value)).toEqual(shown);
  });

  it('The redactor finds the values of secret fields in a text that contains JSON', () => {
    expect([...findSecrets({ a: [JSON.stringify(body)] })].sort()).toEqual(['4711', 'a']);
    expect([...findSecrets(JSON.stringify({ b: JSON.stringify({ token: 'inner' }) }))]).toEqual(['inner']);
    const fields = { body: requiredField(objectField('Body', '')), raw: contentField('Raw', ''), name: textField('Name', '') };
    const input = { body: JSON.stringify(body), raw: Buffer.from('{"token":"raw"}'), name: '[{"secret":"named"}]' };
    expect([...findInputSecrets(fields, input)].sort()).toEqual(['4711', 'a', 'named', 'raw']);
  });

  it('The redactor masks secret values at any depth of JSON in a text, escaped or not', () => {
    const tree = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 6 },
        fc.constant({ password: 'Correct-Horse-9' }),
        fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
        tie('node').map((inner) => ({ body: inner, other: 'shown' })),
        tie('node').map((inner) => JSON.stringify(inner)),
      ),
    })).node;
    fc.assert(
      fc.property(tree, (value) => {
        expect([...findSecrets(value)]).toContain('Correct-Horse-9');
        expect(JSON.stringify(new Redactor().value(value))).not.toContain('Correct-Horse-9');
      }),
      { numRuns: 300 },
    );
  });

  it('The redactor stops at the maximum depth of JSON in a text', () => {
    let deep = '"end"';
    for (let depth = 0; depth < 100_000; depth++) deep = `[${deep}]`;
    expect(new Redactor().value({ deep, other: 1 })).toEqual({ deep: '••••', other: 1 });
    expect(parseNestedJson('[1')).toBeUndefined();
    expect(parseNestedJson('\n\t {"a":1}')).toEqual({ a: 1 });
    expect(parseNestedJson('x{"a":1}')).toBeUndefined();
  });
});

describe('The redactor, for a short secret,', () => {
  it.each(['12', 'Ab', 'z9', '0'])('the redactor masks the short secret %s only where it is a separate word', (secret) => {
    expect(mask(`(${secret}) ${secret}`, secret)).toBe('(••••) ••••');
    expect(mask(`${secret}.`, secret)).toBe('••••.');
    for (const next of ['a', 'z', 'A', 'Z', '0', '9']) {
      expect(mask(`-${next}${secret}-`, secret)).toBe(`-${next}${secret}-`);
      expect(mask(`-${secret}${next}-`, secret)).toBe(`-${secret}${next}-`);
    }
    for (const next of ['/', ':', '@', '[', '`', '{']) expect(mask(`${next}${secret}${next}`, secret)).toBe(`${next}••••${next}`);
  });

  it('The redactor keeps the order of a text with a short and a long secret', () => {
    expect(mask('yy longer-one yy longer-one', 'longer-one', 'yy')).toBe('•••• •••• •••• ••••');
  });
});

describe('MultiStringSearch', () => {
  it('MultiStringSearch finds the longest of several strings with the same start, and one that follows directly', () => {
    expect(new MultiStringSearch(['abcd', 'abcdef', 'abcdefgh', 'zzzz']).findSpans('abcdefgx abcdzzzz')).toEqual([
      [0, 6],
      [9, 13],
      [13, 17],
    ]);
    expect(new MultiStringSearch(['', 'abcd']).findSpans('')).toEqual([]);
    expect(new MultiStringSearch([]).findSpans('anything')).toEqual([]);
  });

  it('MultiStringSearch returns matches in order, and overlapping matches as one', () => {
    expect(new MultiStringSearch(['zz', 'abcd', 'yy']).findSpans('zz abcd yy zz')).toEqual([
      [0, 2],
      [3, 7],
      [8, 10],
      [11, 13],
    ]);
    expect(new MultiStringSearch(['aaaa']).findSpans('aaaaaaaa b aaaa')).toEqual([
      [0, 8],
      [11, 15],
    ]);
    expect(new MultiStringSearch(['abcdef', 'bcde']).findSpans('abcdefg')).toEqual([[0, 6]]);
  });

  it('MultiStringSearch does not lose a match that starts within a partial match', () => {
    expect(new MultiStringSearch(['abcc', 'abcdef']).findSpans('abcdxx')).toEqual([]);
    expect(new MultiStringSearch(['abcd', 'abcdaa', 'abcdab', 'abcdb']).findSpans('abcdac')).toEqual([[0, 4]]);
    expect(new MultiStringSearch(['abcd']).findSpans('cd')).toEqual([]);
    expect(new MultiStringSearch(['cd', 'abcd']).findSpans('Stryker was here! open')).toEqual([]);
  });

  it('MultiStringSearch finds the same matches as separate searches do, at any position', () => {
    const words = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 4, maxLength: 9 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(words, fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 60 }), (wanted, where) => {
        const covered = new Set<number>();
        for (const [start, end] of new MultiStringSearch(wanted).findSpans(where)) for (let at = start; at < end; at++) covered.add(at);
        const simply = new Set<number>();
        for (const word of wanted)
          for (let at = where.indexOf(word); at >= 0; at = where.indexOf(word, at + 1))
            for (let one = at; one < at + word.length; one++) simply.add(one);
        expect([...covered].sort()).toEqual([...simply].sort());
      }),
    );
  });
});

describe('createDecodedTexts', () => {
  const views = (words: string): string[] => [...createDecodedTexts(words)].map((view) => view.text);

  it.each<[string, string]>([
    ['%41%c3%a4%E2%82%AC%F0%9D%84%9E', 'Aä€𝄞'],
    ['%e4%zz%4', 'ä%zz%4'],
    ['%c3(', 'Ã('],
    ['\\n\\r\\t\\b\\f\\/\\"\\\\', '\n\r\t\b\f/"\\'],
    ['\\u00e4\\uD834\\uDD1E\\u12g4', 'ä𝄞u12g4'],
    ['end\\', 'end\\'],
    ['&amp;&lt;&gt;&quot;&apos;&nbsp;', '&<>"\'\u00a0'],
    ['&#47;&#x2f;&#X2F;&#xzz;&unknown;', '///&#xzz;&unknown;'],
    ['&#1114111;&#1114112;', '\u{10ffff}&#1114112;'],
    ['a+b%2B', 'a b+'],
    ['a%00b', 'a\0b'],
    ['%c3xa4', 'Ãxa4'],
    ['%41%3:', 'A%3:'],
    ['%41%3/%3`%g0', 'A%3/%3`%g0'],
    ['\\n0041', '\n0041'],
    ['a\\u0000b', 'a\0b'],
    ['&x&lt;y', '&x<y'],
    ['&lt;&LT;', '<&LT;'],
  ])('createDecodedTexts decodes %s', (words, read) => expect(views(words)).toContain(read));

  it('createDecodedTexts returns no decoded text for a text without escapes', () =>
    expect(views('plain: text, "quoted"')).toEqual(['plain: text, "quoted"']));

  it('createDecodedTexts returns no decoded text if no escape is valid', () => {
    expect(views('100 % & more')).toEqual(['100 % & more']);
    expect(views('%zz %4')).toEqual(['%zz %4']);
  });

  it('createDecodedTexts decodes the same escape up to three times and different escapes up to twice, within limits', () => {
    const times = (count: number, step: (words: string) => string): string =>
      Array.from({ length: count }).reduce<string>((words) => step(words), '"');
    expect(views(times(3, inJson))).toEqual([times(3, inJson), times(2, inJson), times(1, inJson), '"']);
    expect(views(times(4, inJson)).at(-1)).toBe(times(1, inJson));
    expect(views(inMarkup(inJson('"')))).toContain('"');
    expect(views(encodeURIComponent(inMarkup(inJson('"'))))).not.toContain('"');
    expect(views('%252525 \\\\\\\\ &amp;amp;amp; ++%2b').length).toBeLessThanOrEqual(25);
  });

  it('createDecodedTexts maps each decoded character to its position in the text, including the end', () => {
    const words = 'x\\u00e4\\"y';
    const view = [...createDecodedTexts(words)].find(({ text: read }) => read === 'xä"y');
    expect([0, 1, 2, 3, 4].map((index) => view?.toSourceIndex(index))).toEqual([0, 1, 7, 9, 10]);
    const spaced = [...createDecodedTexts('a+')].find(({ text: read }) => read === 'a ');
    expect([0, 1, 2].map((index) => spaced?.toSourceIndex(index))).toEqual([0, 1, 2]);
  });
});

describe('redactQuery', () => {
  it.each<[string, string]>([
    ['a=1&password=x&b', 'a=1&password=••••&b'],
    ['api%5Fkey=x', 'api%5Fkey=••••'],
    ['%zz=x&token=', '%zz=x&token=••••'],
  ])('redactQuery masks the value of a secret name in %s', (query, shown) => expect(redactQuery(query, '••••')).toBe(shown));

  it('redactQuery masks secrets in a query object', () =>
    expect(redactQuery({ a: '1', token: 'x' }, '••••')).toEqual({ a: '1', token: '••••' }));
});

it('the redactor masks secrets of settings in each form in which they are sent', () => {
  const secrets = listSettingsSecrets({
    url: 'https://vpn.example.com',
    username: 'u',
    password: 'p1',
    secondUsername: 'v',
    secondPassword: 'p2',
    totpSecret: 't',
    apiKey: 'k',
    tls: { passphrase: 'phrase' },
    proxy: { url: 'http://a:p%40@proxy', username: 'w', password: 'p3' },
  });
  expect(secrets).toEqual(['p1', 'p2', 't', 'k', 'p3', 'phrase', 'u:p1', 'v:p2', 'k:', 'w:p3', 'p@']);
  expect(listSettingsSecrets({ url: 'x' }).filter((one) => one !== undefined)).toEqual([]);
  expect(listSettingsSecrets({ url: 'x', password: 'p1' })).toContain(':p1');
  expect(listSettingsSecrets({ url: 'x', username: 'u', secondPassword: 'p2' })).toContain('u:p2');
  expect(listSettingsSecrets({ url: 'x', proxy: { url: 'http://a:%zz@proxy' } })).toContain('%zz');
  expect(listSettingsSecrets({ url: 'x', proxy: { url: 'http://proxy', password: 'p3' } })).toContain(':p3');
});

describe('A Redactor', () => {
  it('a Redactor masks the last eight session keys and all secrets of the settings', () => {
    const redactor = new Redactor().add('lasting-secret', '', undefined);
    for (let index = 1; index <= 9; index++) redactor.addTemporary(`passing-key-${index}`, `passing-key-${index}:`);
    expect(redactor.text('passing-key-1 passing-key-2 passing-key-9 lasting-secret')).toBe('passing-key-1 •••• •••• ••••');
    redactor.addTemporary('passing-key-10');
    expect(redactor.text('passing-key-2 passing-key-3')).toBe('passing-key-2 ••••');
    redactor.add('late-secret');
    expect(redactor.text('late-secret')).toBe('••••');
  });

  it('A Redactor of one run also masks the secrets that its gateway learns later', () => {
    const origin = new Redactor().add('of the settings');
    expect(origin.with([])).toBe(origin);
    expect(origin.with([''])).toBe(origin);
    const call = origin.with(['of the call']);
    expect(call).not.toBe(origin);
    origin.add('came later');
    expect(call.text('of the settings, of the call, came later')).toBe('••••, ••••, ••••');
    expect(origin.text('of the call')).toBe('of the call');
  });

  it('A Redactor masks everything if a run has too many secrets, or secrets that cannot be read', () => {
    const many = (count: number): Redactor => new Redactor().with(Array.from({ length: count }, (_, index) => `secret-number-${index}`));
    expect(many(20_000).text('nothing here')).toBe('nothing here');
    const tooMany = many(20_001);
    expect(tooMany.text('nothing here')).toBe('••••');
    expect(tooMany.with(['more of it']).text('nothing here')).toBe('••••');
    expect(tooMany.text('')).toBe('');
    const broken = new Redactor().with(
      (function* () {
        yield 'one secret';
        throw new Error('no');
      })(),
    );
    expect(broken.text('nothing here')).toBe('••••');
    expect(broken.value({ a: 'text', b: 7 })).toEqual({ a: '••••', b: 7 });
    expect(new Redactor().text(7 as unknown as string)).toBe('••••');
  });

  it('A Redactor masks strings in nested values and leaves other values', () => {
    const redactor = new Redactor().add('hidden words');
    const at = new Date(0);
    expect(redactor.value([null, undefined, 7, true, at, 'hidden words', { a: ['hidden words'] }])).toEqual([
      null,
      undefined,
      7,
      true,
      at,
      '••••',
      { a: ['••••'] },
    ]);
    expect(redactor.value(safeMessage`It said ${'hidden words'}, hidden words`)).toBe('It said ••••, hidden words');
    expect(redactor.value({ name: 'api-key', value: 'x', 'value-2': 5, revalue: 'y' })).toEqual({
      name: 'api-key',
      value: '••••',
      'value-2': '••••',
      revalue: 'y',
    });
    const off = { password: '', psk: null, token: undefined, secret: false, 'shared-secret': true };
    expect(redactor.value(off)).toEqual(off);
    expect(redactor.value({ password: 0 })).toEqual({ password: '••••' });
  });

  it('A Redactor masks values down to a depth of 200 levels', () => {
    const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + '7' + ']'.repeat(depth)) as unknown;
    const redactor = new Redactor().add('x-secret');
    expect(redactor.value(nested(201))).toEqual(nested(201));
    expect(JSON.stringify(redactor.value(nested(202)))).toBe(`${'['.repeat(201)}"••••"${']'.repeat(201)}`);
    const body = (depth: number): string =>
      JSON.stringify(redactor.value(JSON.parse(`${'['.repeat(depth)}"{\\"psk\\":7}"${']'.repeat(depth)}`)));
    expect(body(199)).toContain('{\\"psk\\":\\"••••\\"}');
    expect(body(200)).not.toContain('7');
    // Objects as deep as lists.
    let inner: unknown = 'x-secret';
    for (let depth = 0; depth < 202; depth++) inner = { a: inner };
    expect(JSON.stringify(redactor.value(inner))).toBe(`${'{"a":'.repeat(201)}"••••"${'}'.repeat(201)}`);
  });

  it('A Redactor finds nothing in texts without secrets', () => {
    const words = 'Stryker was here! Nothing else was.';
    for (const redactor of [
      new Redactor(),
      new Redactor().add('abc'),
      new Redactor().add('x'.repeat(600)),
      new Redactor().add('abcde', 'a-longer-one'),
    ])
      expect(redactor.text(words)).toBe(words);
  });

  it('A Redactor masks the value below a secret name, and the same text everywhere else', () => {
    const shown = redactSecrets({ said: 'no user with hidden-word', password: 'hidden-word' }, { token: 'came-with' });
    expect(shown).toEqual({ said: 'no user with ••••', password: '••••' });
    expect(redactSecrets(['it was came-with'], { token: 'came-with' })).toEqual(['it was ••••']);
  });

  it('A Redactor masks a value that cannot be read, and the untrusted parts of an error', () => {
    const broken = {
      get name(): string {
        throw new Error('no');
      },
    };
    expect(new Redactor().value(broken)).toBe('••••');
    const error = new GatewayError('CONNECTION', safeMessage`It said ${'hidden words'}, hidden words.`);
    expect(new Redactor().add('hidden words').message(error)).toBe('It said ••••, hidden words.');
  });

  it.each(['hidden7', 'hidden-8', 'hidden--9', 'five5', 'four'])('A Redactor finds %s in base64, with and without padding', (secret) => {
    const form = Buffer.from(secret).toString('base64');
    expect(mask(`(${form}) (${form.replaceAll('=', '')})`, secret)).toBe('(••••) (••••)');
  });

  it('a Redactor leaves words of the interface unmasked in request paths only', () => {
    const redactor = new Redactor().add('system', 'Secret-9', 'averylongwordofsixteen');
    expect(redactor.text('/api/v1/system/x')).toBe('/api/v1/system/x');
    expect(redactor.text('/api/v1/Secret-9/x')).toBe('/api/v1/••••/x');
    expect(redactor.text('/api/averylongwordofsixteen/x')).toBe('/api/••••/x');
    expect(redactor.text('/api/v1/system/x was it')).toBe('/api/v1/••••/x was it');
    expect(redactor.text('api/v1/system')).toBe('api/v1/••••');
  });

  it('A Redactor finds secrets that are given as bytes', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x91, 0xa2, 0xb3]);
    const redactor = new Redactor().add(bytes);
    expect(redactor.text(`it was ${bytes.toString('base64')}.`)).toBe('it was ••••.');
    expect(redactor.text(`it was ${bytes.toString('hex')}.`)).toBe('it was ••••.');
    const key = Buffer.from('-----BEGIN äöü KEY-----\n'.repeat(40));
    expect(new Redactor().add(key).text(`it was ${key.toString()}`)).toBe('it was ••••');
  });

  it.each([0, 1, 2, 3, 4])('a Redactor finds a long secret whose end is cut off, with %i characters before the secret', (before) => {
    for (const sign of ['ä', '€', '𝄞']) {
      const secret = 'x'.repeat(before) + sign.repeat(600);
      expect(new Redactor().add(secret).text(`it was ${secret}`)).toBe('it was ••••');
      expect(new Redactor().add(Buffer.from(secret)).text(`it was ${secret}`)).toBe('it was ••••');
      expect(new Redactor().add(secret).text(`it was ${Buffer.from(secret).toString('base64')}`)).toMatch(
        /^it was ••••|^it was \S{0,6}••••/,
      );
      const half = secret.slice(0, 70).toWellFormed().slice(0, 64);
      expect(new Redactor().add(secret).text(`it was ${half}…`)).toBe('it was ••••');
    }
  });

  it('A Redactor searches for a whole secret of 512 characters, but only for the first 64 characters of a longer one', () => {
    const whole = 'abcdefgh'.repeat(64);
    expect(new Redactor().add(whole).text(`${whole} and more`)).toBe('•••• and more');
    expect(new Redactor().add(whole).text(`${whole.slice(0, 100)} and more`)).toBe(`${whole.slice(0, 100)} and more`);
    expect(new Redactor().add(`${whole}i`).text(`${whole.slice(0, 64)} and more`)).toBe('••••');
    expect(new Redactor().add(`${whole}i`).text(`${whole.slice(0, 63)} and more`)).toBe(`${whole.slice(0, 63)} and more`);
  });

  it('A Redactor finds a secret at any position within base64, in both alphabets', () => {
    const secret = 'ûÿþ?>~ûÿþ';
    for (const around of ['', 'u:', 'us:', 'user:']) {
      const longer = Buffer.from(`${around}${secret}:more`);
      for (const form of [longer.toString('base64'), longer.toString('base64url')])
        expect(new Redactor().add(secret).text(form)).toContain('••••');
    }
    expect(new Redactor().add('short').text(Buffer.from('u:short:x').toString('base64'))).not.toContain('••••');
    expect(new Redactor().add('shorty').text(Buffer.from('u:shorty:x').toString('base64'))).toContain('••••');
  });

  it('A Redactor returns a value without secrets unchanged and does not copy it', () => {
    const redactor = new Redactor().add('hidden words').with(['another secret']);
    const value = { name: 'a', list: [{ text: 'plain' }, ['x', 1, true, null]], path: '/api/v1/configuration/users' };
    expect(redactor.value(value)).toBe(value);
    const masked = redactor.value({ clean: value, other: 'has hidden words' });
    expect(masked).toEqual({ clean: value, other: 'has ••••' });
    expect(masked.clean).toBe(value);
  });
});
