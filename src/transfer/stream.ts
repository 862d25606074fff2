import type { Readable } from 'node:stream';
import type { Sink } from '../transport';

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
