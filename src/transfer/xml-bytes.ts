/** From the first byte to behind the last. */
export type Range = [start: number, end: number];

/** What a reader of the document is told. Ranges are bytes of `buffer`, valid during the call only; texts come in pieces. */
export interface XmlEvents {
  open(buffer: Buffer, start: number, end: number): void;
  attribute(buffer: Buffer, name: Range, value: Range): void;
  text(buffer: Buffer, start: number, end: number): void;
  close(): void;
}

/** What a byte of UTF-8 means to the scanner of `xml.ts`. Bytes from 0x80 on are parts of characters that may stand anywhere. */
export const SPACE = 1;
export const LESS = 2;
export const AMPERSAND = 3;
export const BRACKET = 4;
export const ILLEGAL = 5;

/** Control characters may not occur in XML 1.0, but for tab, line feed and carriage return. */
export const CLASS = new Uint8Array(256);
CLASS.fill(ILLEGAL, 0, 0x20);
for (const space of ' \t\n\r') CLASS[space.charCodeAt(0)] = SPACE;
CLASS[0x3c] = LESS;
CLASS[0x26] = AMPERSAND;
CLASS[0x5d] = BRACKET;

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:';

/** 1: may continue a name, 2: may begin one too. */
export const NAME = new Uint8Array(256);
NAME.fill(2, 0x80);
for (const letter of LETTERS) NAME[letter.charCodeAt(0)] = 2;
for (const sign of '0123456789-.') NAME[sign.charCodeAt(0)] = 1;

/** How many bytes hold whole characters: a character may be cut between two chunks. */
export function completeCharacters(chunk: Buffer): number {
  const { length } = chunk;
  for (let back = 1; back <= 3; back++) {
    const byte = chunk[length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? length - back : length;
  }
  return length;
}

/** The position behind the name that begins at `start`; `start` itself where none begins. */
export function endOfName(buffer: Buffer, start: number, end: number): number {
  if (start >= end || NAME[buffer[start] as number] !== 2) return start;
  let at = start + 1;
  while (at < end && (NAME[buffer[at] as number] as number) > 0) at++;
  return at;
}

/** So many are compared one by one, which is faster than a set of texts. */
const FEW = 12;

/** The names of the attributes of one tag, of which no two are the same. */
export class Names {
  readonly ranges: Range[] = [];
  #texts: Set<string> | undefined;

  has(buffer: Buffer, name: Range): boolean {
    if (this.#texts) return this.#texts.has(buffer.toString('latin1', ...name));
    return this.ranges.some((other) => same(buffer, name, other));
  }

  add(buffer: Buffer, name: Range): void {
    this.ranges.push(name);
    this.#texts?.add(buffer.toString('latin1', ...name));
    if (this.ranges.length === FEW) this.#texts = new Set(this.ranges.map((range) => buffer.toString('latin1', ...range)));
  }
}

/** Whether two ranges hold the same. */
function same(buffer: Buffer, [from, to]: Range, [otherFrom, otherTo]: Range): boolean {
  return to - from === otherTo - otherFrom && buffer.compare(buffer, otherFrom, otherTo, from, to) === 0;
}
