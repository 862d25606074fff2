import { compareTrees, type TreeComparison } from '../change/compare';
import type { JsonObject } from '../model/json';
import { isPathWithinAny } from './resource-path';
import { isEmptyResource } from './resource';

/** A configuration with each resource as text, which needs less memory than objects. */
export interface ConfigurationTexts {
  readonly resources: ReadonlyMap<string, string>;
  /** Paths that the account could not read, so nothing is known about them. */
  readonly forbidden: ReadonlySet<string>;
}

/** Compares two trees. Paths that were unreadable in either are neither added nor removed. */
export function compareConfigurationTexts(before: ConfigurationTexts, after: ConfigurationTexts): TreeComparison {
  return compareTrees(pickDifferingResources(before, after), pickDifferingResources(after, before));
}

/** Returns the resources that the other tree does not have, or has with another content. */
function pickDifferingResources(own: ConfigurationTexts, other: ConfigurationTexts): Map<string, JsonObject> {
  const differing = new Map<string, JsonObject>();
  for (const [path, text] of own.resources) {
    const counterpart = other.resources.get(path);
    if (counterpart === text) continue;
    const resource = JSON.parse(text) as JsonObject;
    // An empty resource equals a missing one.
    if (counterpart !== undefined || !(isEmptyResource(resource) || isPathWithinAny(path, other.forbidden))) differing.set(path, resource);
  }
  return new Map([...differing].sort(([a], [b]) => (a < b ? -1 : 1)));
}
