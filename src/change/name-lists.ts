import { encodePathSegment } from '../model/path';
import { isObject, type JsonObject } from '../model/json';

/** A list of names that may be a collection. */
export interface NameList {
  readonly key: string;
  /** The paths that its items would have. */
  readonly paths: readonly string[];
}

/**
 * Finds lists of names without links, which some releases show in place of collections (field-notes.md, "The tree"). Such a list has
 * objects with only a name, or texts if the document has no other key. Only a read shows whether it is a collection.
 */
export function findNameLists(path: string, document: JsonObject): NameList[] {
  const isOnly = Object.keys(document).length === 1;
  return findLists(path, document, (item) => (typeof item === 'string' && isOnly ? item : readLoneName(item)));
}

/** Finds lists of complete users, which some releases return in place of a list of names. */
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
    const segment = encodePathSegment(key);
    const isOwn = keys.length === 1 && path.endsWith(`/${segment}`);
    const base = isOwn ? path : `${path}/${segment}`;
    return [{ key, paths: names.map((name) => `${base}/${encodePathSegment(String(name))}`) }];
  });
}

function readLoneName(item: unknown): unknown {
  if (!isObject(item)) return undefined;
  const [key, second] = Object.keys(item);
  return second === undefined && (key === 'name' || key === 'username') ? item[key] : undefined;
}

/** Returns whether the text can be a path segment. */
function isPathSegment(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && text.length <= 500 && text.isWellFormed();
}
