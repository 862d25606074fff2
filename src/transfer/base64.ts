import { MalformedContentError } from './malformed-content-error';
import { startsLikeZip, readZipDirectory, type ZipEntry } from './zip';

const SPACE = 1;
const PADDING = 2;
const FOREIGN = 4;

/** Class of each byte; 0 for the 64 characters of base64. */
const BYTE_KIND = new Uint8Array(256).fill(FOREIGN);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/') BYTE_KIND[char.charCodeAt(0)] = 0;
for (const char of ' \t\r\n') BYTE_KIND[char.charCodeAt(0)] = SPACE;
BYTE_KIND['='.charCodeAt(0)] = PADDING;

/** Class of each byte pair, in either order. Four lookups per eight bytes check 3 to 5 GB/s; lookups per byte reach 1 GB/s. */
const PAIR_KIND = new Uint8Array(65536);
PAIR_KIND.forEach((_, pair) => (PAIR_KIND[pair] = (BYTE_KIND[pair & 0xff] as number) | (BYTE_KIND[pair >> 8] as number)));

/** Length of the text that covers the directory of any ZIP without ZIP64 and with names of usual length. */
const TAIL_BYTES = 8 * 1024 * 1024;
/** This much covers the directory of most ZIP files. */
const SHORT_TAIL_BYTES = 128 * 1024;
/** Minimum for content that is not a ZIP; encrypted content has a longer header. */
const MIN_CHARACTERS = 24;
const HEAD_CHARACTERS = 8;

interface TailPiece {
  readonly memory: Buffer;
  readonly bytes: number;
  /** Bytes of text and base64 characters before this piece. */
  readonly offset: number;
  readonly charactersBefore: number;
}

/**
 * Checks that streamed text is base64 and that an encoded ZIP has a complete directory (appliance-api.md, "Binary-configuration rules";
 * field-notes.md, "Binary configuration"). `write` and `end` throw `MalformedContentError`.
 */
export class Base64Check {
  readonly #zipOnly: boolean;
  #characters = 0;
  #padding = 0;
  #bytes = 0;
  /** Blanks between characters, as in a sentence, and not around lines. */
  #hasWordSpaces = false;
  #head = '';
  #tail: TailPiece[] = [];

