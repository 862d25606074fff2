import { parseJson } from './json-bytes';

/** Nobody's word is worth more memory than this before the bytes are there. */
const FIRST_BYTES = 1 << 20;
/** Answers up to this size, and not so small that it does not matter, are read into places that are used again. */
const PLACE_BYTES = 1 << 18;
const SMALL_BYTES = 1 << 16;
const MOST_SPARES = 8;
const spares: Buffer[] = [];

/** The body of an answer, from chunks that are only good during the call. */
export class Body {
  /** Bytes that are said to come. */
  total: number | undefined;
  #text: string | undefined;
  #buffer: Buffer | undefined;
  #filled = 0;

  add(chunk: Buffer): void {
    if (!this.#buffer) {
      // Most answers are one chunk, decoded from where it is.
      if (chunk.length === this.total) {
        this.#text = chunk.toString('utf8');
        return;
      }
      this.#buffer = roomFor(Math.max(chunk.length, Math.min(this.total ?? 0, FIRST_BYTES)));
    }
    const needed = this.#filled + chunk.length;
    if (needed > this.#buffer.length) {
      const larger = roomFor(Math.max(needed, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#filled);
      giveBack(this.#buffer);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#filled);
    this.#filled = needed;
  }

  text(): string {
    return (this.#text ??= this.#buffer?.toString('utf8', 0, this.#filled) ?? '');
  }

  /** Errors: as `JSON.parse`. */
  json(): unknown {
    // Not decoded a second time.
    if (this.#buffer && this.#text === undefined) return parseJson(this.#buffer.subarray(0, this.#filled));
    return JSON.parse(this.text().replace(/^\ufeff/, ''));
  }

  /** Gives its place to the next one: whoever has read it says so, and does not read it again. Whoever does not say so leaves garbage. */
  release(): void {
    if (this.#buffer) giveBack(this.#buffer);
    this.#buffer = undefined;
    this.#filled = 0;
  }
}

/** A new buffer for each page of a long list would make V8 collect the whole of Node-RED's heap with every few of them. */
function roomFor(bytes: number): Buffer {
  if (bytes <= SMALL_BYTES || bytes > PLACE_BYTES) return Buffer.allocUnsafeSlow(bytes);
  return spares.pop() ?? Buffer.allocUnsafeSlow(PLACE_BYTES);
}

function giveBack(buffer: Buffer): void {
  if (buffer.length === PLACE_BYTES && spares.length < MOST_SPARES) spares.push(buffer);
}
