import type { Readable } from 'node:stream';
import type { AbortSignalLike } from '../model/abort';
import type { Sink } from '../model/stream';
import type { ResponseBody } from './response-body';

/** One request, ready to send. `path` includes the prefix of the base URL and the query. */
export interface Exchange {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  authorization: string;
  body?: string | Buffer | Readable | undefined;
  /** Headers that replace the JSON defaults. */
  headers?: Readonly<Record<string, string>>;
  /** Receives the body of a 2xx response as a stream, unless the body is JSON: then it is a message of the appliance. */
  sink?: Sink;
  /** Overrides the request timeout of the settings. */
  timeoutSeconds?: number;
  signal?: AbortSignalLike | undefined;
}

/** A complete response. The body is empty when it was `streamed` into the sink. */
export interface Reply {
  status: number;
  contentType: string;
  /** Value of the Retry-After header. */
  retryAfter?: string | undefined;
  /** Value of the ETag header. */
  etag?: string;
  body: ResponseBody;
  streamed?: boolean;
  /** The body came over TLS without a length or chunks. Node.js does not report a missing close_notify, so a cut may go unnoticed. */
  hasUnverifiedEnd?: boolean;
}

/** Returns a Basic Authorization header in UTF-8. */
export function createBasicAuthorizationHeader(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
