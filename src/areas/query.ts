import { badInput } from '../model/error';
import { isObject, type JsonObject, describeKind } from '../model/json';
import type { Query } from '../model/request';
import { trusted, safeMessage } from '../model/safe-message';

/** A query given as an object: flags and texts, nothing else can stand in an address. Errors: `BAD_INPUT` naming the key. */
export function parseQueryObject(query: JsonObject): Query {
  const entries = Object.entries(query).map(([key, value]): [string, true | string] => {
    if (value === true || typeof value === 'string') return [key, value];
    if (typeof value === 'number') return [key, String(value)];
    throw badInput(safeMessage`query.${key} has to be true (a flag) or text; ${trusted(describeKind(value))} came.`);
  });
  return Object.fromEntries(entries);
}

/**
 * A query as an object, or text as it stands, keys without name or given twice among it; only
 * what cannot stand in an address is encoded. Errors: `BAD_INPUT` for what could not be sent so.
 */
export function parseQuery(query: JsonObject | string | Buffer): { query: Query } | { rawQuery: string } {
  if (isObject(query)) return { query: parseQueryObject(query) };
  if (typeof query !== 'string') throw badInput('query has to be an object or text; a Buffer came.');
  const text = query.replace(/^\?/, '');
  if (text.includes('#')) throw badInput('query holds a #, which begins something else in an address. Write it as %23.');
  if (!text.isWellFormed()) throw badInput('query holds half of a Unicode character: check where it was cut.');
  if (/\p{Cc}/u.test(text)) throw badInput('query holds a line break or another control character.');
  return { rawQuery: text.replace(/%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]/gu, encodeURIComponent) };
}
