import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { Base64Decoder } from '../transfer/base64';
import { MalformedContentError } from '../transfer/malformed-content-error';
import { XmlCheck } from '../transfer/xml';
import { isReadableEntry, ZIP_LOCAL_HEADER_BYTES, type ZipEntry } from '../transfer/zip';
import { XmlFingerprint } from './xml-fingerprint';

const STORED = 0;
const DEFLATED = 8;
const MIB = 1024 * 1024;
/** Maximum size after unpacking. A configuration has tens of megabytes, but a few kilobytes of ZIP can unpack to terabytes. */
const MAX_UNPACKED_BYTES = 512 * MIB;

/**
 * Computes a fingerprint of a binary configuration. For a ZIP, it covers file names, checksums and the fingerprints of XML files. For other
 * content, it covers all bytes. Throws `LIMIT` if the XML unpacks to more than `maxBytes`.
 */
export async function computeBinaryFingerprint(
  base64: Readable,
  entries: readonly ZipEntry[] | undefined,
  ignored: readonly string[],
  maxBytes = MAX_UNPACKED_BYTES,
): Promise<string> {
  const bytes = new DecodedBytes(base64);
  if (!entries) {
    const hash = createHash('sha256');
    for await (const part of bytes.readChunks(Infinity)) hash.update(part);
    return hash.digest('hex');
  }
  const lines: string[] = [];
  const unpackedLimit = new UnpackedLimit(maxBytes);
  unpackedLimit.checkDirectory(entries.filter((entry) => isXml(entry) && !ignored.includes(entry.name)));
  for (const entry of [...entries].sort((a, b) => a.offset - b.offset)) {
    if (ignored.includes(entry.name)) continue;
    const xml = isXml(entry) ? await computeXmlFingerprint(entry, bytes, ignored, unpackedLimit) : undefined;
    lines.push(`${entry.name}\u0000${xml ?? `${entry.crc}:${entry.size}`}`);
  }
  base64.destroy();
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex');
}

function isXml(entry: ZipEntry): boolean {
  return entry.name.toLowerCase().endsWith('.xml') && isReadableEntry(entry) && (entry.method === STORED || entry.method === DEFLATED);
}

/** Computes the fingerprint of XML content; undefined for other content. */
async function computeXmlFingerprint(
  entry: ZipEntry,
  bytes: DecodedBytes,
  ignored: readonly string[],
  unpackedLimit: UnpackedLimit,
): Promise<string | undefined> {
  await bytes.skipTo(entry.offset);
  const header = await bytes.read(ZIP_LOCAL_HEADER_BYTES);
  await bytes.skipTo(entry.offset + ZIP_LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28));
  const fingerprint = new XmlFingerprint(ignored);
  const check = new XmlCheck(fingerprint, null);
  const packed = Readable.from(bytes.readChunks(entry.packed));
  const content = entry.method === STORED ? packed : (pipeline(packed, createInflateRaw(), () => undefined) as Readable);
  let wellFormed = true;
  try {
    // Reads to the end, because the next file starts behind it.
    for await (const part of content as AsyncIterable<Buffer>) {
      unpackedLimit.add(part.length);
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
    if (error instanceof MalformedContentError) return false;
    throw error;
  }
}

/** Creates a limit for the size of the unpacked XML. */
class UnpackedLimit {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Checks the sizes in the ZIP directory before anything is unpacked. Throws like `add`. */
  checkDirectory(entries: readonly ZipEntry[]): void {
    this.#check(entries.reduce((sum, { size }) => sum + size, 0));
  }

  /** Counts unpacked bytes, because the sizes in the ZIP directory may be wrong. Throws `LIMIT` above the maximum. */
  add(bytes: number): void {
    this.#check((this.#bytes += bytes));
  }

  #check(bytes: number): void {
    if (bytes <= this.#maxBytes) return;
    const limit = safeMessage`${Math.round(this.#maxBytes / MIB)} MiB of XML, which no configuration has`;
    throw new GatewayError(
      'LIMIT',
      safeMessage`The ZIP of the binary configuration unpacks to more than ${limit}. The backup was discarded.`,
      {
        sent: true,
      },
    );
  }
}

/** Decodes base64 text and reads it forward only. */
class DecodedBytes {
  readonly #source: AsyncIterator<Buffer>;
  readonly #decoder = new Base64Decoder();
  #chunk: Buffer = Buffer.alloc(0);
  #offset = 0;

  constructor(base64: Readable) {
    this.#source = (base64 as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  async skipTo(offset: number): Promise<void> {
    while (this.#offset < offset && (await this.#fill())) this.#consume(Math.min(offset - this.#offset, this.#chunk.length));
  }

  async read(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.readChunks(count)) parts.push(Buffer.from(part));
    return Buffer.concat(parts, count);
  }

  async *readChunks(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0 && (await this.#fill());) {
      const part = this.#chunk.subarray(0, Math.min(left, this.#chunk.length));
      left -= part.length;
      this.#consume(part.length);
      yield part;
    }
  }

  #consume(count: number): void {
    this.#offset += count;
    this.#chunk = this.#chunk.subarray(count);
  }

  async #fill(): Promise<boolean> {
    while (this.#chunk.length === 0) {
      const next = await this.#source.next();
      if (next.done) return false;
      this.#chunk = this.#decoder.write(next.value);
    }
    return true;
  }
}
