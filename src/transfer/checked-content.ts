import { createHash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import type { GatewayError } from '../model/error';

/** What has to come, and what is said when something else does. */
export interface Expected {
  readonly bytes: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
  readonly changed: () => GatewayError;
  /** What else has to be so at the end. */
  readonly isWhole?: () => boolean;
}

/**
 * A content on its way to an appliance that has been looked at before. The last bytes are held back until everything is known to be what it
 * was then: what was changed meanwhile ends the stream, and what has left by then is too short to be taken for anything.
 */
export class CheckedContent extends Transform {
  bytesRead = 0;
  readonly #expected: Expected;
  readonly #hash = createHash('sha256');
  #held: Buffer | undefined;

  constructor(expected: Expected) {
    super();
    this.#expected = expected;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const { bytes, changed } = this.#expected;
    this.#hash.update(chunk);
    this.bytesRead += chunk.length;
    if (this.bytesRead > bytes) return done(changed());
    if (this.bytesRead < bytes) this.push(chunk);
    else if (chunk.length > 0) this.#held = chunk;
    done();
  }

  override _flush(done: TransformCallback): void {
    const { sha256, changed, isWhole } = this.#expected;
    const isSame = this.#hash.digest('hex') === sha256 && (isWhole?.() ?? true);
    if (!isSame || !this.#held) return done(changed());
    this.push(this.#held);
    done();
  }
}
