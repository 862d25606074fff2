import { isUtf8 } from 'node:buffer';
import { MalformedContentError } from './malformed-content-error';
import { isValidCharacterReference, isDeclaredUtf8, readDoctype } from './xml-prolog';
import {
  AMPERSAND_CLASS,
  CLOSING_BRACKET_CLASS,
  BYTE_CLASSES,
  countBytesOfCompleteCharacters,
  findEndOfName,
  AttributeNames,
  ILLEGAL_BYTE_CLASS,
  LESS_THAN_CLASS,
  NAME_BYTE_CLASSES,
  WHITESPACE_CLASS,
  type ByteRange,
  type XmlEvents,
} from './xml-bytes';
import { CarryBuffer, ElementStack } from './xml-buffers';

/** Maximum length of a tag, comment or instruction. No valid configuration has a longer one. */
const MAX_MARKUP_BYTES = 1024 * 1024;
const INCOMPLETE = -1;
const ENTITY = /^&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});$/;
const ANY_ENTITY = /^&[^\s&;<]+;$/;
const MAX_ENTITY_BYTES = 64;
const NO_RANGES: ByteRange[] = [];

/**
 * Checks that the bytes are one well-formed XML 1.0 document whose root is `configuration` in any namespace (field-notes.md, "XML
 * configuration"). It scans bytes and keeps only the names of open elements, which is faster than parsers that build strings
 * (bench/transfer.md). `write` and `end` throw `MalformedContentError`.
 */
export class XmlCheck {
  readonly #events: XmlEvents | undefined;
  readonly #rootName: string | null;
  readonly #carry = new CarryBuffer();
  /** Incomplete markup is scanned again only after its length has doubled, which keeps the total time linear. */
  #minRetryBytes = 0;
  /** Offset of the current chunk in the document, for error messages. */
  #bytesBefore = 0;
  #mode: 'text' | 'cdata' | 'comment' = 'text';
  readonly #elements = new ElementStack();
  #hasRoot = false;
  /** Offset of the document after a byte order mark. */
  #start = -1;
  #isUtf8 = true;
  #entity = ENTITY;

  /** `root` is null to accept any root element. */
  constructor(events?: XmlEvents, root: string | null = 'configuration') {
    this.#events = events;
    this.#rootName = root;
  }

