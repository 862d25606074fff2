import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { Base64Check, Base64Decoder } from '../../../src/transfer/base64';
import { createContentCheck, type ContentCheckResult, type ConfigurationKind } from '../../../src/transfer/content-check';
import { MalformedContentError } from '../../../src/transfer/malformed-content-error';
import { XmlCheck } from '../../../src/transfer/xml';
import { writeZip } from '../../../src/simulator/zip';

interface Sax {
  onerror: (error: Error) => void;
  write(text: string): Sax;
  close(): Sax;
}
const { parser } = createRequire(__filename)('sax') as { parser: (strict: boolean) => Sax };

/** Feeds the content in pieces of this size and returns the result or the complaint. */
function verdict(kind: ConfigurationKind, content: string | Buffer, pieces = 1 << 20): string {
  const bytes = Buffer.from(content);
  const check = createContentCheck(kind);
  try {
    for (let at = 0; at < bytes.length; at += pieces) check.write(bytes.subarray(at, at + pieces));
    return check.end().verified;
  } catch (error) {
    if (error instanceof MalformedContentError) return error.message;
    throw error;
  }
}

function configuration(inner: string): string {
  return `<configuration>${inner}</configuration>`;
}

const GOOD: Record<string, string> = {
  'an empty root': '<configuration/>',
  'a declaration and a namespace': '<?xml version="1.0" encoding="UTF-8"?>\n<configuration xmlns="urn:a:25.1R3">\n</configuration>\n',
  'a prefix': '<c:configuration xmlns:c="urn:a"><c:users/></c:configuration>',
  'a byte order mark': '\uFEFF<?xml version="1.0"?><configuration/>',
  'comments and instructions around it': '<!-- a - b --><?pi <a> ?><configuration/><!-- > --><?pi?>\n',
  'attributes in either quotes': configuration(`<a b="1 '>' " c='"'/>`),
  'white space in tags': configuration('<a\n  b = "1"\t></a \n>'),
  entities: configuration('&amp;&lt;&gt;&quot;&apos;&#65;&#x1F600; <a b="&amp;&#9;"/>'),
  CDATA: configuration('<![CDATA[<a> ]] > & ]]]]><![CDATA[>]]>'),
  'brackets in text': configuration('a]b]]c ]> ]'),
  'other scripts': configuration('<größe 名="日本">Ärger 😀</größe>'),
  'a doctype with entities': '<!DOCTYPE configuration [<!ENTITY me "it"> <!-- ] > -->]><configuration>&me;</configuration>',
  'an instruction that speaks of XML': '<configuration/><?a xml ?><?b-xml?>',
  'deep nesting': configuration('<a>'.repeat(3000) + '</a>'.repeat(3000)),
  'a long text and a long comment': configuration(`${'x'.repeat(70_000)}<!--${'y'.repeat(70_000)}-->`),
};

const BAD: Record<string, [content: string | Buffer, words: RegExp]> = {
  nothing: ['', /empty/],
  'white space only': [' \n', /ends early/],
  'a page of HTML': ['<!DOCTYPE html><html><body>Sorry</body></html>', /page of HTML/],
  'HTML without a doctype': ['<html><body>Sorry<br></body></html>', /page of HTML/],
  'another root': ['<result/>', /root element is result/],
  'text only': ['Internal error', /outside of the root/],
  'two roots': ['<configuration/><configuration/>', /second root/],
  'text behind the root': ['<configuration/>x', /outside of the root/],
  'a cut in the root': ['<configuration><a>', /ends early/],
  'a cut in a tag': ['<configuration><a b="', /ends early/],
  'a cut in a text': ['<configuration>abc', /ends early/],
  'a cut in an entity': ['<configuration>&am', /ends early/],
  'a cut in CDATA': ['<configuration><![CDATA[ab', /ends early/],
  'a cut in a comment': ['<configuration/><!-- a', /ends early/],
  'crossed tags': [configuration('<a><b></a></b>'), /closes another/],
  'an end tag too many': ['<configuration/></configuration>', /closes another/],
  'an end tag with a longer name': [configuration('<a></ab>'), /closes another/],
  'an unknown entity': [configuration('&nbsp;'), /known entity/],
  'a lone ampersand': [configuration('a & b'), /known entity/],
  'a lone <': [configuration('a < b'), /starts no tag/],
  '< in an attribute': [configuration('<a b="<"/>'), /not allowed in an attribute/],
  'an attribute twice': [configuration('<a b="1" b="2"/>'), /duplicate attribute/],
  'attributes without space': [configuration('<a b="1"c="2"/>'), /malformed tag/],
  'an attribute without quotes': [configuration('<a b=1/>'), /without quotes/],
  'an attribute without value': [configuration('<a b/>'), /without a value/],
  'a control character': [configuration('a\u0000b'), /control character/],
  'a control character in CDATA': [configuration('<![CDATA[\u0001]]>'), /control character/],
  ']]> in text': [configuration(']]>'), /]]>/],
  'a control character in an attribute': [configuration('<a b="\u0001"/>'), /not allowed in an attribute/],
  'a cut behind the root': ['<configuration/><', /ends early/],
  'a comment that has only begun': ['<configuration/><!--', /ends early/],
  'a doctype in the root': [configuration('<!DOCTYPE a>'), /misplaced declaration/],
  'a declaration of an element before it': ['<!ELEMENT a><configuration/>', /misplaced declaration/],
  'CDATA before it': ['<![CDATA[a]]><configuration/>', /misplaced declaration/],
  'a declaration behind it': ['<configuration/><?xml?>', /not at the beginning/],
  'a root with a long name': [`<${'r'.repeat(100)}/>`, /root element is r{60}, not configuration$/],
  'half of a byte order mark': ['\uFEC0<configuration/>', /outside of the root/],
  'the other half of one': ['\uF03F<configuration/>', /outside of the root/],
  'a letter with the rest of one': ['\u1EFF<configuration/>', /outside of the root/],
  'a letter before such a rest': ['a\u00BF<configuration/>', /outside of the root/],
  '-- in a comment': [configuration('<!-- a -- b -->'), /--/],
  'a late declaration': [' <?xml version="1.0"?><configuration/>', /not at the beginning/],
  'bytes that are not UTF-8': [Buffer.from(configuration('Gr\u00fc\u00dfe'), 'latin1'), /UTF-8/],
  'UTF-16': [Buffer.from('\uFEFF<configuration/>', 'utf16le'), /^it is not UTF-8$/],
  'UTF-16 of the other order': [Buffer.from('\uFEFF<configuration/>', 'utf16le').swap16(), /^it is not UTF-8$/],
  'UTF-16 without a mark': [Buffer.from('<configuration/>', 'utf16le').swap16(), /^it is not UTF-8$/],
  'a tag without end': [`<configuration><a ${'b'.repeat(2 << 20)}`, /does not end/],
};

