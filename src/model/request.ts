import type { JsonObject } from './json';

/** `key: true` is a bare flag (`?expand`), text is `key=text`. */
export type Query = Readonly<Record<string, true | string>>;

/** One exchange as data. `path` is encoded and relative to the base URL; see appliance-api.md, "Endpoints". */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  /** For the rare case: a query string that has to look exactly like the interface shows it. Without `?`. */
  readonly rawQuery?: string;
  readonly body?: JsonObject;
}
