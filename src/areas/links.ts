import { isObject, type JsonObject } from '../model/json';

/** What is below a resource; `href` is null where the appliance gives a name alone. */
export interface Link {
  readonly name: string;
  readonly href: string | null;
}

/** `[{ name, href }]` of a resource's hyperlinks and of the entries of its collections (appliance-api.md, "Hyperlink object"). */
export function links(document: JsonObject): Link[] {
  const alone = Object.keys(document).length === 1;
  return Object.entries(document).flatMap(([key, value]) => {
    if (!Array.isArray(value)) return linkOf(value, key, false);
    return value.flatMap((item: unknown) => linkOf(item, key, alone));
  });
}

/** `names`: the whole document is one list, so that a text in it is a name and not the value of a field. */
function linkOf(item: unknown, key: string, names: boolean): Link[] {
  if (names && typeof item === 'string') return [{ name: item, href: null }];
  if (!isObject(item)) return [];
  const href = typeof item['href'] === 'string' ? item['href'] : null;
  // Users go by `username`.
  const name = [item['name'], item['username'], href === null ? undefined : key].find((one) => typeof one === 'string');
  return typeof name === 'string' ? [{ name, href }] : [];
}
