import { runInNewContext } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import { parseJson } from '../../../src/http/parse-json';
import { isObject, describeValueKind, readBoolean } from '../../../src/model/json';

/** The reference result, which `parseJson` must equal. */
function plainly(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  return JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text);
}

const outcome = (parse: () => unknown): unknown => {
  try {
    return { value: parse() };
  } catch (error) {
    return { error: (error as Error).name };
  }
};

function expectSame(bytes: Buffer): void {
  expect(outcome(() => parseJson(bytes))).toEqual(outcome(() => plainly(bytes)));
}

/** Adds enough ASCII that the other characters are rare. */
const among = (text: string): Buffer => Buffer.from(JSON.stringify({ before: 'x'.repeat(400), name: text, after: 'y'.repeat(400) }));

describe('parseJson', () => {
  it.each([
    ['umlauts', 'jürgen.müller'],
    ['a name in another script', '山田太郎'],
    ['right to left', 'ملاك'],
    ['beyond the first plane', '🙂.tester 🇩🇪'],
    ['line separators', '\u2028 and \u2029'],
    ['a byte order mark inside', 'a\ufeffb'],
    ['a domain before it', 'CORP\\özil'],
    ['quotes and controls around it', '"é"\n\tß\u0000\u007f\u0080'],
    ['a half of a surrogate pair', '\ud83d'],
    ['what looks like an escape', '\\u00fc ü'],
    ['nothing but ASCII', 'anna.weber'],
  ])('parseJson reads %s', (_, text) => {
    const bytes = among(text);
    expectSame(bytes);
    // Also as an object key.
    expectSame(Buffer.from(bytes.toString('utf8').replace('"name"', JSON.stringify(text))));
  });

  it('parseJson is correct for every offset and length of the bytes', () => {
    for (let length = 0; length < 40; length++) {
      const text = JSON.stringify({ pad: 'x'.repeat(300), [`${'k'.repeat(length)}é`]: `${'v'.repeat(length)}山` });
      const bytes = Buffer.from(text);
      for (let offset = 0; offset < 5; offset++) {
        const place = Buffer.allocUnsafeSlow(bytes.length + offset + 3).fill(0xff);
        bytes.copy(place, offset);
        expect(parseJson(place.subarray(offset, offset + bytes.length))).toEqual(JSON.parse(text));
      }
    }
  });

  it('parseJson ignores a byte order mark', () => {
    expect(parseJson(Buffer.from('\ufeff{"a":"ü"}'))).toEqual({ a: 'ü' });
    expectSame(Buffer.from('\ufeff\ufeff{"a":1}'));
    // A single different byte is not a byte order mark.
    for (const other of ['\u5eff', '\uf03f', '\ufec0']) expectSame(Buffer.from(`${other}{"a":1}`));
    expectSame(Buffer.from('"\u02bf"'));
  });

  it('parseJson refuses invalid JSON, even where replacing invalid bytes would make it valid', () => {
    const pad = 'x'.repeat(200);
    for (const text of [
      '',
      ' ',
      `{"a":"${pad}\\ü"}`,
      `{"a":"${pad}\\\\\\ü"}`,
      `{ü:"${pad}"}`,
      `{"a":"${pad}"}ü`,
      `["${pad}",ü]`,
      `{"a":"${pad}ü`,
    ]) {
      expect(outcome(() => parseJson(Buffer.from(text)))).toEqual({ error: 'SyntaxError' });
    }
    expect(parseJson(Buffer.from(`{"a":"${pad}\\\\ü"}`))).toEqual({ a: `${pad}\\ü` });
  });

  it('parseJson reads invalid UTF-8 as Node.js does', () => {
    for (const wrong of [
      [0xfc],
      [0xc3],
      [0xe5, 0xb1],
      [0xf0, 0x9f, 0x99],
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xff, 0xfe],
      [0x80, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
    ]) {
      expectSame(Buffer.concat([Buffer.from(`{"a":"${'x'.repeat(300)}`), Buffer.from(wrong), Buffer.from('"}')]));
      expectSame(Buffer.concat([Buffer.from(`{"a":"${'x'.repeat(300)}`), Buffer.from(wrong), Buffer.from('é"}')]));
      expectSame(Buffer.concat([Buffer.from(`{"a":"${'x'.repeat(300)}"}`), Buffer.from(wrong)]));
    }
  });

  it.each([700_000, 790_000, 800_000, 930_000, 1_040_000])(
    'parseJson reads %d bytes with the maximum number of invalid UTF-8 bytes',
    (length) => {
      const bytes = Buffer.from(`{"a":"${'x'.repeat(length - 8)}"}`);
      for (let at = 16; at < length - 8; at += 17) bytes[at] = 0xff;
      expect(parseJson(bytes)).toEqual(plainly(bytes));
    },
  );

  it('parseJson reads long texts and texts mostly in another script', () => {
    expectSame(Buffer.from(JSON.stringify({ a: '山田太郎'.repeat(1000) })));
    expectSame(among('é'.repeat(52)));
    expectSame(among('é'.repeat(53)));
    expectSame(Buffer.from(JSON.stringify({ a: `${'x'.repeat(1_100_000)}山` })));
  });

  /** Returns the text that `JSON.parse` receives. */
  function parsed(bytes: Buffer): string {
    const spy = vi.spyOn(JSON, 'parse');
    try {
      parseJson(bytes);
      return spy.mock.calls[0]?.[0] ?? '';
    } finally {
      spy.mockRestore();
    }
  }

  it('parseJson decodes the whole text first only if escaping would be slower', () => {
    const record = `{"name":"${'a'.repeat(1100)}","realm":"Büro 山"},`;
    const page = (repeated: string, times: number): Buffer => Buffer.from(`[${repeated.repeat(times)}{}]`);
    const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);
    expect(isAscii(parsed(page(record, 150)))).toBe(true);
    expect(isAscii(parsed(page('{"name":"a"},', 9000)))).toBe(true);
    // Too many runs, too many characters, and too long.
    for (const bytes of [page(`{"name":"${'a'.repeat(100)}ü"},`, 1000), page(`{"name":"${'山'.repeat(100)}"},`, 100), page(record, 1000)])
      expect(isAscii(parsed(bytes))).toBe(false);
    // The limits: one byte in sixteen, and eight runs in a short text.
    const text = (...parts: string[]): Buffer => Buffer.from(JSON.stringify(parts.join('')));
    const runs = (count: number): Buffer => text(`é${'x'.repeat(40)}`.repeat(count));
    expect([text('é', 'x'.repeat(28)), text('é', 'x'.repeat(27))].map((bytes) => isAscii(parsed(bytes)))).toEqual([true, false]);
    expect([8, 9].map((count) => isAscii(parsed(runs(count))))).toEqual([true, false]);
    expect(isAscii(parsed(text('x'.repeat(10_000), '山'.repeat(1000))))).toBe(false);
  });

  it('parseJson agrees with JSON.parse for random documents', () => {
    const pieces = [
      '"',
      '\\',
      'ü',
      '山',
      '🙂',
      'a',
      '\\u00e9',
      '\\"',
      '{"k":',
      '}',
      '[',
      ']',
      ',',
      ' ',
      '\ufeff',
      '\u2028',
      '\n',
      '1.5',
      'null',
      'x'.repeat(50),
    ];
    let seed = 1;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      return (seed >>> 8) % below;
    };
    let valid = 0;
    for (let round = 0; round < 4000; round++) {
      const inside = Array.from({ length: random(8) }, () => pieces[random(pieces.length)]).join('');
      const text = round % 2 ? `{"a":"${inside}","b":"${'y'.repeat(300)}"}` : `${inside}"${'y'.repeat(300)}"`;
      const bytes = Buffer.from(text);
      if (round % 3 === 0) bytes[random(bytes.length)] = random(256);
      expectSame(bytes);
      if ('value' in (outcome(() => plainly(bytes)) as object)) valid++;
    }
    expect(valid).toBeGreaterThan(500);
  });
});

