import { describe, expect, it } from 'vitest';
import { createContentCheck } from '../../../src/transfer/content-check';
import { startsLikeZip, isReadableEntry, readZipDirectory, type ZipEntry } from '../../../src/transfer/zip';
import { checkBinary } from '../../helpers/binary-check';

// Builds ZIP files with chosen directories.

interface Written extends Partial<Record<'flags' | 'method' | 'crc' | 'packed' | 'size' | 'offset', number>> {
  readonly name?: string;
  readonly extra?: string;
  readonly comment?: string;
}

interface Around {
  readonly body?: number;
  readonly comment?: string;
  readonly count?: number;
  readonly bytes?: number;
  readonly at?: number;
  /** Stored in the ZIP64 record. */
  readonly wide?: 'count' | 'bytes' | 'at';
}

/** A ZIP with this many bytes in place of its files. */
function zipOf(entries: readonly Written[], { body = 100, comment = '', wide, ...told }: Around = {}): Buffer {
  const central = entries.map(({ name = 'a', extra = '', comment: note = '', ...numbers }) => {
    const header = Buffer.alloc(46);
    header.writeUInt32LE(0x02014b50);
    header.writeUInt16LE(numbers.flags ?? 0, 8);
    header.writeUInt16LE(numbers.method ?? 8, 10);
    header.writeUInt32LE(numbers.crc ?? 0, 16);
    header.writeUInt32LE(numbers.packed ?? 0, 20);
    header.writeUInt32LE(numbers.size ?? 0, 24);
    for (const [index, text] of [name, extra, note].entries()) header.writeUInt16LE(Buffer.byteLength(text), 28 + 2 * index);
    header.writeUInt32LE(numbers.offset ?? 0, 42);
    return Buffer.concat([header, Buffer.from(name + extra + note)]);
  });
  const directory = Buffer.concat(central);
  const { count = entries.length, bytes = directory.length, at = body } = told;
  const files = Buffer.alloc(body);
  if (body >= 4) files.writeUInt32LE(0x04034b50);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(wide === 'count' ? 0xffff : count, 10);
  end.writeUInt32LE(wide === 'bytes' ? 0xffffffff : bytes, 12);
  end.writeUInt32LE(wide === 'at' ? 0xffffffff : at, 16);
  end.writeUInt16LE(comment.length, 20);
  const record = Buffer.alloc(76);
  record.writeUInt32LE(0x06064b50);
  for (const [index, value] of [count, bytes, at].entries()) record.writeBigUInt64LE(BigInt(value), 32 + 8 * index);
  record.writeUInt32LE(0x07064b50, 56);
  record.writeBigUInt64LE(BigInt(body + directory.length), 64);
  return Buffer.concat([files, directory, ...(wide ? [record] : []), end, Buffer.from(comment)]);
}

const namesOf = (bytes: Buffer, total = bytes.length): string[] | undefined => readZipDirectory(bytes, total)?.map(({ name }) => name);

