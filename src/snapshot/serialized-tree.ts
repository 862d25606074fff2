import { compareTrees, type TreeComparison } from '../change/compare';
import type { JsonObject } from '../model/json';
import { isPathWithinAny } from './resource-path';
import { isEmptyResource } from './resource';

/** A configuration as it was read, each resource as text: that takes a fraction of the memory of what it says. */
export interface SerializedTree {
  readonly resources: ReadonlyMap<string, string>;
  /** What the account could not read: nothing is known of what lies there. */
  readonly forbidden: ReadonlySet<string>;
}

/** What became of it. What lies where nothing could be read, then or now, is neither new nor gone. */
export function compareSerializedTrees(before: SerializedTree, after: SerializedTree): TreeComparison {
  return compareTrees(pickDifferingResources(before, after), pickDifferingResources(after, before));
}

/** The resources that the other one does not have, or not like this. */
function pickDifferingResources(own: SerializedTree, other: SerializedTree): Map<string, JsonObject> {
  const differing = new Map<string, JsonObject>();
  for (const [path, text] of own.resources) {
    const counterpart = other.resources.get(path);
    if (counterpart === text) continue;
    const resource = JSON.parse(text) as JsonObject;
    // Nothing in it is as good as not there.
    if (counterpart !== undefined || !(isEmptyResource(resource) || isPathWithinAny(path, other.forbidden))) differing.set(path, resource);
  }
  return new Map([...differing].sort(([a], [b]) => (a < b ? -1 : 1)));
}
