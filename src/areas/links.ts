import { isObject, type JsonObject } from '../model/json';

/** A child of a resource; `href` is null if the appliance returns only a name. */
export interface ResourceLink {
  readonly name: string;
  readonly href: string | null;
}

/** Reads `[{ name, href }]` from the hyperlinks and collection entries of a resource (appliance-api.md, "Hyperlink object"). */
export function readResourceLinks(document: JsonObject): ResourceLink[] {
  const isSingleList = Object.keys(document).length === 1;
  return Object.entries(document).flatMap(([key, value]) => {
    if (!Array.isArray(value)) return toLinks(value, key, false);
    return value.flatMap((item: unknown) => toLinks(item, key, isSingleList));
  });
}

/** `isNameList`: the document is a single list, so its texts are names and not values of a field. */
function toLinks(item: unknown, key: string, isNameList: boolean): ResourceLink[] {
  if (isNameList && typeof item === 'string') return [{ name: item, href: null }];
  if (!isObject(item)) return [];
  const href = typeof item['href'] === 'string' ? item['href'] : null;
  // Local users have `username` instead of `name`.
  const name = [item['name'], item['username'], href === null ? undefined : key].find((candidate) => typeof candidate === 'string');
  return typeof name === 'string' ? [{ name, href }] : [];
}
