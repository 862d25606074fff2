import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';

/** The ZIP inside a binary configuration (field notes, "Binary configuration"): enough to write one and to read one back. */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const DEFLATED = 8;

interface ZipEntry {
  name: Buffer;
  data: Buffer;
  crc: number;
  size: number;
}

/** The common fields of local and central headers: versions, flags (UTF-8 names), method, time, CRC, sizes, name length. */
function toCommonHeader(file: ZipEntry): Buffer {
  const header = Buffer.alloc(26);
  header.writeUInt16LE(20, 0);
  header.writeUInt16LE(0x0800, 2);
  header.writeUInt16LE(DEFLATED, 4);
  header.writeUInt16LE(0x21, 8); // 1980-01-01: the same content gives the same file
  header.writeUInt32LE(file.crc, 10);
  header.writeUInt32LE(file.data.length, 14);
  header.writeUInt32LE(file.size, 18);
  header.writeUInt16LE(file.name.length, 22);
  return header;
}

const u16 = (...values: number[]): Buffer => Buffer.from(values.flatMap((value) => [value & 0xff, value >> 8]));
const u32 = (...values: number[]): Buffer => Buffer.from(new Uint32Array(values).buffer);

export function writeZip(files: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content);
    const file = { name: Buffer.from(name), data: deflateRawSync(bytes), crc: crc32(bytes), size: bytes.length };
    const local = Buffer.concat([u32(LOCAL), toCommonHeader(file), file.name, file.data]);
    directory.push(u32(CENTRAL), u16(20), toCommonHeader(file), u16(0, 0, 0), u32(0, offset), file.name);
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const count = Object.keys(files).length;
  return Buffer.concat([...parts, central, u32(END), u16(0, 0, count, count), u32(central.length, offset), u16(0)]);
}

/** Returns the files of a ZIP. Throws if it is not a ZIP, is truncated or damaged. */
export function readZip(zip: Buffer): Map<string, string> {
  const end = zip.lastIndexOf(u32(END));
  if (end < 0) throw new Error('no end of central directory');
  const files = new Map<string, string>();
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    if (zip.readUInt32LE(at) !== CENTRAL) throw new Error('damaged central directory');
    const [nameLength, extra, comment] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30), zip.readUInt16LE(at + 32)];
    const name = zip.toString('utf8', at + 46, at + 46 + nameLength);
    const local = zip.readUInt32LE(at + 42);
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    const packed = zip.subarray(start, start + zip.readUInt32LE(at + 20));
    const content = zip.readUInt16LE(at + 10) === DEFLATED ? inflateRawSync(packed) : packed;
    if (crc32(content) !== zip.readUInt32LE(at + 16)) throw new Error('checksum');
    files.set(name, content.toString('utf8'));
    at += 46 + nameLength + extra + comment;
  }
  return files;
}
