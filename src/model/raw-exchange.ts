import type { JsonObject } from './json';

/** One exchange as a conformance check sends it: once, without retries, and with the credentials that it asks for. */
export interface RawRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Encoded, relative to the base URL, with the query. */
  readonly path: string;
  readonly body?: JsonObject;
  /** Value of the If-Match header. */
  readonly ifMatch?: string;
  /** Default: `session`. */
  readonly credentials?: Credentials;
  /** Sent even after the check was canceled, to remove what it created. */
  readonly isCleanup?: boolean;
}

/** `session`: the API key; `none`: an empty header; `made-up-key`: a random key; or a name with a password. */
export type Credentials = 'session' | 'none' | 'made-up-key' | { readonly username: string; readonly password: string };

/** A response as it came. */
export interface RawReply {
  readonly status: number;
  readonly contentType: string;
  readonly etag: string | undefined;
  readonly text: string;
  readonly bytes: number;
  readonly ms: number;
}

/** Exchanges without any interpretation. */
export interface RawConnection {
  /** Errors: those of the transport, and those of a login when the API key is needed. */
  send(request: RawRequest): Promise<RawReply>;
  /** Number of connections opened so far. */
  readonly opened: number;
  /** Seconds by which the clock of the appliance is ahead, measured at the latest response. */
  readonly clockOffsetSeconds: number | undefined;
}
