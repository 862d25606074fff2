import { isObject, type JsonObject } from '../model/json';
import { encodePathSegment } from '../model/path';

const MAX_NAME_LENGTH = 1000;

/**
 * Removes from each collection the list of its own objects. Some releases list them with further fields. Such a list does not use the
 * objects, and repeats their content.
 */
export function removeMemberListings(resources: ReadonlyMap<string, JsonObject>): ReadonlyMap<string, JsonObject> {
  const stripped = new Map<string, JsonObject>();
  for (const collection of findParents(resources)) {
    const resource = resources.get(collection) ?? {};
    const entries = Object.entries(resource).map(([key, value]): [string, unknown] => [
      key,
      Array.isArray(value) ? value.filter((item: unknown) => !isListed(item, collection, resources)) : value,
    ]);
    if (entries.some(([key, value]) => Array.isArray(value) && value.length !== (resource[key] as unknown[]).length))
      stripped.set(collection, Object.fromEntries(entries));
  }
  return stripped.size === 0 ? resources : new Map([...resources].map(([path, resource]) => [path, stripped.get(path) ?? resource]));
}

/** Resources with resources directly below them. */
function findParents(resources: ReadonlyMap<string, JsonObject>): Set<string> {
  const parents = new Set<string>();
  for (const path of resources.keys()) {
    const parent = path.slice(0, path.lastIndexOf('/'));
    if (resources.has(parent)) parents.add(parent);
  }
  return parents;
}

/** Whether a field of the item names a resource directly below the collection. */
function isListed(item: unknown, collection: string, resources: ReadonlyMap<string, JsonObject>): boolean {
  return (
    isObject(item) &&
    Object.values(item).some(
      (value) =>
        (typeof value === 'number' || (typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH)) &&
        resources.has(`${collection}/${encodePathSegment(String(value).toWellFormed())}`),
    )
  );
}
