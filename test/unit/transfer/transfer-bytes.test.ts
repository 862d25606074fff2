import { describe, expect, it } from 'vitest';
import { Base64Decoder } from '../../../src/transfer/base64';
import { XmlCheck } from '../../../src/transfer/xml';
import { countBytesOfCompleteCharacters, findEndOfName, AttributeNames } from '../../../src/transfer/xml-bytes';
import { CarryBuffer, ElementStack } from '../../../src/transfer/xml-buffers';
import { isValidCharacterReference, isDeclaredUtf8, readDoctype } from '../../../src/transfer/xml-prolog';
import { checkBinary } from '../../helpers/binary-check';

// Checks single bytes: of base64, of a ZIP directory, of the prolog and of tags.

describe('Base64Check on bytes', () => {
  it.each([
    ['QUJD\u0001AAA', '0x01 at byte 4'],
    ['QUJDQUJDQUJD\u007fAAA', '0x7f at byte 12'],
    ['QUJDQUJDQUJD\u001fAAA', '0x1f at byte 12'],
    ['QUJD!AAA', '"!" at byte 4'],
    ['QUJD~AAA', '"~" at byte 4'],
    ['QUJD"AAA', '"\\"" at byte 4'],
    ['QUJDé', '0xc3 at byte 4'],
    ['QUJDQ===', '"=" at byte 7'],
    ['QUJDQUI=QUJDQUJD', '"Q" at byte 8'],
    ['QUJD<b>AAA', '"<" at byte 4'],
  ])('Base64Check rejects %j and reports the position', (text, where) => {
    for (const pieces of [1, 4, 1 << 20]) expect(checkBinary(text, pieces)).toBe(`it is not base64: ${where}`);
  });

  it('Base64Check requires a ZIP where only a ZIP is valid, and otherwise a minimum length', () => {
    expect(checkBinary('U2FsdGVkX19hbmQgbW9y')).toBe('it is too short for one');
    expect(checkBinary('U2FsdGVkX19hbmQgbW9yZQ==')).toBe('base64');
    expect(checkBinary('U2FsdGVkX19hbmQgbW9yZQ==', 1 << 20, true)).toBe(
      'it is not a ZIP, which a configuration without a password must be',
    );
  });

  it.each([
    ['words\twords\twords\twords\twords\twordsab', 'it is words, not base64'],
    ['U2FsdGVkX19h\nbmQgbW9yZSBhbmQgbW9y\nZQ==', 'base64'],
    ['U2FsdGVkX19h\rbmQgbW9yZSBhbmQgbW9y\rZQ==', 'base64'],
    ['U2FsdGVkX19h \tbmQgbW9yZSBhbmQgbW9y\t\tZQ==', 'base64'],
    ['U2FsdGVkX19hbmQgbW9yZSBhbmQgbW9yZQ ==', 'base64'],
  ])('Base64Check does not treat words as base64 lines: %j', (text, expected) => expect(checkBinary(text)).toBe(expected));

  it('Base64Check decodes pieces of any size, with white space anywhere', () => {
    for (const pieces of [1, 3, 7, 100]) {
      const decoder = new Base64Decoder();
      const text = 'U2Fs dGVk\t\tX19h\r\n\r\nbmQgbW9y\nZQ==';
      const parts = (text.match(new RegExp(`[^]{1,${pieces}}`, 'g')) ?? []).map((piece) => decoder.write(Buffer.from(piece)));
      expect(Buffer.concat(parts).toString()).toBe('Salted__and more');
    }
  });
});

