import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';

/** Size of a piece. Half the size costs a quarter more CPU in a fresh process; twice the size gains nothing. */
const PIECE_BYTES = 512 * 1024;
/** Number of pieces: one for the socket, one in the stream, one being filled, and one spare. */
const PIECE_COUNT = 4;

/**
 * Streams a file through a few reused buffers; new ones would make V8 collect Node-RED's whole heap again and again. A piece is valid until
 * the consumer requests the third one after it. Consumers that wait for a drained socket respect this. Closes the file.
 */
export class FileUploadStream extends Readable {
  readonly #handle: FileHandle;
  readonly #size: number;
  readonly #pieces: Buffer[] = [];
  #offset = 0;
  #pieceIndex = 0;

  constructor(handle: FileHandle, size: number) {
    super({ highWaterMark: PIECE_BYTES });
    this.#handle = handle;
    this.#size = size;
  }

  get bytesRead(): number {
    return this.#offset;
  }

  override _read(): void {
    this.#readPiece().then(
      (piece) => this.push(piece),
      (error: Error) => this.destroy(createFileReadError(error)),
    );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#handle.close().then(
      () => callback(error),
      (fault: Error) => callback(error ?? fault),
    );
  }

  /** Fills each piece except the last. A short piece would not fill the socket and therefore not pause the stream. */
  async #readPiece(): Promise<Buffer | null> {
    const pieceBytes = Math.min(PIECE_BYTES, this.#size - this.#offset);
    if (pieceBytes === 0) return null;
    const piece = (this.#pieces[this.#pieceIndex] ??= Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, this.#size)));
    this.#pieceIndex = (this.#pieceIndex + 1) % PIECE_COUNT;
    let filled = 0;
    while (filled < pieceBytes) {
      const { bytesRead } = await this.#handle.read(piece, filled, pieceBytes - filled, this.#offset);
      if (bytesRead === 0) throw new Error('The file became shorter while it was sent.');
      filled += bytesRead;
      this.#offset += bytesRead;
    }
    return piece.subarray(0, filled);
  }
}

/** Creates the error for a file that cannot be read. Part of it may already have been sent. */
export function createFileReadError({ message }: Error): GatewayError {
  return new GatewayError('ABORTED', safeMessage`The file could not be read completely, so the rest was not sent: ${message}`, {
    sent: true,
  });
}
