import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';

/** Half of it takes a quarter more CPU in a process that has just begun to send; twice as much gains nothing. */
const PIECE_BYTES = 512 * 1024;
/** One is being written to the socket, one waits in the stream, one is being filled; one more than that. */
const PIECE_COUNT = 4;

/**
 * A file on its way to an appliance, read into the same few pieces over and over: new ones for each read would make V8 collect the
 * whole of Node-RED's heap all the time. A piece is only good until the consumer asks for the third one after it, which whoever waits
 * for a socket to drain never does too early. Closes the file.
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
      (error: Error) => this.destroy(fileReadError(error)),
    );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#handle.close().then(
      () => callback(error),
      (fault: Error) => callback(error ?? fault),
    );
  }

  /** The next piece, full unless it is the last: a short one would not fill the socket, and so not hold up the one after it. */
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

/** Not the connection's fault; a part of it may have left. */
export function fileReadError({ message }: Error): GatewayError {
  return new GatewayError('ABORTED', safeMessage`The file could not be read to its end, so the rest was not sent: ${message}`, {
    sent: true,
  });
}
