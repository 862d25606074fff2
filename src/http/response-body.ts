import { parseJson } from './parse-json';

/** From here on it pays to look for what is not ASCII before JSON is decoded. */
const LARGE_BODY_BYTES = 64 * 1024;

/** The body of an answer that is read whole, from the chunks that it came in. */
export class ResponseBody {
  #chunks: Buffer[] = [];
  #text: string | undefined;

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  bytes(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] as Buffer;
  }

  text(): string {
    return (this.#text ??= this.bytes().toString('utf8'));
  }

  /** Errors: as `JSON.parse`. */
  json(): unknown {
    const bytes = this.bytes();
    // Not decoded a second time.
    if (bytes.length >= LARGE_BODY_BYTES && this.#text === undefined) return parseJson(bytes);
    return JSON.parse(this.text().replace(/^\ufeff/, ''));
  }
}