describe('readDoctype and the XML prolog', () => {
  const doctype = (text: string): string => {
    try {
      const bytes = Buffer.from(`ab${text}`);
      const found = readDoctype(bytes, 2, bytes.length);
      return found ? `${found.length}${found.mayDeclareEntities ? ' declares' : ''}` : 'more';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it.each([
    ['<!DOCTYPE a>', '12'],
    ['<!DOCTYPE a><b>', '12'],
    ['<!DOCTYPE xhtml "html" > >', '24'],
    ['<!DOCTYPE a SYSTEM "b>c">', '25'],
    [`<!DOCTYPE a SYSTEM 'b>"c'>`, '26'],
    ['<!DOCTYPE a "[" >', '17'],
    ['<!DOCTYPE a []>', '15 declares'],
    ['<!DOCTYPE a [<!ENTITY b "]>">] >', '32 declares'],
    ['<!DOCTYPE a [<!-- ]> " -->]>', '28 declares'],
    [`<!DOCTYPE a [<?b ]>' ?>]>`, '25 declares'],
    ['<!DOCTYPE a [<!ELEMENT b ANY>]>', '31 declares'],
  ])('the XML prolog check accepts the declaration %s', (text, length) => {
    expect(doctype(text)).toBe(length);
    for (let cut = 10; cut < Number.parseInt(length); cut++) expect(doctype(text.slice(0, cut))).toBe('more');
  });

  it.each(['<!DOCTYPE a <b>', '<!DOCTYPE a [] []>', '<!DOCTYPE a ]>', '<!DOCTYPE a [] ]>', '<!DOCTYPE a [] <b>'])(
    'the XML prolog check rejects the declaration %s',
    (text) => expect(doctype(text)).toBe('it is not well-formed XML: a malformed document type declaration'),
  );

  it('the XML prolog check reports an HTML page', () => {
    for (const text of ['<!DOCTYPE html>', '<!doctype  \n HTML>', '<!DOCTYPE html PUBLIC "a">'])
      expect(doctype(text)).toBe('it is a page of HTML');
    for (const text of ['<!DOCTYPE a "<!DOCTYPE html">', '<!DOCTYPEhtml>', '<!DOCTYPE a>']) expect(doctype(text)).toBe(String(text.length));
    expect(readDoctype(Buffer.from('<!DOCTYPE html>'), 0, 11)).toBeUndefined();
  });

  it('the XML prolog check reads the declared encoding', () => {
    const xml = (rest: string): boolean => isDeclaredUtf8(`xml version="1.0"${rest}`);
    const yes = [
      '',
      ' encoding="UTF-8"',
      " encoding='utf-8'",
      '\tencoding \n= "US-ASCII"',
      ' encoding="ascii" standalone="yes"',
      ' encoding=""',
    ];
    expect(yes.filter((rest) => !xml(rest))).toEqual([]);
    const no = [' encoding="UTF-16"', " encoding = 'ISO-8859-1'", ' encoding="utf-80"', ' encoding="u"'];
    expect(no.filter(xml)).toEqual([]);
    expect(xml(' noencoding="x"')).toBe(true);
  });

  it('the XML prolog check validates character references', () => {
    const good = [
      '&amp;',
      '&x1;',
      '&#9;',
      '&#10;',
      '&#13;',
      '&#xa;',
      '&#XD;',
      '&#32;',
      '&#xD7FF;',
      '&#xE000;',
      '&#xFFFD;',
      '&#x10000;',
      '&#x10ffff;',
    ];
    expect(good.filter((reference) => !isValidCharacterReference(reference))).toEqual([]);
    const bad = ['&#0;', '&#11;', '&#31;', '&#x8;', '&#x1f;', '&#xD800;', '&#xDFFF;', '&#xFFFE;', '&#xFFFF;', '&#65535;', '&#x110000;'];
    expect(bad.filter(isValidCharacterReference)).toEqual([]);
    expect([isValidCharacterReference('a&#0;'), isValidCharacterReference('&#0;b')]).toEqual([true, true]);
  });
});

describe('XmlCheck events', () => {
  it('XmlCheck reports tags, attributes and texts, however the bytes arrive', () => {
    const told = (document: string, size: number): string => {
      let log = '';
      const of = (buffer: Buffer, [start, end]: readonly [number, number]): string => buffer.toString('utf8', start, end);
      const check = new XmlCheck({
        open: (buffer, start, end) => (log += `<${of(buffer, [start, end])}`),
        attribute: (buffer, name, value) => (log += ` ${of(buffer, name)}=${of(buffer, value)}`),
        text: (buffer, start, end) => (log += of(buffer, [start, end])),
        close: () => (log += '>'),
      });
      for (let at = 0; at < document.length; at += size) check.write(Buffer.from(document.slice(at, at + size)));
      check.end();
      return log;
    };
    const document = `<?xml version="1.0"?><configuration><a b = "1" c='"&lt;'/><d >x &amp; y<![CDATA[<z>]]]><!-- n --></d\n><e f=""></e></configuration> `;
    for (const size of [1, 2, 7, 1000]) expect(told(document, size)).toBe('<configuration<a b=1 c="&lt;><dx &amp; y<z>]><e f=>> ');
  });

  it('XmlCheck splits long texts only between whole characters', () => {
    for (const text of ['a', 'aé', 'a\u00c0', 'a\u0800', 'a名', 'a😀', '']) {
      const bytes = Buffer.from(text);
      for (let length = 0; length <= bytes.length; length++) {
        const whole = text.startsWith('a') && length > 0 && length < bytes.length ? 1 : length;
        expect([text, length, countBytesOfCompleteCharacters(bytes.subarray(0, length))]).toEqual([text, length, whole]);
      }
    }
    // Other checks find bytes that are not characters.
    expect([[0x80], [0x80, 0x80, 0x80, 0x80], [0x61, 0xf0]].map((bytes) => countBytesOfCompleteCharacters(Buffer.from(bytes)))).toEqual([
      1, 4, 1,
    ]);
  });

  it('XmlCheck accepts exactly the names that XML allows', () => {
    const end = (text: string, from = 0, to = text.length): number => findEndOfName(Buffer.from(text, 'latin1'), from, to);
    expect([end('ab-1.c:_d é'), end('1a'), end('-a'), end(' a'), end(':a'), end('ab cd', 3), end('é>')]).toEqual([9, 0, 0, 0, 2, 5, 1]);
    expect([end('abc', 0, 2), end('abc', 2, 2), end('a'), end('abc', 1, 1)]).toEqual([2, 2, 1, 1]);
    // Bytes after the end do not matter.
    expect(end('ab<c', 2, 2)).toBe(2);
  });

  it('XmlCheck refuses duplicate attributes, however many there are', () => {
    for (const count of [1, 2, 11, 12, 13, 40]) {
      const buffer = Buffer.from(Array.from({ length: count + 1 }, (_, index) => `n${String(index).padStart(2, '0')}`).join(''));
      const names = new AttributeNames();
      for (let index = 0; index < count; index++) {
        expect(names.has(buffer, [index * 3, index * 3 + 3])).toBe(false);
        names.add(buffer, [index * 3, index * 3 + 3]);
      }
      for (let index = 0; index < count; index++) expect(names.has(buffer, [index * 3, index * 3 + 3])).toBe(true);
      expect([names.has(buffer, [0, 2]), names.has(buffer, [1, 4]), names.has(buffer, [count * 3, count * 3 + 3])]).toEqual([
        false,
        false,
        false,
      ]);
      expect(names.ranges).toHaveLength(count);
    }
  });

  it('XmlCheck remembers element names until their end tag', () => {
    const open = new ElementStack();
    const names = ['a', 'bcd', 'x'.repeat(1020), 'y'.repeat(5000), 'z'];
    const buffer = Buffer.from(`  ${names.join('')}`);
    let at = 2;
    for (const [index, name] of names.entries()) {
      open.push(buffer, at, at + name.length);
      expect([open.depth, open.topLength]).toEqual([index + 1, name.length]);
      at += name.length;
    }
    for (const name of names.toReversed()) {
      expect([open.topLength, open.isTopAt(Buffer.from(`>${name}`), 1), open.isTopAt(Buffer.from(`>${name.slice(0, -1)}?`), 1)]).toEqual([
        name.length,
        true,
        false,
      ]);
      open.pop();
    }
    expect([open.depth, open.topLength, open.isTopAt(buffer, 0)]).toEqual([0, 0, true]);
  });

  it('XmlCheck keeps incomplete markup until more bytes arrive', () => {
    const carried = new CarryBuffer();
    carried.store(Buffer.from('--abc'), 2);
    expect([carried.length, carried.bytes.toString()]).toEqual([3, 'abc']);
    expect(carried.concat(Buffer.from('d'.repeat(100))).toString()).toBe(`abc${'d'.repeat(100)}`);
    expect(carried.bytes.toString()).toBe('abc');
    const joined = carried.concat(Buffer.from('ef'));
    carried.store(joined, 3);
    expect(carried.bytes.toString()).toBe('ef');
    carried.store(carried.bytes, 2);
    expect([carried.length, carried.bytes.toString()]).toEqual([0, '']);
  });
});