describe('describeValueKind and readBoolean', () => {
  class Own {}
  /** Has the name of a Node.js class but is not one. */
  const impostor = new (class Buffer {})();

  it.each<[unknown, string, boolean]>([
    [undefined, 'nothing', false],
    [null, 'nothing', false],
    ['', 'empty text', false],
    ['x', 'text', false],
    [7, 'a number', false],
    [true, 'a boolean', false],
    [() => undefined, 'a function', false],
    [[], 'an array', false],
    [Buffer.from('x'), 'a Buffer', false],
    [new Uint8Array(1), 'a Uint8Array', false],
    [new Map(), 'a Map', false],
    [/x/, 'a RegExp', false],
    [new Error('x'), 'an Error', false],
    [new Own(), 'an object of a class', false],
    [impostor, 'an object of a class', false],
    [{}, 'an object', true],
    [Object.create(null), 'an object', true],
    [{ [Symbol.toStringTag]: 'X'.repeat(50) }, `a ${'X'.repeat(40)}`, true],
    // Function nodes create such values in another realm.
    [runInNewContext('({ a: 1 })'), 'an object', true],
    [runInNewContext('[]'), 'an array', false],
    [runInNewContext('new Map()'), 'a Map', false],
    [runInNewContext('Math'), 'a Math', false],
    [runInNewContext('new (class Own {})()'), 'an object of a class', false],
  ])('describes the value of case %#', (value, kind, isOne) => {
    expect([describeValueKind(value), isObject(value)]).toEqual([kind, isOne]);
  });

  it('readBoolean accepts every spelling of true and false that appliances use', () => {
    const spelt = [true, 'true', 'True', 'TRUE', false, 'false', 'False', 'yes', '', ' true', 'falsely', 1, 0, null, undefined, ['true']];
    expect(spelt.map(readBoolean)).toEqual([true, true, true, true, false, false, false, ...new Array<undefined>(9).fill(undefined)]);
  });
});
