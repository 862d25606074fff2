import type { Socket } from 'node:net';

/** What one read brings at most; TLS has records of 16 kB. */
const READ_BYTES = 64 * 1024;

const INLET = Symbol('inlet');
type Inletted = Socket & { [INLET]?: Inlet };

/** The connect options of sockets that an `Inlet` is to read: all of them read into one place, which each empties at once. */
export const onread = {
  buffer: Buffer.allocUnsafeSlow(READ_BYTES),
  callback(this: Socket, bytes: number, buffer: Uint8Array): boolean {
    return Inlet.of(this).take(buffer as Buffer, bytes);
  },
};

/**
 * The reading side of a socket, which undici reads by `read()` on `'readable'`. Node.js would make a buffer of its own for each record
 * of TLS; a gigabyte of them makes V8 collect the whole of Node-RED's heap some hundred times, which takes longer than the transfer.
 * Here bytes are copied once into what undici keeps while it parses headers, and not at all while a body is `lent`.
 */
export class Inlet {
  /** Whether the next bytes are a body, nobody needs them after the call, and they need not be copied. */
  lent = false;
  /** Why the socket broke: undici takes a reset for the end of an answer that says no length. */
  fault: Error | undefined;
  readonly #socket: Socket;
  readonly #waiting: Buffer[] = [];
  #ended = false;
  /** Whether a socket without `onread` was told to wait. */
  #stopped = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.prependListener('error', (error: Error) => (this.fault = error));
    const read = socket.read.bind(socket);
    const push = socket.push.bind(socket);
    socket.read = (size?: number): unknown => {
      const chunk = size === 0 ? undefined : this.#waiting.shift();
      if (chunk) return chunk;
      if (this.#ended && this.#waiting.length === 0) {
        this.#ended = false;
        push(null);
      }
      if (this.#stopped && this.#waiting.length === 0) {
        this.#stopped = false;
        socket._read(READ_BYTES);
      }
      // Makes the socket read again after it was stopped.
      return read(size);
    };
    // Whoever was stopped in a chunk gives back the rest of it; an empty one still has to keep the end waiting.
    socket.unshift = (chunk: Buffer): void => void this.#waiting.unshift(Buffer.from(chunk));
    // The end comes after what still waits.
    socket.push = (chunk: unknown): boolean => {
      // A socket over another one, behind a proxy, knows no `onread`.
      if (chunk instanceof Uint8Array) return this.#give(chunk as Buffer);
      if (chunk !== null || this.#waiting.length === 0) return push(chunk);
      this.#ended = true;
      return false;
    };
  }

  static of(socket: Inletted): Inlet {
    return (socket[INLET] ??= new Inlet(socket));
  }

  /** What was read; false stops the socket until it is asked for more. */
  take(buffer: Buffer, bytes: number): boolean {
    const piece = buffer.subarray(0, bytes);
    const waits = this.#waiting;
    waits.push(this.lent && waits.length === 0 ? piece : Buffer.from(piece));
    this.#socket.emit('readable');
    if (waits[0] === piece) waits[0] = Buffer.from(piece);
    return waits.length === 0;
  }

  #give(piece: Buffer): boolean {
    this.#waiting.push(piece);
    this.#socket.emit('readable');
    this.#stopped = this.#waiting.length > 0;
    return !this.#stopped;
  }
}