describe('the XML check', () => {
  it.each(Object.entries(GOOD))('the XML check accepts %s in pieces of any size', (_name, content) => {
    for (const pieces of [1, 2, 3, 7, 1000, 1 << 20]) expect(verdict('xml', content, pieces)).toBe('xml');
  });

  it.each(Object.entries(BAD))('the XML check refuses %s', (_name, [content, words]) => {
    for (const pieces of [1, 5, 1 << 16]) {
      if (pieces > 5 || content.length < 1000) expect(verdict('xml', content, pieces)).toMatch(words);
    }
  });

  it.each(['&#0;', '&#x110000;', '&#xD800;', '&#xFFFE;', '&#8;'])('the XML check refuses the invalid character %s', (reference) => {
    expect(verdict('xml', configuration(reference))).toMatch(/entity/);
  });

  it.each(['&#9;', '&#xE9;', '&#128512;', '&#x10FFFF;'])('the XML check accepts %s', (reference) =>
    expect(verdict('xml', configuration(reference))).toBe('xml'),
  );

  it('the XML check refuses every truncation of a valid document', () => {
    const whole = Buffer.from(
      `<?xml version="1.0"?>\n<configuration a="b"><u>Jörg &amp; Co</u><![CDATA[<>]]><!-- c --><e/></configuration>`,
    );
    for (let length = 0; length < whole.length; length++) expect(verdict('xml', whole.subarray(0, length))).not.toBe('xml');
  });

  it('the XML check accepts a document in the encoding that it declares', () => {
    const text = '<?xml version="1.0" encoding="ISO-8859-1"?><configuration>Grüße</configuration>';
    expect(verdict('xml', Buffer.from(text, 'latin1'))).toBe('xml');
  });

  it('the XML check agrees with a slower parser for thousands of damaged documents', () => {
    const whole = configuration(`<a b="1" c='2'>x &amp; y</a><d><e/><![CDATA[z]]></d><!-- f --><g-h>1</g-h>`);
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48271) % 0x7fffffff) % below;
    const signs = `<>/&;"'=!-[]? abc1`;
    const differing: string[] = [];
    for (let round = 0; round < 4000; round++) {
      const at = random(whole.length);
      const sign = signs[random(signs.length)] ?? '';
      const damaged = whole.slice(0, at) + sign + whole.slice(at + random(3));
      if (acceptedBySax(damaged) !== (verdict('xml', damaged) === 'xml')) differing.push(damaged);
    }
    // sax accepts some forbidden markup, but nothing that it refuses may be accepted.
    expect(differing.filter((document) => verdict('xml', document) === 'xml')).toEqual([]);
    const unexplained = differing.filter(
      (document) => !/]]>|--|<[^>]*"[^"]*<|<[^>]*'[^']*</.test(document.replace('<!-- f -->', '').replace('<![CDATA[z]]>', '')),
    );
    expect(unexplained).toEqual([]);
  });
});

function acceptedBySax(document: string): boolean {
  const sax = parser(true);
  let good = true;
  let root = '';
  sax.onerror = (error) => {
    good = false;
    throw error;
  };
  Object.assign(sax, { onopentagstart: ({ name }: { name: string }) => (root ||= name) });
  try {
    sax.write(document).close();
  } catch {
    return false;
  }
  return good && root === 'configuration';
}

