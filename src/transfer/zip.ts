/** One entry of a ZIP's central directory. Sizes and offset are in bytes. */
export interface ZipEntry {
  readonly name: string;
  readonly crc: number;
  readonly method: number;
  readonly encrypted: boolean;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
}

const LOCAL_SIGNATURE = 0x04034b50;
const CENTRAL_SIGNATURE = 0x02014b50;
const END_SIGNATURE = 0x06054b50;
const END64_SIGNATURE = 0x06064b50;
const LOCATOR64_SIGNATURE = 0x07064b50;
const END_RECORD_BYTES = 22;
const CENTRAL_HEADER_BYTES = 46;
/** A 32-bit field with this value refers to the ZIP64 record. */
const ZIP64_MARKER = 0xffffffff;
export const ZIP_LOCAL_HEADER_BYTES = 30;

export function startsLikeZip(head: Buffer): boolean {
  return head.length >= 4 && [LOCAL_SIGNATURE, END_SIGNATURE].includes(head.readUInt32LE(0));
}

/**
 * Reads the central directory of a ZIP of `total` bytes from its last bytes. All entries must lie within the file. Returns undefined when
 * the directory begins before `tail`. Errors: a plain `Error` with the reason.
 */
export function readZipDirectory(tail: Buffer, total: number): ZipEntry[] | undefined {
  const end = findEnd(tail);
  const { count, bytes, offset } = locateDirectory(tail, end, total);
  const start = offset - (total - tail.length);
  if (offset + bytes > total) throw new Error('its directory does not fit in');
  if (start < 0) return undefined;
  const entries: ZipEntry[] = [];
  let at = start;
  while (at < start + bytes) {
    if (at + CENTRAL_HEADER_BYTES > tail.length || tail.readUInt32LE(at) !== CENTRAL_SIGNATURE) throw new Error('its directory is damaged');
    const entry = readEntry(tail, at);
    if (entry.offset !== ZIP64_MARKER && entry.offset >= offset) throw new Error('its directory names a file that is not in it');
    entries.push(entry);
    at += CENTRAL_HEADER_BYTES + tail.readUInt16LE(at + 28) + tail.readUInt16LE(at + 30) + tail.readUInt16LE(at + 32);
  }
  if (at !== start + bytes || entries.length !== count) throw new Error('its directory is not whole');
  return entries;
}

/** Finds the end record, whose comment must reach the end of the file; a truncated file has none. */
function findEnd(tail: Buffer): number {
  for (let at = tail.length - END_RECORD_BYTES; at >= Math.max(0, tail.length - END_RECORD_BYTES - 0xffff); at--) {
    if (tail[at] === 0x50 && tail.readUInt32LE(at) === END_SIGNATURE && at + END_RECORD_BYTES + tail.readUInt16LE(at + 20) === tail.length)
      return at;
  }
  throw new Error('its directory is missing');
}

function locateDirectory(tail: Buffer, end: number, total: number): { count: number; bytes: number; offset: number } {
  const count = tail.readUInt16LE(end + 10);
  const bytes = tail.readUInt32LE(end + 12);
  const offset = tail.readUInt32LE(end + 16);
  const last = total - tail.length + end;
  if (count !== 0xffff && bytes !== ZIP64_MARKER && offset !== ZIP64_MARKER) {
    if (offset + bytes !== last) throw new Error('its directory is not where it should be');
    return { count, bytes, offset };
  }
  const locator = end - 20;
  if (locator < 0 || tail.readUInt32LE(locator) !== LOCATOR64_SIGNATURE) throw new Error('its directory is missing (ZIP64)');
  const record = Number(tail.readBigUInt64LE(locator + 8)) - (total - tail.length);
  if (record < 0 || record + 56 > tail.length || tail.readUInt32LE(record) !== END64_SIGNATURE)
    throw new Error('its directory is missing (ZIP64)');
  const [count64, bytes64, offset64] = [32, 40, 48].map((field) => Number(tail.readBigUInt64LE(record + field))) as [
    number,
    number,
    number,
  ];
  return { count: count64, bytes: bytes64, offset: offset64 };
}

function readEntry(tail: Buffer, at: number): ZipEntry {
  const flags = tail.readUInt16LE(at + 8);
  const nameBytes = tail.readUInt16LE(at + 28);
  return {
    name: tail.toString('utf8', at + CENTRAL_HEADER_BYTES, at + CENTRAL_HEADER_BYTES + nameBytes),
    crc: tail.readUInt32LE(at + 16),
    method: tail.readUInt16LE(at + 10),
    encrypted: (flags & 1) === 1,
    packed: tail.readUInt32LE(at + 20),
    size: tail.readUInt32LE(at + 24),
    offset: tail.readUInt32LE(at + 42),
  };
}

/** True when sizes and offset are known and the entry is not encrypted. Fingerprints use the checksum of all other entries. */
export function isReadableEntry(entry: ZipEntry): boolean {
  return !entry.encrypted && entry.packed !== ZIP64_MARKER && entry.size !== ZIP64_MARKER && entry.offset !== ZIP64_MARKER;
}
