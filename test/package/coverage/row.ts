/**
 * Every row of every endpoint table of appliance-api.md, typed off by hand: what the interface offers, independent of what the
 * operations do. `path` shows one raw segment as `<name>`. `body` is a check of what the row says about the body.
 */
export interface Row {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** The query as it may stand behind the path; absent = none. */
  readonly query?: RegExp;
  /** Keys that a JSON body may hold; the first `needed` of them must be there. Absent = no body. */
  readonly body?: { readonly keys: readonly string[] | 'any'; readonly needed?: number };
  /** The fixed part of the body. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** Names of the parts of a multipart form; the first `needed` of them must be there. */
  readonly parts?: { readonly names: readonly string[]; readonly needed: number };
  /** Type of a body that is one text. */
  readonly textType?: string;
  readonly statuses: readonly number[];
  /** A document or result as the row shows it. */
  readonly answer?: unknown;
  /** An answer that is not JSON, with its type. */
  readonly content?: { readonly type: string; readonly text: string };
  readonly operations: readonly string[];
}

/** A result envelope with these messages. */
export const result = (...info: string[]): unknown => ({ result: { info: info.map((message) => ({ message })) } });
