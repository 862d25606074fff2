import { encodeSegment } from '../model/path';
import { isObject, type JsonObject } from '../model/json';

/** A list of names that may be that of a collection. */
export interface NameList {
  readonly key: string;
  /** Where its entries would be. */
  readonly paths: readonly string[];
}

/**
 * Lists of names without links, which some releases give in place of collections (field-notes.md, "The tree"): objects of a name alone,
 * and texts where they are all that a document has. Whether it is a collection, only the appliance knows.
 */
export function findNameLists(path: string, document: JsonObject): NameList[] {
  const isOnly = Object.keys(document).length === 1;
  return findLists(path, document, (item) => (typeof item === 'string' && isOnly ? item : readLoneName(item)));
}

/** The same for lists of whole users, which some releases give in place of their names. */
export function findUserLists(path: string, document: JsonObject): NameList[] {
  return findLists(path, document, (item) => (isObject(item) && item['href'] === undefined ? item['username'] : undefined));
}

function findLists(path: string, document: JsonObject, readName: (item: unknown) => unknown): NameList[] {
  const keys = Object.keys(document);
  return keys.flatMap((key) => {
    const value = document[key];
    if (!Array.isArray(value) || value.length === 0 || key === '') return [];
    const names = value.map(readName);
    if (!names.every((name) => typeof name === 'string' && isPathSegment(name))) return [];
    const segment = encodeSegment(key);
    const isOwn = keys.length === 1 && path.endsWith(`/${segment}`);
    const base = isOwn ? path : `${path}/${segment}`;
    return [{ key, paths: names.map((name) => `${base}/${encodeSegment(String(name))}`) }];
  });
}

function readLoneName(item: unknown): unknown {
  if (!isObject(item)) return undefined;
  const [key, second] = Object.keys(item);
  return second === undefined && (key === 'name' || key === 'username') ? item[key] : undefined;
}

/** What can be a segment of a path. */
function isPathSegment(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && text.length <= 500 && text.isWellFormed();
}
