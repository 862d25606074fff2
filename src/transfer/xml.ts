import { isUtf8 } from 'node:buffer';
import { Malformed } from './malformed';
import { isCharacter, isDeclaredUtf8, readDoctype } from './xml-prolog';
import {
  AMPERSAND,
  BRACKET,
  CLASS,
  completeCharacters,
  endOfName,
  Names,
  ILLEGAL,
  LESS,
  NAME,
  SPACE,
  type Range,
  type XmlEvents,
} from './xml-bytes';
import { Carried, OpenNames } from './xml-memory';

/** A single tag, comment or instruction is never longer; one that is comes from something that is not XML. */
const LONGEST_MARKUP = 1024 * 1024;
const INCOMPLETE = -1;
const ENTITY = /^&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});$/;
const ANY_ENTITY = /^&[^\s&;<]+;$/;
const LONGEST_ENTITY = 64;
const NONE: Range[] = [];

/**
 * Checks that what is written to it is one well-formed XML document (XML 1.0, without validation) whose root is `configuration`, in
 * any namespace or none (field-notes.md, "XML configuration"). It works on bytes as they come and keeps nothing but the names of the
 * open elements, which makes it faster than every parser that builds strings; bench/transfer.md has the figures.
 * `write` and `end` throw `Malformed`.
 */
export class XmlCheck {
  readonly #events: XmlEvents | undefined;
  readonly #rootName: string | null;
  readonly #carried = new Carried();
  /** So many bytes are worth another look at what was not whole: twice as many, or small pieces of a long tag cost the square of it. */
  #worth = 0;
  /** Bytes before the present chunk, for the position in messages. */
  #before = 0;
  #mode: 'text' | 'cdata' | 'comment' = 'text';
  readonly #open = new OpenNames();
  #rootSeen = false;
  /** Where the document begins, behind a byte order mark. */
  #start = -1;
  #utf8 = true;
  #entity = ENTITY;

  /** `root` null: any root will do. */
  constructor(events?: XmlEvents, root: string | null = 'configuration') {
    this.#events = events;
    this.#rootName = root;
  }

