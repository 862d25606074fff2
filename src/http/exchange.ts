import type { Readable } from 'node:stream';
import type { AbortSignalLike } from '../model/abort';
import type { Sink } from '../model/stream';
import type { ResponseBody } from './response-body';

/** One exchange, ready to send. `path` holds the base URL's prefix and the query. */
export interface Exchange {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  authorization: string;
  body?: string | Buffer | Readable;
  /** Headers of a body that is not JSON, and of an answer that is not. */
  headers?: Readonly<Record<string, string>>;
  /** Takes the body of a 2xx as it comes, unless that is JSON: then the appliance has something to say instead. */
  sink?: Sink;
  /** Time limit of this exchange instead of the usual one. */
  timeoutSeconds?: number;
  signal?: AbortSignalLike | undefined;
}

/** What came back, whole; the body is empty when it `streamed` into the sink. */
export interface Reply {
  status: number;
  contentType: string;
  /** As it came; undefined when it did not. */
  retryAfter?: string | undefined;
  body: ResponseBody;
  streamed?: boolean;
}
