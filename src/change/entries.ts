import { encodeSegment } from '../model/path';
import { isObject, type JsonObject } from '../model/json';

/** A list of names that may be that of a collection. */
export interface Names {
  readonly key: string;
  /** Where its entries would be. */
  readonly places: readonly string[];
}

/**
 * Lists of names without links, which some releases give in place of collections (field-notes.md, "The tree"): objects of a name alone,
 * and texts where they are all that a document has. Whether it is a collection, only the appliance knows.
 */
export function namesIn(place: string, document: JsonObject): Names[] {
  const isOnly = Object.keys(document).length === 1;
  return listsIn(place, document, (item) => (typeof item === 'string' && isOnly ? item : nameAlone(item)));
}

/** The same for lists of whole users, which some releases give in place of their names. */
export function usersIn(place: string, document: JsonObject): Names[] {
  return listsIn(place, document, (item) => (isObject(item) && item['href'] === undefined ? item['username'] : undefined));
}

function listsIn(place: string, document: JsonObject, nameOf: (item: unknown) => unknown): Names[] {
  const keys = Object.keys(document);
  return keys.flatMap((key) => {
    const value = document[key];
    if (!Array.isArray(value) || value.length === 0 || key === '') return [];
    const names = value.map(nameOf);
    if (!names.every((name) => typeof name === 'string' && isName(name))) return [];
    const segment = encodeSegment(key);
    const isOwn = keys.length === 1 && place.endsWith(`/${segment}`);
    const base = isOwn ? place : `${place}/${segment}`;
    return [{ key, places: names.map((name) => `${base}/${encodeSegment(String(name))}`) }];
  });
}

function nameAlone(item: unknown): unknown {
  if (!isObject(item)) return undefined;
  const [key, second] = Object.keys(item);
  return second === undefined && (key === 'name' || key === 'username') ? item[key] : undefined;
}

/** What can be a segment of a path. */
function isName(text: string): boolean {
  return text !== '' && text !== '.' && text !== '..' && text.length <= 500 && text.isWellFormed();
}