describe('the base64 check', () => {
  const zip = writeZip({ 'system.xml': configuration('<a/>').repeat(50), 'user.xml': configuration('ü') });
  const flat = zip.toString('base64');
  const lines = `${(flat.match(/.{1,76}/g) ?? []).join('\r\n')}\r\n`;

  it.each([
    ['in one line', flat],
    ['in lines', lines],
  ])('the check of a base64 configuration finds the directory of a ZIP %s', (_name, text) => {
    for (const pieces of [1, 3, 64, 77, 1 << 20]) expect(verdict('binary', text, pieces)).toBe('zip');
  });

  it('the check of a base64 configuration returns the entries of the ZIP in it', () => {
    const check = new Base64Check();
    check.write(Buffer.from(lines));
    const { entries }: ContentCheckResult = check.end();
    expect(entries?.map(({ name }) => name)).toEqual(['system.xml', 'user.xml']);
  });

  it('the check of a base64 configuration accepts content that is not a ZIP', () => {
    expect(verdict('binary', Buffer.from('Salted__ and more').toString('base64'))).toBe('base64');
  });

  it.each(['Service unavailable please try later', 'Please log in again using your own name'])(
    'the check of a base64 configuration refuses an error text: %s',
    (words) => {
      expect(words.replaceAll(' ', '').length % 4).toBe(0);
      expect(verdict('binary', words)).toMatch(/words/);
    },
  );

  it.each(['  U2FsdGVkX19hbmQgbW9yZSBhbmQgbW9yZQ==  ', 'U2FsdGVkX19h \r\n bmQgbW9yZSBhbmQgbW9yZQ=='])(
    'the check of a base64 configuration accepts blanks around the lines of %j',
    (text) => {
      expect(verdict('binary', text)).toBe('base64');
    },
  );

  it('the check of a base64 configuration refuses every truncation of a ZIP', () => {
    for (let length = 0; length < flat.length; length++) expect(verdict('binary', flat.slice(0, length))).not.toBe('zip');
    for (let length = 12; length < flat.length; length++) expect(verdict('binary', flat.slice(0, length))).not.toBe('base64');
  });

  it.each<[string, string, RegExp]>([
    ['nothing', '', /empty/],
    ['white space', ' \n', /empty/],
    ['HTML', '<html><body>Sorry</body></html>', /page of HTML/],
    ['HTML behind white space', '\n\n <!DOCTYPE html>', /page of HTML/],
    ['a foreign character', `${flat.slice(0, 40)}*${flat.slice(41)}`, /"\*" at byte 40/],
    ['text behind the padding', `${Buffer.from('ab').toString('base64')}AAAA`, /not base64/],
    ['half a group', 'QUJDR', /ends early/],
    ['a damaged directory', damaged(zip).toString('base64'), /damaged/],
  ])('the base64 check refuses %s', (_name, text, words) => {
    for (const pieces of [1, 1 << 20]) expect(verdict('binary', text, pieces)).toMatch(words);
  });

  it('the check of a base64 configuration keeps the last bytes of long content', () => {
    const large = writeZip({ 'a.bin': Buffer.alloc(64).toString('hex') });
    const long = Buffer.concat([large.subarray(0, 0), padded(large, 20 << 20)]);
    const text = long.toString('base64').replace(/.{76}/g, '$&\n');
    expect(verdict('binary', text, 1 << 20)).toBe('zip');
    expect(verdict('binary', text.slice(0, -400), 1 << 20)).toMatch(/cut short|ends early/);
  });

  it('the check of a base64 configuration decodes pieces of any size', () => {
    for (const pieces of [1, 5, 76, 1000]) {
      const decoder = new Base64Decoder();
      const parts: Buffer[] = [];
      for (let at = 0; at < lines.length; at += pieces) parts.push(decoder.write(Buffer.from(lines.slice(at, at + pieces))));
      expect(Buffer.concat(parts).equals(zip)).toBe(true);
    }
  });
});

/** The same ZIP with a damaged directory. */
function damaged(zip: Buffer): Buffer {
  const copy = Buffer.from(zip);
  copy.fill(0, zip.readUInt32LE(zip.length - 6), zip.readUInt32LE(zip.length - 6) + 4);
  return copy;
}

/** The same ZIP with extra bytes before its directory and a corrected offset. */
function padded(zip: Buffer, bytes: number): Buffer {
  const directory = zip.readUInt32LE(zip.length - 6);
  const end = Buffer.from(zip.subarray(directory));
  end.writeUInt32LE(directory + bytes, end.length - 6);
  return Buffer.concat([zip.subarray(0, directory), Buffer.alloc(bytes, 7), end]);
}

it('the XML check accepts any root element unless one is required', () => {
  const check = new XmlCheck(undefined, null);
  check.write(Buffer.from('<anything/>'));
  expect(() => check.end()).not.toThrow();
});
