import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { GatewayError } from '../model/error';
import { sentence } from '../model/sentence';

/** Half of it takes a quarter more CPU in a process that has just begun to send; twice as much gains nothing. */
const PIECE_BYTES = 512 * 1024;
/** One is being written to the socket, one waits in the stream, one is being filled; one more than that. */
const PIECES = 4;

/**
 * A file on its way to an appliance, read into the same few pieces over and over: new ones for each read would make V8 collect the
 * whole of Node-RED's heap all the time. A piece is only good until the consumer asks for the third one after it, which whoever waits
 * for a socket to drain never does too early. Closes the file.
 */
export class FileContent extends Readable {
  readonly #handle: FileHandle;
  readonly #size: number;
  readonly #pieces: Buffer[] = [];
  #at = 0;
  #turn = 0;

  constructor(handle: FileHandle, size: number) {
    super({ highWaterMark: PIECE_BYTES });
    this.#handle = handle;
    this.#size = size;
  }

  get bytesRead(): number {
    return this.#at;
  }

  override _read(): void {
    this.#next().then(
      (piece) => this.push(piece),
      (error: Error) => this.destroy(unreadable(error)),
    );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#handle.close().then(
      () => callback(error),
      (fault: Error) => callback(error ?? fault),
    );
  }

  /** The next piece, full unless it is the last: a short one would not fill the socket, and so not hold up the one after it. */
  async #next(): Promise<Buffer | null> {
    const wanted = Math.min(PIECE_BYTES, this.#size - this.#at);
    if (wanted === 0) return null;
    const piece = (this.#pieces[this.#turn] ??= Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, this.#size)));
    this.#turn = (this.#turn + 1) % PIECES;
    let filled = 0;
    while (filled < wanted) {
      const { bytesRead } = await this.#handle.read(piece, filled, wanted - filled, this.#at);
      if (bytesRead === 0) throw new Error('The file became shorter while it was sent.');
      filled += bytesRead;
      this.#at += bytesRead;
    }
    return piece.subarray(0, filled);
  }
}

/** Not the connection's fault; a part of it may have left. */
export function unreadable({ message }: Error): GatewayError {
  return new GatewayError('ABORTED', sentence`The file could not be read to its end, so the rest was not sent: ${message}`, { sent: true });
}
