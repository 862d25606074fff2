import { parseJson } from './json-bytes';

/** Nobody's word is worth more memory than this before the bytes are there. */
const FIRST_BYTES = 1 << 20;

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
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(chunk.length, Math.min(this.total ?? 0, FIRST_BYTES)));
    }
    const needed = this.#filled + chunk.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#filled);
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
    return this.#buffer ? parseJson(this.#buffer.subarray(0, this.#filled)) : JSON.parse(this.text().replace(/^\ufeff/, ''));
  }
}
