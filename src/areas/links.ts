import { isObject, type JsonObject } from '../model/json';

/** What is below a resource; `href` is null where the appliance gives a name alone. */
export interface Link {
  readonly name: string;
  readonly href: string | null;
}

/** `[{ name, href }]` of a resource's hyperlinks and of the entries of its collections (appliance-api.md, "Hyperlink object"). */
export function readLinks(document: JsonObject): Link[] {
  const isSingleList = Object.keys(document).length === 1;
  return Object.entries(document).flatMap(([key, value]) => {
    if (!Array.isArray(value)) return toLinks(value, key, false);
    return value.flatMap((item: unknown) => toLinks(item, key, isSingleList));
  });
}

/** `names`: the whole document is one list, so that a text in it is a name and not the value of a field. */
function toLinks(item: unknown, key: string, isNameList: boolean): Link[] {
  if (isNameList && typeof item === 'string') return [{ name: item, href: null }];
  if (!isObject(item)) return [];
  const href = typeof item['href'] === 'string' ? item['href'] : null;
  // Users go by `username`.
  const name = [item['name'], item['username'], href === null ? undefined : key].find((candidate) => typeof candidate === 'string');
  return typeof name === 'string' ? [{ name, href }] : [];
}
