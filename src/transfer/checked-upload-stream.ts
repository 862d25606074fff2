import { createHash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import type { GatewayError } from '../model/error';

/** The content that was checked before, and the error for any other. */
interface ExpectedContent {
  readonly bytes: number;
  /** Hexadecimal digits. */
  readonly sha256: string;
  readonly createChangedError: () => GatewayError;
  /** An additional condition at the end. */
  readonly isComplete?: () => boolean;
}

/**
 * Sends content that was checked before. It holds the last chunk back until the whole content matches. Changed content ends the stream, so
 * the appliance receives too little to accept.
 */
export class CheckedUploadStream extends Transform {
  bytesRead = 0;
  readonly #expected: ExpectedContent;
  readonly #hash = createHash('sha256');
  #lastChunk: Buffer | undefined;

  constructor(expected: ExpectedContent) {
    super();
    this.#expected = expected;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const { bytes, createChangedError } = this.#expected;
    this.#hash.update(chunk);
    this.bytesRead += chunk.length;
    if (this.bytesRead > bytes) return done(createChangedError());
    if (this.bytesRead < bytes) this.push(chunk);
    else if (chunk.length > 0) this.#lastChunk = chunk;
    done();
  }

  override _flush(done: TransformCallback): void {
    const { sha256, createChangedError, isComplete } = this.#expected;
    const isSame = this.#hash.digest('hex') === sha256 && (isComplete?.() ?? true);
    if (!isSame || !this.#lastChunk) return done(createChangedError());
    this.push(this.#lastChunk);
    done();
  }
}
