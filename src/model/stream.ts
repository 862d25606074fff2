import type { Readable } from 'node:stream';
import type { GatewayError } from './error';

/** Pauses, resumes or ends the response that streams into a sink. */
export interface FlowControl {
  pause(): void;
  resume(): void;
  fail(error: GatewayError): void;
}

export interface Sink {
  /** The sink keeps everything it receives, so it counts against the memory for responses. */
  readonly isBuffering?: boolean;
  /** `total` is the Content-Length in bytes. `hasUnverifiedEnd`: see `Reply`. */
  start(total: number | undefined, flow: FlowControl, hasUnverifiedEnd: boolean): void;
  /** The chunk is valid only during the call. */
  write(chunk: Buffer): void;
}

/**
 * Receives one streaming response. After the exchange either `finish` or `discard` is called, and `discard` also after a failed `finish`.
 */
export interface Download<T> {
  readonly accept: string;
  readonly sink: Sink;
  /** Resolves after all checks, when the result is in place. */
  finish(): Promise<T>;
  /** Removes everything that was written. Never rejects. */
  discard(): Promise<void>;
}

/** One outgoing body. */
export interface Upload {
  readonly body: Readable | Buffer;
  /** Content type and length of the body. */
  readonly headers: Readonly<Record<string, string>>;
  /** Closes files after any outcome. It may be called at any time. */
  close(): void;
}
