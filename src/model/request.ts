import type { JsonObject } from './json';

/** `true` is a bare flag (`?expand`); a text is `key=text`. */
export type Query = Readonly<Record<string, true | string>>;

/** One exchange as data. `path` is encoded and relative to the base URL (appliance-api.md, "Endpoints"). */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  /** A query string that must be sent exactly as the interface shows it, without `?`. */
  readonly rawQuery?: string;
  readonly body?: JsonObject;
}