  write(piece: Buffer): void {
    const chunk = this.#carried.length > 0 ? this.#carried.joined(piece) : piece;
    if (chunk.length < this.#worth) this.#carried.length = chunk.length;
    else this.#read(chunk);
  }

  #read(chunk: Buffer): void {
    const whole = this.#utf8 ? completeCharacters(chunk) : chunk.length;
    let at = 0;
    while (at < whole) {
      const next = this.#step(chunk, at, whole);
      if (next === INCOMPLETE) break;
      at = next;
    }
    if (this.#utf8 && !isUtf8(chunk.subarray(0, whole))) throw new Malformed('it holds bytes that are not UTF-8');
    const rest = chunk.length - at;
    if (rest > LONGEST_MARKUP) throw this.#wrong(at, 'a tag that does not end');
    this.#before += at;
    this.#carried.keep(chunk, at);
    this.#worth = rest === 0 ? 0 : Math.min(2 * rest, LONGEST_MARKUP + 1);
  }

  end(): void {
    if (this.#carried.length > 0) this.#read(this.#carried.all);
    if (!this.#rootSeen && this.#before === 0) throw new Malformed('it is empty or not XML');
    if (this.#carried.length > 0 || this.#mode !== 'text' || this.#open.depth > 0 || !this.#rootSeen) throw new Malformed('it ends early');
  }

  #step(buffer: Buffer, at: number, end: number): number {
    if (this.#mode === 'cdata') return this.#cdata(buffer, at, end);
    if (this.#mode === 'comment') return this.#comment(buffer, at, end);
    if (this.#start < 0) return this.#beginning(buffer, at);
    if (buffer[at] !== 0x3c) return this.#text(buffer, at, end);
    if (at + 1 >= end) return INCOMPLETE;
    const sign = buffer[at + 1];
    if (sign === 0x2f) return this.#closing(buffer, at, end);
    if (sign === 0x21) return this.#declaration(buffer, at, end);
    if (sign === 0x3f) return this.#instruction(buffer, at, end);
    return this.#opening(buffer, at, end);
  }

  /** A byte order mark is allowed, and the XML declaration may say that the rest is not UTF-8. */
  #beginning(buffer: Buffer, at: number): number {
    if (buffer[at] === 0xff || buffer[at] === 0xfe || buffer[at] === 0) throw new Malformed('it is not UTF-8');
    this.#start = buffer[at] === 0xef && buffer[at + 1] === 0xbb && buffer[at + 2] === 0xbf ? 3 : 0;
    return this.#start;
  }

  #text(buffer: Buffer, from: number, end: number): number {
    const kinds = CLASS;
    const inside = this.#open.depth > 0;
    let at = from;
    while (at < end) {
      const kind = kinds[buffer[at] as number] as number;
      if (kind === LESS) break;
      if (kind === ILLEGAL) throw this.#wrong(at, 'a control character');
      if (kind !== SPACE && !inside) throw this.#wrong(at, 'text outside of the root element');
      if (kind === AMPERSAND) {
        const next = this.#reference(buffer, at, end);
        if (next === INCOMPLETE) return this.#pieceOfText(buffer, from, at);
        at = next;
      } else if (kind === BRACKET) {
        if (at + 2 >= end) return this.#pieceOfText(buffer, from, at);
        if (buffer[at + 1] === 0x5d && buffer[at + 2] === 0x3e) throw this.#wrong(at, ']]> in a text');
        at++;
      } else {
        at++;
        if (inside) while (at < end && (kinds[buffer[at] as number] as number) <= SPACE) at++;
      }
    }
    return this.#pieceOfText(buffer, from, at);
  }

  #pieceOfText(buffer: Buffer, from: number, to: number): number {
    if (to === from) return INCOMPLETE;
    this.#events?.text(buffer, from, to);
    return to;
  }

  /** `&name;` at `at`: the position behind it. */
  #reference(buffer: Buffer, at: number, end: number): number {
    const limit = Math.min(end, at + LONGEST_ENTITY);
    let to = at + 1;
    while (to < limit && buffer[to] !== 0x3b && buffer[to] !== 0x3c) to++;
    if (to === end && to < at + LONGEST_ENTITY) return INCOMPLETE;
    const reference = buffer.toString('latin1', at, to + 1);
    if (!this.#entity.test(reference) || !isCharacter(reference)) throw this.#wrong(at, 'an & that begins no known entity');
    return to + 1;
  }

  #opening(buffer: Buffer, start: number, end: number): number {
    let at = endOfName(buffer, start + 1, end);
    if (at === end) return INCOMPLETE;
    if (at === start + 1) throw this.#wrong(start, 'a < that begins no tag');
    const nameEnd = at;
    if (buffer[at] === 0x3e) {
      this.#opened(buffer, start + 1, at, NONE, NONE);
      return at + 1;
    }
    const seen = new Names();
    const values: Range[] = [];
    for (;;) {
      const space = at;
      while (at < end && CLASS[buffer[at] as number] === SPACE) at++;
      if (at >= end) return INCOMPLETE;
      const sign = buffer[at];
      if (sign === 0x3e || sign === 0x2f) break;
      if (at === space) throw this.#wrong(at, 'a malformed tag');
      const value = this.#attribute(buffer, at, end, seen);
      if (!value) return INCOMPLETE;
      values.push(value);
      at = value[1] + 1;
    }
    const empty = buffer[at] === 0x2f;
    if (empty && at + 1 >= end) return INCOMPLETE;
    if (empty && buffer[at + 1] !== 0x3e) throw this.#wrong(at, 'a malformed tag');
    this.#opened(buffer, start + 1, nameEnd, seen.ranges, values);
    if (empty) this.#close();
    return at + (empty ? 2 : 1);
  }

  /** One attribute; gives the range of its value and adds that of its name to `seen`. Undefined: it is not all there yet. */
  #attribute(buffer: Buffer, start: number, end: number, seen: Names): Range | undefined {
    let at = endOfName(buffer, start, end);
    if (at === end) return undefined;
    if (at === start) throw this.#wrong(at, 'a malformed attribute');
    const name: Range = [start, at];
    if (seen.has(buffer, name)) throw this.#wrong(at, 'an attribute that is there twice');
    while (at < end && CLASS[buffer[at] as number] === SPACE) at++;
    if (at < end && buffer[at] !== 0x3d) throw this.#wrong(at, 'an attribute without a value');
    at++;
    while (at < end && CLASS[buffer[at] as number] === SPACE) at++;
    if (at >= end) return undefined;
    const quote = buffer[at];
    if (quote !== 0x22 && quote !== 0x27) throw this.#wrong(at, 'an attribute without quotes');
    const from = ++at;
    while (at < end && buffer[at] !== quote) {
      const kind = CLASS[buffer[at] as number];
      if (kind === LESS || kind === ILLEGAL) throw this.#wrong(at, 'a character that may not stand in an attribute');
      if (kind === AMPERSAND) {
        const next = this.#reference(buffer, at, end);
        if (next === INCOMPLETE) return undefined;
        at = next;
      } else at++;
    }
    if (at >= end) return undefined;
    seen.add(buffer, name);
    return [from, at];
  }

  #opened(buffer: Buffer, start: number, end: number, names: Range[], values: Range[]): void {
    if (this.#open.depth === 0) this.#root(buffer.toString('utf8', start, end), start);
    this.#open.push(buffer, start, end);
    if (!this.#events) return;
    this.#events.open(buffer, start, end);
    names.forEach((name, index) => this.#events?.attribute(buffer, name, values[index] as Range));
  }

  #root(name: string, at: number): void {
    if (this.#rootSeen) throw this.#wrong(at, 'a second root element');
    this.#rootSeen = true;
    const local = name.slice(name.indexOf(':') + 1);
    if (local.toLowerCase() === 'html') throw new Malformed('it is a page of HTML');
    const wanted = this.#rootName;
    if (wanted !== null && local !== wanted) throw new Malformed(`its root element is ${local.slice(0, 60)}, not ${wanted}`);
  }

  #closing(buffer: Buffer, start: number, end: number): number {
    let at = start + 2 + this.#open.length;
    if (at >= end) return INCOMPLETE;
    if (!this.#open.isAt(buffer, start + 2)) throw this.#wrong(start, 'an end tag that closes another element');
    while (at < end && CLASS[buffer[at] as number] === SPACE) at++;
    if (at >= end) return INCOMPLETE;
    if (buffer[at] !== 0x3e || this.#open.depth === 0) throw this.#wrong(start, 'an end tag that closes another element');
    this.#close();
    return at + 1;
  }

  #close(): void {
    this.#open.pop();
    this.#events?.close();
  }

  #declaration(buffer: Buffer, start: number, end: number): number {
    const words = buffer.toString('latin1', start, Math.min(end, start + 9));
    if (words.startsWith('<!--')) {
      this.#mode = 'comment';
      return start + 4;
    }
    if (words === '<![CDATA[' && this.#open.depth > 0) {
      this.#mode = 'cdata';
      return start + 9;
    }
    if (words.toUpperCase() === '<!DOCTYPE' && !this.#rootSeen) return this.#doctype(buffer, start, end);
    if (words.length < 9 && ['<!--', '<![CDATA[', '<!DOCTYPE'].some((known) => known.startsWith(words.toUpperCase()))) return INCOMPLETE;
    throw this.#wrong(start, 'a declaration that does not belong there');
  }

  /** Skipped with its internal subset, which may declare entities of its own. */
  #doctype(buffer: Buffer, start: number, end: number): number {
    const doctype = readDoctype(buffer, start, end);
    if (!doctype) return INCOMPLETE;
    if (doctype.declares) this.#entity = ANY_ENTITY;
    return start + doctype.length;
  }

  #instruction(buffer: Buffer, start: number, end: number): number {
    const close = buffer.indexOf('?>', start + 2, 'latin1');
    if (close < 0 || close + 2 > end) return INCOMPLETE;
    this.#legal(buffer, start, close);
    const text = buffer.toString('latin1', start + 2, close);
    if (/^xml(?:\s|$)/i.test(text)) {
      if (this.#before + start !== this.#start) throw this.#wrong(start, 'an XML declaration that is not at the beginning');
      this.#utf8 = isDeclaredUtf8(text);
    } else if (NAME[buffer[start + 2] as number] !== 2) throw this.#wrong(start, 'a malformed instruction');
    return close + 2;
  }

  #comment(buffer: Buffer, at: number, end: number): number {
    const dashes = buffer.indexOf('--', at, 'latin1');
    if (dashes < 0 || dashes + 2 >= end) return this.#uptoEnd(buffer, at, dashes < 0 ? end - 1 : dashes);
    if (buffer[dashes + 2] !== 0x3e) throw this.#wrong(dashes, '-- in a comment');
    this.#legal(buffer, at, dashes);
    this.#mode = 'text';
    return dashes + 3;
  }

  #cdata(buffer: Buffer, at: number, end: number): number {
    const close = buffer.indexOf(']]>', at, 'latin1');
    if (close < 0 || close + 3 > end) return this.#uptoEnd(buffer, at, end - 2);
    this.#legal(buffer, at, close);
    if (close > at) this.#events?.text(buffer, at, close);
    this.#mode = 'text';
    return close + 3;
  }

  /** Takes what certainly belongs to the comment or CDATA section; its end may begin in the last bytes. */
  #uptoEnd(buffer: Buffer, at: number, to: number): number {
    if (to <= at) return INCOMPLETE;
    this.#legal(buffer, at, to);
    if (this.#mode === 'cdata') this.#events?.text(buffer, at, to);
    return to;
  }

  #legal(buffer: Buffer, from: number, to: number): void {
    for (let at = from; at < to; at++) if (CLASS[buffer[at] as number] === ILLEGAL) throw this.#wrong(at, 'a control character');
  }

  #wrong(at: number, what: string): Malformed {
    return new Malformed(`it is not well-formed XML: ${what} (byte ${this.#before + at})`);
  }
}
