import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import { Base64Decoder } from '../transfer/base64';
import { Malformed } from '../transfer/malformed';
import { XmlCheck } from '../transfer/xml';
import { isPlain, LOCAL_BYTES, type ZipEntry } from '../transfer/zip';
import { XmlFingerprint } from './fingerprint';

const STORED = 0;
const DEFLATED = 8;
const MIB = 1024 * 1024;
/** A configuration is tens of megabytes; a few kilobytes of ZIP can unpack to terabytes. */
const MOST_UNPACKED = 512 * MIB;

/**
 * The hash of what matters in a binary configuration. Of a ZIP: the names of its files and their checksums, of XML in it what
 * `XmlFingerprint` finds to matter. Of anything else, all bytes: whether that stays the same from export to export is up to the appliance.
 * Errors: `LIMIT` when its XML unpacks to more bytes than `most`.
 */
export async function binaryFingerprint(
  text: Readable,
  entries: readonly ZipEntry[] | undefined,
  ignored: readonly string[],
  most = MOST_UNPACKED,
): Promise<string> {
  const bytes = new DecodedBytes(text);
  if (!entries) {
    const hash = createHash('sha256');
    for await (const part of bytes.span(Infinity)) hash.update(part);
    return hash.digest('hex');
  }
  const lines: string[] = [];
  const unpacked = new Unpacked(most);
  unpacked.expect(entries.filter((entry) => isXml(entry) && !ignored.includes(entry.name)));
  for (const entry of [...entries].sort((a, b) => a.offset - b.offset)) {
    if (ignored.includes(entry.name)) continue;
    const xml = isXml(entry) ? await xmlFingerprint(entry, bytes, ignored, unpacked) : undefined;
    lines.push(`${entry.name}\u0000${xml ?? `${entry.crc}:${entry.size}`}`);
  }
  text.destroy();
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex');
}

function isXml(entry: ZipEntry): boolean {
  return entry.name.toLowerCase().endsWith('.xml') && isPlain(entry) && (entry.method === STORED || entry.method === DEFLATED);
}

/** Undefined when it is no XML after all. */
async function xmlFingerprint(
  entry: ZipEntry,
  bytes: DecodedBytes,
  ignored: readonly string[],
  unpacked: Unpacked,
): Promise<string | undefined> {
  await bytes.skipTo(entry.offset);
  const header = await bytes.take(LOCAL_BYTES);
  await bytes.skipTo(entry.offset + LOCAL_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28));
  const fingerprint = new XmlFingerprint(ignored);
  const check = new XmlCheck(fingerprint, null);
  const packed = Readable.from(bytes.span(entry.packed));
  const content = entry.method === STORED ? packed : (pipeline(packed, createInflateRaw(), () => undefined) as Readable);
  let wellFormed = true;
  try {
    // To its end in any case: the next file begins behind it.
    for await (const part of content as AsyncIterable<Buffer>) {
      unpacked.add(part.length);
      wellFormed &&= succeeds(() => check.write(part));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_')) return undefined;
    throw error;
  }
  return wellFormed && succeeds(() => check.end()) ? fingerprint.digest() : undefined;
}

function succeeds(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}

/** What the XML of one ZIP unpacks to. */
class Unpacked {
  readonly #most: number;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Before anything is unpacked, what the directory says. Errors: as `add`. */
  expect(entries: readonly ZipEntry[]): void {
    this.#check(entries.reduce((sum, { size }) => sum + size, 0));
  }

  /** The directory may be wrong. Errors: `LIMIT` when it is more than any configuration. */
  add(bytes: number): void {
    this.#check((this.#bytes += bytes));
  }

  #check(bytes: number): void {
    if (bytes <= this.#most) return;
    const limit = sentence`${Math.round(this.#most / MIB)} MiB of XML, more than any configuration has`;
    throw new GatewayError('LIMIT', sentence`The ZIP of the binary configuration unpacks to more than ${limit}. Nothing of it was kept.`, {
      sent: true,
    });
  }
}

/** The bytes behind base64 text, read forwards only. */
class DecodedBytes {
  readonly #source: AsyncIterator<Buffer>;
  readonly #decoder = new Base64Decoder();
  #part: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(text: Readable) {
    this.#source = (text as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  async skipTo(offset: number): Promise<void> {
    while (this.#at < offset && (await this.#more())) this.#drop(Math.min(offset - this.#at, this.#part.length));
  }

  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.span(count)) parts.push(Buffer.from(part));
    return Buffer.concat(parts, count);
  }

  async *span(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0 && (await this.#more());) {
      const part = this.#part.subarray(0, Math.min(left, this.#part.length));
      left -= part.length;
      this.#drop(part.length);
      yield part;
    }
  }

  #drop(count: number): void {
    this.#at += count;
    this.#part = this.#part.subarray(count);
  }

  async #more(): Promise<boolean> {
    while (this.#part.length === 0) {
      const next = await this.#source.next();
      if (next.done) return false;
      this.#part = this.#decoder.write(next.value);
    }
    return true;
  }
}
