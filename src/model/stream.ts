import type { Readable } from 'node:stream';
import type { GatewayError } from './error';

/** Holds up the answer that streams into a sink, lets it go on, or ends it. */
export interface FlowControl {
  pause(): void;
  resume(): void;
  fail(error: GatewayError): void;
}

export interface Sink {
  /** It keeps all that it takes: that counts among the answers which are read whole. */
  readonly isBuffering?: boolean;
  /** `total` is the content-length in bytes, where the appliance tells it. */
  start(total: number | undefined, flow: FlowControl): void;
  /** The chunk is only good during the call. */
  write(chunk: Buffer): void;
}

/** Takes one answer as it streams in. After the exchange either `finish` or `discard` is called, `discard` also after a failed `finish`. */
export interface Download<T> {
  readonly accept: string;
  readonly sink: Sink;
  /** Resolves when everything is checked and in its place. */
  finish(): Promise<T>;
  /** Leaves nothing behind. Never rejects. */
  discard(): Promise<void>;
}

/** One body on its way out. */
export interface Upload {
  readonly body: Readable | Buffer;
  /** Type and length of the body. */
  readonly headers: Readonly<Record<string, string>>;
  /** Closes files, whatever became of the exchange; may be called at any time. */
  close(): void;
}
