/** Half-open range of bytes. */
export type ByteRange = [start: number, end: number];

/** Receives the contents of a document. Ranges refer to `buffer` and are valid only during the call. Texts arrive in pieces. */
export interface XmlEvents {
  open(buffer: Buffer, start: number, end: number): void;
  attribute(buffer: Buffer, name: ByteRange, value: ByteRange): void;
  text(buffer: Buffer, start: number, end: number): void;
  close(): void;
}

/** Byte classes for the scanner in `xml.ts`. Bytes from 0x80 on belong to characters that are allowed everywhere. */
export const WHITESPACE_CLASS = 1;
export const LESS_THAN_CLASS = 2;
export const AMPERSAND_CLASS = 3;
export const CLOSING_BRACKET_CLASS = 4;
export const ILLEGAL_BYTE_CLASS = 5;

/** XML 1.0 forbids control characters except tab, line feed and carriage return. */
export const BYTE_CLASSES = new Uint8Array(256);
BYTE_CLASSES.fill(ILLEGAL_BYTE_CLASS, 0, 0x20);
for (const space of ' \t\n\r') BYTE_CLASSES[space.charCodeAt(0)] = WHITESPACE_CLASS;
BYTE_CLASSES[0x3c] = LESS_THAN_CLASS;
BYTE_CLASSES[0x26] = AMPERSAND_CLASS;
BYTE_CLASSES[0x5d] = CLOSING_BRACKET_CLASS;

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:';

/** 1 may continue a name; 2 may also start one. */
export const NAME_BYTE_CLASSES = new Uint8Array(256);
NAME_BYTE_CLASSES.fill(2, 0x80);
for (const letter of LETTERS) NAME_BYTE_CLASSES[letter.charCodeAt(0)] = 2;
for (const sign of '0123456789-.') NAME_BYTE_CLASSES[sign.charCodeAt(0)] = 1;

/** Returns how many bytes hold complete characters; a chunk may end inside a character. */
export function countBytesOfCompleteCharacters(chunk: Buffer): number {
  const { length } = chunk;
  for (let back = 1; back <= 3; back++) {
    const byte = chunk[length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? length - back : length;
  }
  return length;
}

/** Returns the end of the name at `start`, or `start` when no name begins there. */
export function findEndOfName(buffer: Buffer, start: number, end: number): number {
  if (start >= end || NAME_BYTE_CLASSES[buffer[start] as number] !== 2) return start;
  let at = start + 1;
  while (at < end && (NAME_BYTE_CLASSES[buffer[at] as number] as number) > 0) at++;
  return at;
}

/** Number of names up to which a linear search is faster than a set. */
const MAX_LINEAR_SEARCH = 12;

/** The attribute names of one tag, without duplicates. */
export class AttributeNames {
  readonly ranges: ByteRange[] = [];
  #texts: Set<string> | undefined;

  has(buffer: Buffer, name: ByteRange): boolean {
    if (this.#texts) return this.#texts.has(buffer.toString('latin1', ...name));
    return this.ranges.some((other) => isSameRange(buffer, name, other));
  }

  add(buffer: Buffer, name: ByteRange): void {
    this.ranges.push(name);
    this.#texts?.add(buffer.toString('latin1', ...name));
    if (this.ranges.length === MAX_LINEAR_SEARCH) this.#texts = new Set(this.ranges.map((range) => buffer.toString('latin1', ...range)));
  }
}

/** True when both ranges hold the same bytes. */
function isSameRange(buffer: Buffer, [from, to]: ByteRange, [otherFrom, otherTo]: ByteRange): boolean {
  return to - from === otherTo - otherFrom && buffer.compare(buffer, otherFrom, otherTo, from, to) === 0;
}
