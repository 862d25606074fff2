import type { KeyPair } from '../certificate';

/** What the parent process sends to a copy. */
export type CopyRequest = { readonly kind: 'start'; readonly options: CopyStartOptions } | { readonly kind: 'reset' };

/** What a copy answers, once for each request. */
export type CopyReply =
  | { readonly kind: 'ready'; readonly url: string; readonly ca: string; readonly key: string }
  | { readonly kind: 'failed'; readonly message: string };

export interface CopyStartOptions {
  readonly from: string;
  readonly username: string;
  readonly password: string;
  readonly realm: string;
  /** 0 = any free port. */
  readonly port: number;
  /** PEM; else a fresh certificate is made. */
  readonly tls?: KeyPair;
  readonly vendor?: string;
  readonly brand?: string;
}