describe('readZipDirectory', () => {
  it('readZipDirectory returns the fields of each entry', () => {
    const one = { name: 'größe.xml', method: 8, crc: 1, packed: 2, size: 3, offset: 4 };
    const other = { name: 'b', method: 0, crc: 0xfffffffe, packed: 20, size: 30, offset: 40 };
    const bytes = zipOf([
      { ...one, extra: 'abc', comment: 'de', flags: 0x801 },
      { ...other, flags: 0x800 },
    ]);
    expect(readZipDirectory(bytes, bytes.length)).toEqual([
      { ...one, encrypted: true },
      { ...other, encrypted: false },
    ]);
  });

  it('readZipDirectory finds the directory behind any comment and at the end of the file', () => {
    const many = [{ name: 'a' }, { name: 'b', offset: 99 }];
    const marks = 'PK\u0005\u0006';
    for (const comment of ['', 'x', marks + 'x'.repeat(40), 'x'.repeat(65_535)])
      expect(namesOf(zipOf(many, { comment }))).toEqual(['a', 'b']);
    expect(namesOf(zipOf([], { body: 0 }))).toEqual([]);
    const whole = zipOf(many);
    for (const cut of [1, 50, 100]) expect(namesOf(whole.subarray(cut), whole.length)).toEqual(['a', 'b']);
    expect(namesOf(whole.subarray(101), whole.length)).toBeUndefined();
    for (const wide of ['count', 'bytes', 'at'] as const) {
      expect(namesOf(zipOf(many, { wide }))).toEqual(['a', 'b']);
      expect(namesOf(zipOf(many, { wide }).subarray(100), zipOf(many, { wide }).length)).toEqual(['a', 'b']);
    }
  });

  it.each<[string, Buffer, string]>([
    ['without an end', zipOf([{}]).subarray(0, -1), 'is missing'],
    ['with more behind it', Buffer.concat([zipOf([{}]), Buffer.alloc(1)]), 'is missing'],
    ['of too few bytes for one', Buffer.from('PK\u0005\u0006'), 'is missing'],
    ['that stands elsewhere', zipOf([{}], { at: 99 }), 'is not where it should be'],
    ['that is said to be longer', zipOf([{}], { bytes: 48 }), 'is not where it should be'],
    ['with a file in itself', zipOf([{ offset: 100 }]), 'names a file that is not in it'],
    ['with less in it than it says', zipOf([{}], { count: 2 }), 'is not whole'],
    ['with more in it than it says', zipOf([{}, {}], { count: 1 }), 'is not whole'],
    ['with a record that leads out of it', zipOf([{}, { extra: 'x' }]).fill(9, 177, 178), 'is not whole'],
    ['of something else', zipOf([{}]).fill(0, 100, 101), 'is damaged'],
    ['that is cut', zipOf([{}], { bytes: 1000, wide: 'bytes' }), 'does not fit in'],
    ['with a name in place of a record', zipOf([{ name: 'x'.repeat(50) }]).fill(0, 128, 129), 'is damaged'],
    ['without the record of ZIP64', zipOf([{}], { wide: 'at' }).fill(0, 147, 148), 'is missing (ZIP64)'],
    ['without the way to it', zipOf([{}], { wide: 'at' }).fill(0, 203, 204), 'is missing (ZIP64)'],
    ['that has the way lead out of it', zipOf([{}], { wide: 'at' }).fill(0xff, 211, 212), 'is missing (ZIP64)'],
    ['with no room for ZIP64', zipOf([], { body: 0, at: 0xffffffff }), 'is missing (ZIP64)'],
  ])('readZipDirectory refuses a directory %s', (_what, bytes, why) => {
    expect(() => readZipDirectory(bytes, bytes.length)).toThrow(new Error(`its directory ${why}`));
    expect(checkBinary(bytes.length > 22 ? bytes.toString('base64') : '')).toBe(
      bytes.length > 22 ? `it is a ZIP that is cut short or damaged: its directory ${why}` : 'it is empty',
    );
  });

  it('readZipDirectory returns undefined if the given end of the file does not include the ZIP64 record', () => {
    const bytes = zipOf([{}], { wide: 'at' });
    expect(() => readZipDirectory(bytes.subarray(150), bytes.length)).toThrow('its directory is missing (ZIP64)');
  });

  it('startsLikeZip recognizes the first four bytes', () => {
    const [local, end] = [Buffer.from('PK\u0003\u0004'), Buffer.from('PK\u0005\u0006')];
    expect([local, end, Buffer.concat([local, end])].map(startsLikeZip)).toEqual([true, true, true]);
    expect([local.subarray(0, 3), Buffer.alloc(0), Buffer.from('PK\u0001\u0002')].map(startsLikeZip)).toEqual([false, false, false]);
  });

  it('isReadableEntry excludes encrypted and ZIP64 entries', () => {
    const plain: ZipEntry = { name: 'a', crc: 0, method: 8, encrypted: false, packed: 1, size: 1, offset: 1 };
    expect(isReadableEntry(plain)).toBe(true);
    for (const odd of [{ encrypted: true }, { packed: 0xffffffff }, { size: 0xffffffff }, { offset: 0xffffffff }])
      expect(isReadableEntry({ ...plain, ...odd })).toBe(false);
    expect(readZipDirectory(zipOf([{ offset: 0xffffffff }]), 169)).toHaveLength(1);
  });

  it('readZipDirectory reads through base64 of any length and fragmentation', () => {
    // Covers each length of the last group and lines of any length.
    for (const comment of ['', 'x', 'xx']) {
      const text = zipOf([{}], { comment }).toString('base64');
      for (const line of [1, 4, 5, 76]) expect(checkBinary(text.replaceAll(new RegExp(`.{${line}}`, 'g'), '$&\n'))).toBe('zip');
    }
    // First much content before the directory, then a large directory.
    const long = zipOf([{}, {}], { body: 120_001 }).toString('base64');
    const wide = zipOf(Array.from({ length: 1500 }, () => ({ name: 'x'.repeat(30) }))).toString('base64');
    for (const text of [long, wide]) {
      for (const pieces of [1001, 4096, 70_003]) expect(checkBinary(text, pieces)).toBe('zip');
      expect(checkBinary(text.replaceAll(/.{77}/g, '$&\r\n'), 30_001)).toBe('zip');
    }
    // More than the tail keeps, in growing pieces, so that reused memory is too small.
    const huge = Buffer.from(zipOf([{}, {}], { body: 7 << 20 }).toString('base64'));
    const check = createContentCheck('binary');
    for (let at = 0, size = 100_000; at < huge.length; at += size, size += 60_001) check.write(huge.subarray(at, at + size));
    expect(check.end()).toMatchObject({ verified: 'zip', entries: [{ name: 'a' }, { name: 'a' }] });
  });
});