  write(batch: Buffer): void {
    const charactersBefore = this.#characters;
    if (this.#head.length < HEAD_CHARACTERS) this.#readHead(batch);
    this.#count(batch);
    this.#appendToTail(batch, charactersBefore);
    this.#bytes += batch.length;
  }

  /** `zipOnly` refuses content that is not a ZIP. */
  constructor(zipOnly = false) {
    this.#zipOnly = zipOnly;
  }

  /** Returns `zip` with the directory, or `base64`. */
  end(): { verified: 'zip' | 'base64'; entries: ZipEntry[] | undefined } {
    const total = this.#characters + this.#padding;
    if (total === 0) throw new MalformedContentError('it is empty');
    if (total % 4 !== 0) throw new MalformedContentError('it ends early: it is not a whole number of base64 groups');
    if (!startsLikeZip(Buffer.from(this.#head, 'base64'))) {
      // A word such as "Busy" is valid base64.
      if (this.#zipOnly) throw new MalformedContentError('it is not a ZIP, which a configuration without a password must be');
      if (this.#hasWordSpaces) throw new MalformedContentError('it is words, not base64');
      if (total < MIN_CHARACTERS) throw new MalformedContentError('it is too short for one');
      return { verified: 'base64', entries: undefined };
    }
    const entries = this.#directory((total / 4) * 3 - this.#padding);
    return { verified: entries ? 'zip' : 'base64', entries };
  }

  #readHead(batch: Buffer): void {
    const text = batch.toString('latin1', 0, 512).trimStart();
    if (this.#head === '' && text.startsWith('<')) throw new MalformedContentError('it is a page of HTML or XML, not base64');
    this.#head += text.replace(/\s/g, '');
  }

  /** Copies the batch, because its memory is reused, into memory that the tail no longer needs. */
  #appendToTail(batch: Buffer, charactersBefore: number): void {
    let memory: Buffer | undefined;
    // The second piece already reaches back far enough.
    while (this.#tail[1] && this.#bytes - this.#tail[1].offset >= TAIL_BYTES) memory = this.#tail.shift()?.memory;
    if (!memory || memory.length < batch.length) memory = Buffer.allocUnsafeSlow(batch.length);
    batch.copy(memory);
    this.#tail.push({ memory, bytes: batch.length, offset: this.#bytes, charactersBefore });
  }

  #directory(total: number): ZipEntry[] | undefined {
    try {
      return readZipDirectory(this.#decodedTail(SHORT_TAIL_BYTES), total) ?? readZipDirectory(this.#decodedTail(TAIL_BYTES), total);
    } catch (error) {
      throw new MalformedContentError(
        `it is a ZIP that is cut short or damaged: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  /** Decodes at least this much text from the end, if available. */
  #decodedTail(bytes: number): Buffer {
    const pieces = this.#tail.filter(({ offset, bytes: used }) => offset + used > this.#bytes - bytes);
    const text = pieces.map(({ memory, bytes: used }) => memory.toString('latin1', 0, used).replace(/\s/g, '')).join('');
    // Decoding must start at a group of four characters.
    const skip = (4 - ((pieces[0]?.charactersBefore ?? 0) % 4)) % 4;
    return Buffer.from(text.slice(skip), 'base64');
  }

  #count(batch: Buffer): void {
    // A typed array must be aligned; the last pieces of other sources may not be.
    const length = batch.byteOffset % 4 === 0 ? (batch.length >> 3) * 2 : 0;
    const words = length > 0 ? new Int32Array(batch.buffer, batch.byteOffset, length) : [];
    const pairs = PAIR_KIND;
    let plain = 0;
    for (let index = 0; index < length; index += 2) {
      const one = words[index] as number;
      const two = words[index + 1] as number;
      let kinds = pairs[one & 0xffff] as number;
      kinds |= pairs[one >>> 16] as number;
      kinds |= pairs[two & 0xffff] as number;
      kinds |= pairs[two >>> 16] as number;
      if (kinds === 0 && this.#padding === 0) plain += 8;
      else this.#countSlowly(batch, index * 4, index * 4 + 8);
    }
    this.#characters += plain;
    this.#countSlowly(batch, length * 4, batch.length);
  }

  #countSlowly(batch: Buffer, from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const kind = BYTE_KIND[batch[at] as number];
      if (kind === 0 && this.#padding === 0) this.#characters++;
      else if (kind === PADDING && this.#padding < 2) this.#padding++;
      else if (kind === SPACE) this.#hasWordSpaces ||= separatesWords(batch, at);
      else throw new MalformedContentError(`it is not base64: ${describeByte(batch[at] as number)} at byte ${this.#bytes + at}`);
    }
  }
}

function separatesWords(batch: Buffer, at: number): boolean {
  return (batch[at] === 0x20 || batch[at] === 0x09) && BYTE_KIND[batch[at - 1] ?? 0] === 0 && BYTE_KIND[batch[at + 1] ?? 0] === 0;
}

function describeByte(byte: number): string {
  return byte >= 0x21 && byte < 0x7f ? JSON.stringify(String.fromCharCode(byte)) : `0x${byte.toString(16).padStart(2, '0')}`;
}

/** Decodes base64 that arrives in pieces. The content must have passed `Base64Check`. */
export class Base64Decoder {
  #rest = '';

  /** Returns the bytes of all complete groups. */
  write(piece: Buffer): Buffer {
    const text = this.#rest + piece.toString('latin1').replace(/\s+/g, '');
    const completeLength = text.length - (text.length % 4);
    this.#rest = text.slice(completeLength);
    return Buffer.from(text.slice(0, completeLength), 'base64');
  }
}
