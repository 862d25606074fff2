import { assertParsableJson } from './json-size';
import { parseJson } from './parse-json';

/** Bodies of at least this size are checked for non-ASCII bytes before JSON parsing; smaller ones do not gain. */
const LARGE_BODY_BYTES = 64 * 1024;

const BYTE_ORDER_MARK = 0xfeff;

/** A complete response body, stored as received chunks. */
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

  /** Parses the body as JSON. Errors: those of `JSON.parse`, and `LIMIT` for too many values. */
  json(): unknown {
    const bytes = this.bytes();
    assertParsableJson(bytes);
    // A body that was decoded before is parsed from its text.
    if (bytes.length >= LARGE_BODY_BYTES && this.#text === undefined) return parseJson(bytes);
    const text = this.text();
    return JSON.parse(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text);
  }
}