  write(piece: Buffer): void {
    const chunk = this.#carry.length > 0 ? this.#carry.concat(piece) : piece;
    if (chunk.length < this.#minRetryBytes) this.#carry.length = chunk.length;
    else this.#scan(chunk);
  }

  #scan(chunk: Buffer): void {
    const completeLength = this.#isUtf8 ? countBytesOfCompleteCharacters(chunk) : chunk.length;
    let at = 0;
    while (at < completeLength) {
      const next = this.#step(chunk, at, completeLength);
      if (next === INCOMPLETE) break;
      at = next;
    }
    if (this.#isUtf8 && !isUtf8(chunk.subarray(0, completeLength))) throw new MalformedContentError('it holds bytes that are not UTF-8');
    const rest = chunk.length - at;
    if (rest > MAX_MARKUP_BYTES) throw this.#malformed(at, 'a tag that does not end');
    this.#bytesBefore += at;
    this.#carry.store(chunk, at);
    this.#minRetryBytes = rest === 0 ? 0 : Math.min(2 * rest, MAX_MARKUP_BYTES + 1);
  }

  end(): void {
    if (this.#carry.length > 0) this.#scan(this.#carry.bytes);
    if (!this.#hasRoot && this.#bytesBefore === 0) throw new MalformedContentError('it is empty or not XML');
    if (this.#carry.length > 0 || this.#mode !== 'text' || this.#elements.depth > 0 || !this.#hasRoot)
      throw new MalformedContentError('it ends early');
  }

  #step(buffer: Buffer, at: number, end: number): number {
    if (this.#mode === 'cdata') return this.#readCdata(buffer, at, end);
    if (this.#mode === 'comment') return this.#readComment(buffer, at, end);
    if (this.#start < 0) return this.#readStart(buffer, at);
    if (buffer[at] !== 0x3c) return this.#readText(buffer, at, end);
    if (at + 1 >= end) return INCOMPLETE;
    const sign = buffer[at + 1];
    if (sign === 0x2f) return this.#readEndTag(buffer, at, end);
    if (sign === 0x21) return this.#readDeclaration(buffer, at, end);
    if (sign === 0x3f) return this.#readInstruction(buffer, at, end);
    return this.#readStartTag(buffer, at, end);
  }

  /** Skips a UTF-8 byte order mark. */
  #readStart(buffer: Buffer, at: number): number {
    if (buffer[at] === 0xff || buffer[at] === 0xfe || buffer[at] === 0) throw new MalformedContentError('it is not UTF-8');
    this.#start = buffer[at] === 0xef && buffer[at + 1] === 0xbb && buffer[at + 2] === 0xbf ? 3 : 0;
    return this.#start;
  }

  #readText(buffer: Buffer, from: number, end: number): number {
    const kinds = BYTE_CLASSES;
    const inside = this.#elements.depth > 0;
    let at = from;
    while (at < end) {
      const kind = kinds[buffer[at] as number] as number;
      if (kind === LESS_THAN_CLASS) break;
      if (kind === ILLEGAL_BYTE_CLASS) throw this.#malformed(at, 'a control character');
      if (kind !== WHITESPACE_CLASS && !inside) throw this.#malformed(at, 'text outside of the root element');
      if (kind === AMPERSAND_CLASS) {
        const next = this.#readReference(buffer, at, end);
        if (next === INCOMPLETE) return this.#emitText(buffer, from, at);
        at = next;
      } else if (kind === CLOSING_BRACKET_CLASS) {
        if (at + 2 >= end) return this.#emitText(buffer, from, at);
        if (buffer[at + 1] === 0x5d && buffer[at + 2] === 0x3e) throw this.#malformed(at, ']]> in a text');
        at++;
      } else {
        at++;
        if (inside) while (at < end && (kinds[buffer[at] as number] as number) <= WHITESPACE_CLASS) at++;
      }
    }
    return this.#emitText(buffer, from, at);
  }

  #emitText(buffer: Buffer, from: number, to: number): number {
    if (to === from) return INCOMPLETE;
    this.#events?.text(buffer, from, to);
    return to;
  }

  /** Returns the position after `&name;`. */
  #readReference(buffer: Buffer, at: number, end: number): number {
    const limit = Math.min(end, at + MAX_ENTITY_BYTES);
    let to = at + 1;
    while (to < limit && buffer[to] !== 0x3b && buffer[to] !== 0x3c) to++;
    if (to === end && to < at + MAX_ENTITY_BYTES) return INCOMPLETE;
    const reference = buffer.toString('latin1', at, to + 1);
    if (!this.#entity.test(reference) || !isValidCharacterReference(reference))
      throw this.#malformed(at, 'an & that starts no known entity');
    return to + 1;
  }

  #readStartTag(buffer: Buffer, start: number, end: number): number {
    let at = findEndOfName(buffer, start + 1, end);
    if (at === end) return INCOMPLETE;
    if (at === start + 1) throw this.#malformed(start, 'a < that starts no tag');
    const nameEnd = at;
    if (buffer[at] === 0x3e) {
      this.#openElement(buffer, start + 1, at, NO_RANGES, NO_RANGES);
      return at + 1;
    }
    const attributeNames = new AttributeNames();
    const values: ByteRange[] = [];
    for (;;) {
      const space = at;
      while (at < end && BYTE_CLASSES[buffer[at] as number] === WHITESPACE_CLASS) at++;
      if (at >= end) return INCOMPLETE;
      const sign = buffer[at];
      if (sign === 0x3e || sign === 0x2f) break;
      if (at === space) throw this.#malformed(at, 'a malformed tag');
      const value = this.#readAttribute(buffer, at, end, attributeNames);
      if (!value) return INCOMPLETE;
      values.push(value);
      at = value[1] + 1;
    }
    const empty = buffer[at] === 0x2f;
    if (empty && at + 1 >= end) return INCOMPLETE;
    if (empty && buffer[at + 1] !== 0x3e) throw this.#malformed(at, 'a malformed tag');
    this.#openElement(buffer, start + 1, nameEnd, attributeNames.ranges, values);
    if (empty) this.#closeElement();
    return at + (empty ? 2 : 1);
  }

  /** Reads one attribute, returns the range of its value and records its name. Returns undefined when it is incomplete. */
  #readAttribute(buffer: Buffer, start: number, end: number, attributeNames: AttributeNames): ByteRange | undefined {
    let at = findEndOfName(buffer, start, end);
    if (at === end) return undefined;
    if (at === start) throw this.#malformed(at, 'a malformed attribute');
    const name: ByteRange = [start, at];
    if (attributeNames.has(buffer, name)) throw this.#malformed(at, 'a duplicate attribute');
    while (at < end && BYTE_CLASSES[buffer[at] as number] === WHITESPACE_CLASS) at++;
    if (at < end && buffer[at] !== 0x3d) throw this.#malformed(at, 'an attribute without a value');
    at++;
    while (at < end && BYTE_CLASSES[buffer[at] as number] === WHITESPACE_CLASS) at++;
    if (at >= end) return undefined;
    const quote = buffer[at];
    if (quote !== 0x22 && quote !== 0x27) throw this.#malformed(at, 'an attribute without quotes');
    const from = ++at;
    while (at < end && buffer[at] !== quote) {
      const kind = BYTE_CLASSES[buffer[at] as number];
      if (kind === LESS_THAN_CLASS || kind === ILLEGAL_BYTE_CLASS)
        throw this.#malformed(at, 'a character that is not allowed in an attribute');
      if (kind === AMPERSAND_CLASS) {
        const next = this.#readReference(buffer, at, end);
        if (next === INCOMPLETE) return undefined;
        at = next;
      } else at++;
    }
    if (at >= end) return undefined;
    attributeNames.add(buffer, name);
    return [from, at];
  }

  #openElement(buffer: Buffer, start: number, end: number, names: ByteRange[], values: ByteRange[]): void {
    if (this.#elements.depth === 0) this.#checkRoot(buffer.toString('utf8', start, end), start);
    this.#elements.push(buffer, start, end);
    if (!this.#events) return;
    this.#events.open(buffer, start, end);
    names.forEach((name, index) => this.#events?.attribute(buffer, name, values[index] as ByteRange));
  }

  #checkRoot(name: string, at: number): void {
    if (this.#hasRoot) throw this.#malformed(at, 'a second root element');
    this.#hasRoot = true;
    const local = name.slice(name.indexOf(':') + 1);
    if (local.toLowerCase() === 'html') throw new MalformedContentError('it is a page of HTML');
    const expectedRoot = this.#rootName;
    if (expectedRoot !== null && local !== expectedRoot)
      throw new MalformedContentError(`its root element is ${local.slice(0, 60)}, not ${expectedRoot}`);
  }

  #readEndTag(buffer: Buffer, start: number, end: number): number {
    let at = start + 2 + this.#elements.topLength;
    if (at >= end) return INCOMPLETE;
    if (!this.#elements.isTopAt(buffer, start + 2)) throw this.#malformed(start, 'an end tag that closes another element');
    while (at < end && BYTE_CLASSES[buffer[at] as number] === WHITESPACE_CLASS) at++;
    if (at >= end) return INCOMPLETE;
    if (buffer[at] !== 0x3e || this.#elements.depth === 0) throw this.#malformed(start, 'an end tag that closes another element');
    this.#closeElement();
    return at + 1;
  }

  #closeElement(): void {
    this.#elements.pop();
    this.#events?.close();
  }

  #readDeclaration(buffer: Buffer, start: number, end: number): number {
    const words = buffer.toString('latin1', start, Math.min(end, start + 9));
    if (words.startsWith('<!--')) {
      this.#mode = 'comment';
      return start + 4;
    }
    if (words === '<![CDATA[' && this.#elements.depth > 0) {
      this.#mode = 'cdata';
      return start + 9;
    }
    if (words.toUpperCase() === '<!DOCTYPE' && !this.#hasRoot) return this.#readDoctype(buffer, start, end);
    if (words.length < 9 && ['<!--', '<![CDATA[', '<!DOCTYPE'].some((known) => known.startsWith(words.toUpperCase()))) return INCOMPLETE;
    throw this.#malformed(start, 'a misplaced declaration');
  }

  /** Skips a declaration. Its internal subset may define entities. */
  #readDoctype(buffer: Buffer, start: number, end: number): number {
    const doctype = readDoctype(buffer, start, end);
    if (!doctype) return INCOMPLETE;
    if (doctype.mayDeclareEntities) this.#entity = ANY_ENTITY;
    return start + doctype.length;
  }

  #readInstruction(buffer: Buffer, start: number, end: number): number {
    const close = buffer.indexOf('?>', start + 2, 'latin1');
    if (close < 0 || close + 2 > end) return INCOMPLETE;
    this.#checkLegal(buffer, start, close);
    const text = buffer.toString('latin1', start + 2, close);
    if (/^xml(?:\s|$)/i.test(text)) {
      if (this.#bytesBefore + start !== this.#start) throw this.#malformed(start, 'an XML declaration that is not at the beginning');
      this.#isUtf8 = isDeclaredUtf8(text);
    } else if (NAME_BYTE_CLASSES[buffer[start + 2] as number] !== 2) throw this.#malformed(start, 'a malformed instruction');
    return close + 2;
  }

  #readComment(buffer: Buffer, at: number, end: number): number {
    const dashes = buffer.indexOf('--', at, 'latin1');
    if (dashes < 0 || dashes + 2 >= end) return this.#readUpTo(buffer, at, dashes < 0 ? end - 1 : dashes);
    if (buffer[dashes + 2] !== 0x3e) throw this.#malformed(dashes, '-- in a comment');
    this.#checkLegal(buffer, at, dashes);
    this.#mode = 'text';
    return dashes + 3;
  }

  #readCdata(buffer: Buffer, at: number, end: number): number {
    const close = buffer.indexOf(']]>', at, 'latin1');
    if (close < 0 || close + 3 > end) return this.#readUpTo(buffer, at, end - 2);
    this.#checkLegal(buffer, at, close);
    if (close > at) this.#events?.text(buffer, at, close);
    this.#mode = 'text';
    return close + 3;
  }

  /** Consumes bytes that certainly belong to the comment or CDATA section; the last bytes may start its end. */
  #readUpTo(buffer: Buffer, at: number, to: number): number {
    if (to <= at) return INCOMPLETE;
    this.#checkLegal(buffer, at, to);
    if (this.#mode === 'cdata') this.#events?.text(buffer, at, to);
    return to;
  }

  #checkLegal(buffer: Buffer, from: number, to: number): void {
    for (let at = from; at < to; at++)
      if (BYTE_CLASSES[buffer[at] as number] === ILLEGAL_BYTE_CLASS) throw this.#malformed(at, 'a control character');
  }

  #malformed(at: number, what: string): MalformedContentError {
    return new MalformedContentError(`it is not well-formed XML: ${what} (byte ${this.#bytesBefore + at})`);
  }
}
