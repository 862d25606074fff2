import { badInput } from '../model/error';
import { isObject, type JsonObject, describeValueKind } from '../model/json';
import type { Query } from '../model/request';
import { trusted, safeMessage } from '../model/safe-message';

/** Reads a query object of flags, texts and numbers. Errors: `BAD_INPUT` naming the key of another value. */
export function parseQueryObject(query: JsonObject): Query {
  const entries = Object.entries(query).map(([key, value]): [string, true | string] => {
    if (value === true || typeof value === 'string') return [key, value];
    if (typeof value === 'number') return [key, String(value)];
    throw badInput(safeMessage`query.${key} is ${trusted(describeValueKind(value))}, but must be true (a flag) or text. Nothing was sent.`);
  });
  return Object.fromEntries(entries);
}

/**
 * Reads a query object or text. Text may have repeated keys or keys without a name; only characters that are invalid in a URL are
 * encoded. Errors: `BAD_INPUT` for text that cannot be part of a URL.
 */
export function parseQuery(query: JsonObject | string | Buffer): { query: Query } | { rawQuery: string } {
  if (isObject(query)) return { query: parseQueryObject(query) };
  if (typeof query !== 'string') throw badInput('query is a Buffer, but must be an object or text. Nothing was sent.');
  const text = query.replace(/^\?/, '');
  if (text.includes('#')) throw badInput('query contains #, which would end the query. Write it as %23. Nothing was sent.');
  if (!text.isWellFormed()) throw badInput('query contains half of a Unicode character. Check where the text was cut. Nothing was sent.');
  if (/\p{Cc}/u.test(text)) throw badInput('query contains a line break or another control character. Nothing was sent.');
  return { rawQuery: text.replace(/%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]/gu, encodeURIComponent) };
}
