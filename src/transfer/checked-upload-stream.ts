import { createHash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import type { GatewayError } from '../model/error';

/** What has to come, and what is said when something else does. */
export interface ExpectedContent {
  readonly bytes: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
  readonly createChangedError: () => GatewayError;
  /** What else has to be so at the end. */
  readonly isComplete?: () => boolean;
}

/**
 * A content on its way to an appliance that has been looked at before. The last bytes are held back until everything is known to be what it
 * was then: what was changed meanwhile ends the stream, and what has left by then is too short to be taken for anything.
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
