import { compareTrees, type TreeComparison } from '../change/compare';
import type { JsonObject } from '../model/json';
import { isWithinAny } from './place';
import { isBare } from './resource';

/** A configuration as it was read, each resource as text: that takes a fraction of the memory of what it says. */
export interface Texts {
  readonly resources: ReadonlyMap<string, string>;
  /** What the account could not read: nothing is known of what lies there. */
  readonly forbidden: ReadonlySet<string>;
}

/** What became of it. What lies where nothing could be read, then or now, is neither new nor gone. */
export function compareTexts(before: Texts, after: Texts): TreeComparison {
  return compareTrees(differing(before, after), differing(after, before));
}

/** The resources that the other one does not have, or not like this. */
function differing(own: Texts, other: Texts): Map<string, JsonObject> {
  const found = new Map<string, JsonObject>();
  for (const [place, text] of own.resources) {
    const beside = other.resources.get(place);
    if (beside === text) continue;
    const resource = JSON.parse(text) as JsonObject;
    // Nothing in it is as good as not there.
    if (beside !== undefined || !(isBare(resource) || isWithinAny(place, other.forbidden))) found.set(place, resource);
  }
  return new Map([...found].sort(([one], [another]) => (one < another ? -1 : 1)));
}
