import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { XmlFingerprint } from '../../../src/backup/xml-fingerprint';
import { computeBinaryFingerprint } from '../../../src/backup/binary-fingerprint';
import { writeZip } from '../../../src/simulator/zip';
import { XmlCheck } from '../../../src/transfer/xml';
import { readZipDirectory, type ZipEntry } from '../../../src/transfer/zip';

// Everything that can change the configuration must change the fingerprint, and nothing else may.

/** Feeds the text in parts of this size. */
function* parts(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function xml(document: string, { ignored = [], size = 1 << 20 }: { ignored?: string[]; size?: number } = {}): string {
  const fingerprint = new XmlFingerprint(ignored);
  const check = new XmlCheck(fingerprint, null);
  for (const part of parts(Buffer.from(document), size)) check.write(part);
  check.end();
  return fingerprint.digest();
}

const configurationFingerprint = (content: string, options?: Parameters<typeof xml>[1]): string =>
  xml(`<configuration>${content}</configuration>`, options);

describe('the fingerprint of an XML configuration', () => {
  it.each<[string, string, string]>([
    ['elements one after the other and within', '<a/><b/>', '<a><b/></a>'],
    ['elements in another order', '<a/><b/>', '<b/><a/>'],
    ['one more element', '<a/>', '<a/><a/>'],
    ['another name', '<a>x</a>', '<b>x</b>'],
    ['a name and a text', '<ab/>', '<a>b</a>'],
    ['another text', '<a>x</a>', '<a>y</a>'],
    ['words that are one', '<a>x y</a>', '<a>xy</a>'],
    ['words of two elements', '<a>x y</a>', '<a>x</a><a>y</a>'],
    ['another attribute', '<a b="1"/>', '<a b="2"/>'],
    ['one more attribute', '<a b="1"/>', '<a b="1" c=""/>'],
    ['an attribute and a text', '<a b="1"/>', '<a>b=1</a>  <b/>'],
    ['an attribute that holds two', '<a b="1" c="2"/>', '<a b="1c=2"/>'],
    ['where an attribute stands', '<a b="1"><c/></a>', '<a><c b="1"/></a>'],
    ['what follows a time', '<timestamp>1</timestamp><a>1</a>', '<timestamp>1</timestamp><a>2</a>'],
    ['what follows a secret', '<a type="secret">1</a>x', '<a type="secret">1</a>y'],
    ['what follows what is in a secret', '<a type="secret"><b/></a><c/>', '<a type="secret"><b/></a><d/>'],
    ['that there is a secret', '<a type="secret">1</a>', ''],
    ['a switch with times in it', '<uptime>on</uptime>', '<uptime>off</uptime>'],
    ['a switch with other letters', '<x-encrypted>Enabled</x-encrypted>', '<x-encrypted>disabled</x-encrypted>'],
    ['the name of a switch', '<x-encrypted>on</x-encrypted>', '<y-encrypted>on</y-encrypted>'],
    ['a switch as an attribute', '<a last-login="yes"/>', '<a last-login="no"/>'],
    ['a mark of something else', '<a name="secret">1</a>', '<a name="secret">2</a>'],
    ['a kind that is no secret', '<a type="secrets">1</a>', '<a type="secrets">2</a>'],
    ['a kind within another name', '<a subtype="secret">1</a>', '<a subtype="secret">2</a>'],
    ['a kind that a name begins with', '<a type-of="secret">1</a>', '<a type-of="secret">2</a>'],
    ['a name that ends otherwise', '<encrypted-x>1</encrypted-x>', '<encrypted-x>2</encrypted-x>'],
    ['the time of something to come', '<next-login-time>1</next-login-time>', '<next-login-time>2</next-login-time>'],
    ['a time that a name begins with', '<timestamps>1</timestamps>', '<timestamps>2</timestamps>'],
    ['what was done, not when', '<created-by>1</created-by>', '<created-by>2</created-by>'],
    ['an uptime of something', '<least-uptime>1</least-uptime>', '<least-uptime>2</least-uptime>'],
    ['a switch that is told to', '<x-encrypted>enable</x-encrypted>', '<x-encrypted>disable</x-encrypted>'],
    ['a switch with white space', '<x-encrypted> on </x-encrypted>', '<x-encrypted>\noff\n</x-encrypted>'],
    ['what follows what is encrypted', '<x-encrypted-by>1</x-encrypted-by>', '<x-encrypted-by>2</x-encrypted-by>'],
    ['a comment beside', '<a><!-- x -->1</a>', '<a><!-- x -->2</a>'],
  ])('the fingerprint of an XML configuration includes %s', (_what, one, other) => {
    expect(configurationFingerprint(one)).not.toBe(configurationFingerprint(other));
    // The result does not depend on the chunks.
    expect(configurationFingerprint(one, { size: 1 })).toBe(configurationFingerprint(one));
  });

  it.each<[string, string, string]>([
    ['white space around texts', '<a> \t\n\rx  y\n</a>', '<a>x y</a>'],
    ['white space between elements', '<a/>\n\t<b/>', '<a/><b/>'],
    ['a comment', '<a><!-- x -->1</a>', '<a>1</a>'],
    ['how it is written that nothing is in it', '<a></a>', '<a/>'],
    ['the order of attributes', '<a b="1" c="2"/>', '<a c="2" b="1"/>'],
    ['a namespace', '<a xmlns="urn:1" xmlns:x="urn:2"/>', '<a/>'],
    ['a time, and that there is one', '<a/><x-time-stamp>1</x-time-stamp>', '<a/>'],
    ['a time in capitals', '<a/><TimeStamp>1</TimeStamp>', '<a/>'],
    ['a time with a namespace', '<a/><x:uptime>1</x:uptime>', '<a/>'],
    ['a time with elements in it', '<last-seen><day>1</day><at>on</at></last-seen><a/>', '<a/>'],
    ['a time with much in it', `<uptime>on${'x'.repeat(100)}</uptime>`, ''],
    ['a time that begins like a switch', '<uptime>disabledx</uptime>', ''],
    ['a time with much before it', `<uptime>${' '.repeat(100)}12</uptime>`, ''],
    ['a time in a time', '<uptime><uptime>1</uptime>on</uptime><a/>', '<uptime>2</uptime><a/>'],
    ['a time as an attribute', '<a modified-on="1"/>', '<a/>'],
    ['a secret with a namespace', '<a x:type="encrypted">1</a>', '<a x:type="encrypted">2</a>'],
    ['a secret with a long namespace', '<a xyz:type="secret">1</a>', '<a xyz:type="secret">2</a>'],
    ['a secret by its format', '<a FORMAT="secret">1</a>', '<a FORMAT="secret">2</a>'],
    ['a secret, with what comes behind its mark', '<a type="secret" b="1">1<c/></a>', '<a type="secret" b="1">2</a>'],
    ['a secret that could be a switch', '<a class="secret">on</a>', '<a class="secret">off</a>'],
    ['a secret in a secret', '<a type="secret"><b encoding="secret">1</b></a>', '<a type="secret">2</a>'],
    ['what is encrypted', '<x-ENCRYPTED>1</x-ENCRYPTED>', '<x-ENCRYPTED>2</x-ENCRYPTED>'],
    ['a last change', '<last-config-change>1</last-config-change><last-access>2</last-access>', ''],
  ])('the fingerprint of an XML configuration ignores %s', (_what, one, other) => {
    for (const size of [1, 1 << 20]) expect(configurationFingerprint(one, { size })).toBe(configurationFingerprint(other));
  });

  it.each([
    'last-modified',
    'last-update',
    'last-changed',
    'last-updated',
    'last-used',
    'last-seen',
    'last-activated',
    'last-sign-in',
    'last-x-date',
    'saved-at',
  ])('the fingerprint of an XML configuration ignores %s, because it is a time', (name) =>
    expect(configurationFingerprint(`<${name}>1</${name}>`)).toBe(configurationFingerprint('')),
  );
  it.each([
    'last-name',
    'last-used-by',
    'my-last-login',
    'created-once',
    're-created-on',
    'creation-times',
    'x-creation-date',
    'exported-to',
  ])('the fingerprint of an XML configuration includes %s, because it is not a time', (name) =>
    expect(configurationFingerprint(`<${name}>1</${name}>`)).not.toBe(configurationFingerprint(`<${name}>2</${name}>`)),
  );

  it('the fingerprint of an XML configuration ignores the given elements and their content', () => {
    const ignored = ['fullname', 'tag'];
    expect(configurationFingerprint('<a/><x:fullname>on</x:fullname>', { ignored })).toBe(configurationFingerprint('<a/>'));
    expect(configurationFingerprint('<a tag="on"/>', { ignored })).toBe(configurationFingerprint('<a/>'));
    expect(configurationFingerprint('<a tag="on"/>')).not.toBe(configurationFingerprint('<a/>'));
    expect(configurationFingerprint('<a><fullname><b>1</b></fullname>2</a>', { ignored })).toBe(configurationFingerprint('<a>2</a>'));
    expect(configurationFingerprint('<fullnames>1</fullnames>', { ignored })).not.toBe(
      configurationFingerprint('<fullnames>2</fullnames>', { ignored }),
    );
  });

  it('the fingerprint of an XML configuration ignores attributes of the root, but includes its name and texts', () => {
    expect(xml('<c timestamp="1" version="2"><a/></c>')).toBe(xml('<c version="3"><a/></c>'));
    expect(xml('<c><a/></c>')).not.toBe(xml('<d><a/></d>'));
    expect(xml('<c type="secret">1</c>')).not.toBe(xml('<c type="secret">2</c>'));
  });

  it('the fingerprint of an XML configuration has not changed since earlier versions of this package', () => {
    const bytes = (...items: (string | number)[]): Buffer =>
      Buffer.concat(items.map((item) => (typeof item === 'string' ? Buffer.from(item) : Buffer.of(item))));
    const hash = (...items: (string | number)[]): string =>
      createHash('sha256')
        .update(bytes(...items))
        .digest('hex');
    expect(xml('<a/>')).toBe(hash(1, 'a', 2));
    expect(xml('<a x="0"><b c="2" b="1"/><d> e\n f </d><uptime>on</uptime></a>')).toBe(
      hash(1, 'a', 1, 'b', 3, 'b=1', 4, 'c=2', 2, 1, 'd', 3, 'e f', 2, 1, 'uptime', 4, 'on', 2, 2),
    );
    const fingerprint = new XmlFingerprint();
    expect(fingerprint.digest()).toBe(hash());
  });

  it('the fingerprint of an XML configuration includes a long value completely', () => {
    const long = 'x'.repeat(70_000);
    expect(configurationFingerprint(`<a>${long}y${long}</a>`)).not.toBe(configurationFingerprint(`<a>${long}z${long}</a>`));
    expect(configurationFingerprint(`<a>${long}y</a>`, { size: 7 })).toBe(configurationFingerprint(`<a>${long}y</a>`));
    const names = Array.from({ length: 10_050 }, (_, index) => `<n${index}/>`).join('');
    expect(configurationFingerprint(`${names}<uptime>1</uptime><a/>`)).toBe(configurationFingerprint(`${names}<uptime>2</uptime><a/>`));
  });
});

describe('the fingerprint of a binary configuration', () => {
  const base64 = (bytes: Buffer): Buffer => Buffer.from(bytes.toString('base64'));
  const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

  async function zip(
    files: Record<string, string>,
    {
      ignored = [],
      size = 1 << 20,
      change = (bytes: Buffer) => bytes,
      entries,
    }: {
      ignored?: string[];
      size?: number;
      change?: (bytes: Buffer) => Buffer;
      entries?: (given: ZipEntry[]) => ZipEntry[];
    } = {},
  ): Promise<string> {
    const bytes = change(writeZip(files));
    const directory = readZipDirectory(bytes, bytes.length) ?? [];
    return computeBinaryFingerprint(Readable.from(parts(base64(bytes), size)), entries?.(directory) ?? directory, ignored);
  }

  const c = (content: string): string => `<c>${content}</c>`;

  it('the fingerprint of a binary configuration without a ZIP includes every byte', async () => {
    const bytes = Buffer.from('no archive at all');
    for (const size of [1, 5, 1000])
      expect(await computeBinaryFingerprint(Readable.from(parts(base64(bytes), size)), undefined, [])).toBe(sha256(bytes));
  });

  it('the fingerprint of a binary configuration includes the names and contents of its files, but only the fingerprint of XML files', async () => {
    const whole = { 'a.xml': c('<a>1</a><uptime>1</uptime>'), 'b.txt': 'x' };
    const expected = ['a.xml\u0000', 'b.txt\u0000'];
    const lines = [`${expected[0]}${xml(c('<a>1</a>'))}`, `${expected[1]}${crc32('x')}:1`];
    expect(await zip(whole)).toBe(sha256(lines.join('\n')));
    expect(await zip(whole, { size: 3 })).toBe(await zip(whole));
    // At any position.
    expect(await zip({ 'b.txt': 'x', 'a.xml': c('<a> 1</a>') })).toBe(await zip(whole));
    const two = { ...whole, 'c.xml': c('<b>1</b><uptime>2</uptime>') };
    expect(await zip(two, { entries: (given) => given.toReversed() })).toBe(await zip(two));
    // Files with another ending are not XML.
    expect(await zip({ 'b.txt': c('x') })).toBe(sha256(`b.txt\u0000${crc32(c('x'))}:${c('x').length}`));
    for (const other of [
      { ...whole, 'a.xml': c('<a>2</a>') },
      { ...whole, 'b.txt': 'y' },
      { ...whole, 'c.txt': '' },
      { 'a.xml': whole['a.xml'] },
      { 'a.xml': whole['a.xml'], 'B.txt': 'x' },
    ])
      expect(await zip(other)).not.toBe(await zip(whole));
  });

  it('the fingerprint of a binary configuration leaves out the configured files and elements', async () => {
    expect(await zip({ 'a.xml': c('<a>1</a>'), 'b.txt': 'x' }, { ignored: ['b.txt', 'a'] })).toBe(
      await zip({ 'a.xml': c('<a>2</a>'), 'b.txt': 'yy' }, { ignored: ['b.txt', 'a'] }),
    );
    expect(await zip({ 'a.xml': c('x') }, { ignored: ['a.xml'] })).toBe(await zip({}));
  });

  it('the fingerprint of a binary configuration uses the checksum of an invalid XML file, and reads the files after it', async () => {
    for (const invalid of ['<c><a></c>', '<c>', '']) {
      const files = { 'a.XML': invalid, 'b.xml': c('<a>1</a><uptime>7</uptime>') };
      const lines = [`a.XML\u0000${crc32(invalid)}:${invalid.length}`, `b.xml\u0000${xml(c('<a>1</a>'))}`];
      expect(await zip(files)).toBe(sha256(lines.join('\n')));
    }
  });

  it('the fingerprint of a binary configuration uses the checksum of a file that cannot be unpacked', async () => {
    const files = { 'a.xml': c(`<a>${'1'.repeat(300)}</a>`) };
    const damaged = (bytes: Buffer): Buffer => Buffer.from(bytes.fill(0xff, 35, 40));
    const line = `a.xml\u0000${crc32(files['a.xml'])}:${files['a.xml'].length}`;
    expect(await zip(files, { change: damaged })).toBe(sha256(line));
    for (const invalid of [{ method: 99 }, { encrypted: true }, { offset: 0xffffffff }])
      expect(await zip(files, { entries: ([entry]) => [{ ...(entry as ZipEntry), ...invalid }] })).toBe(sha256(line));
  });

  it('the fingerprint of a binary configuration includes files that are stored without compression', async () => {
    const content = Buffer.from(c('<a>1</a><uptime>7</uptime>'));
    const name = Buffer.from('a.xml');
    const extra = Buffer.from('extra');
    const header = Buffer.alloc(30);
    header.writeUInt16LE(name.length, 26);
    header.writeUInt16LE(extra.length, 28);
    const bytes = Buffer.concat([Buffer.from('before'), header, name, extra, content, Buffer.from('<behind>')]);
    const entry = { name: 'a.xml', crc: 1, method: 0, encrypted: false, packed: content.length, size: content.length, offset: 6 };
    for (const size of [1, 1000])
      expect(await computeBinaryFingerprint(Readable.from(parts(base64(bytes), size)), [entry], [])).toBe(
        sha256(`a.xml\u0000${xml(c('<a>1</a>'))}`),
      );
  });

  it('the fingerprint of a binary configuration throws on a read error, and reads nothing more', async () => {
    const zipped = writeZip({ 'a.xml': c('<a/>'), 'b.txt': 'x' });
    const entries = readZipDirectory(zipped, zipped.length) ?? [];
    const fault = Object.assign(new Error('the disk does not answer'), { code: 'EIO' });
    const broken = Readable.from(
      (function* () {
        yield base64(zipped).subarray(0, 48);
        throw fault;
      })(),
    );
    await expect(computeBinaryFingerprint(broken, entries, [])).rejects.toBe(fault);
    const text = Readable.from(parts(base64(zipped), 4));
    await computeBinaryFingerprint(text, entries, []);
    expect(text.destroyed).toBe(true);
  });

  it('the fingerprint of a binary configuration throws LIMIT if an XML file unpacks to more than any real configuration', async () => {
    const zipped = writeZip({ 'a.xml': c('x'.repeat(100)) });
    const [entry] = readZipDirectory(zipped, zipped.length) ?? [];
    const text = (): Readable => Readable.from([base64(zipped)]);
    const size = entry?.size ?? 0;
    const message =
      'The ZIP of the binary configuration unpacks to more than 0 MiB of XML, which no configuration has. The backup was discarded.';
    await expect(computeBinaryFingerprint(text(), [entry as ZipEntry], [], size)).resolves.toMatch(/^\w{64}$/);
    await expect(computeBinaryFingerprint(text(), [entry as ZipEntry], [], size - 1)).rejects.toMatchObject({
      code: 'LIMIT',
      message,
      details: { sent: true },
    });
  });

  it('the fingerprint of a binary configuration throws LIMIT even if the ZIP directory states a smaller size', async () => {
    const zipped = writeZip({ 'a.xml': c('x'.repeat(93)), 'b.xml': c('y'.repeat(93)), 'c.txt': 'z'.repeat(500) });
    const entries = readZipDirectory(zipped, zipped.length) ?? [];
    const text = (): Readable => Readable.from([base64(zipped)]);
    const unread = (): Readable =>
      new Readable({
        read() {
          this.destroy(new Error('It was read.'));
        },
      });
    await expect(computeBinaryFingerprint(unread(), entries, [], 199)).rejects.toMatchObject({ code: 'LIMIT' });
    await expect(computeBinaryFingerprint(text(), entries, [], 200)).resolves.toMatch(/^\w{64}$/);
    await expect(computeBinaryFingerprint(text(), entries, ['a.xml'], 199)).resolves.toMatch(/^\w{64}$/);
    const modest = entries.map((entry) => ({ ...entry, size: 0 }));
    await expect(computeBinaryFingerprint(text(), modest, [], 199)).rejects.toMatchObject({ code: 'LIMIT' });
    await expect(computeBinaryFingerprint(text(), modest, [], 200)).resolves.toMatch(/^\w{64}$/);
  });
});
