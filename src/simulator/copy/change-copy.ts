import type { JsonObject } from '../body-shape';
import { Collection } from '../tree';
import { type ConfigurationCopy, findTreeNode } from './build-copy';
import { CopyResource } from './copy-resource';

/** An empty list can be a collection without items: it becomes one when an item is created in it. */
export function openEmptyCollection(copy: ConfigurationCopy, path: readonly string[], body: JsonObject): Collection | undefined {
  const name = path.at(-1) ?? '';
  const parent = findTreeNode(copy.root, path.slice(0, -1));
  if (!(parent instanceof CopyResource)) return undefined;
  const existing = parent.children.get(name);
  if (existing instanceof Collection) return existing;
  const value = existing ? undefined : [...parent.fields()].find(([field]) => field === name)?.[1];
  if (!Array.isArray(value) || value.length > 0) return undefined;
  parent.values.delete(name);
  const collection = copy.createCollection(path, body);
  parent.addChild(name, collection);
  return collection;
}

/** Creates a part of a resource that a PUT names: a field, or a resource below it. Returns false if its parent does not exist either. */
export function createPart({ root }: ConfigurationCopy, path: readonly string[], body: JsonObject): boolean {
  const name = path.at(-1) ?? '';
  const parent = findTreeNode(root, path.slice(0, -1));
  if (!(parent instanceof CopyResource)) return false;
  const value = body[name];
  if (value !== undefined && Object.keys(body).length === 1) parent.values.set(name, value);
  else parent.addChild(name, CopyResource.from(body));
  parent.isImplied = false;
  return true;
}

/** Deletes a field, a resource or a collection of a resource. Returns false if there is none. */
export function deletePart({ root }: ConfigurationCopy, path: readonly string[]): boolean {
  const name = path.at(-1) ?? '';
  const parent = findTreeNode(root, path.slice(0, -1));
  if (!(parent instanceof CopyResource)) return false;
  if (parent.children.has(name)) parent.removeChild(name);
  else if (!parent.values.delete(name)) return false;
  return true;
}
