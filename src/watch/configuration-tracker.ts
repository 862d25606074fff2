import { isPathWithinAny } from '../snapshot/resource-path';
import { formatComparison } from '../snapshot/diff-text';
import { compareConfigurationTexts, type ConfigurationTexts } from '../snapshot/configuration-texts';
import { isObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import type { TrackerUpdate, Tracker } from './tracker';

type PathAndText = readonly [path: string, text: string];
type Change = { readonly set: readonly PathAndText[]; readonly gone: readonly string[]; readonly forbidden: readonly string[] };

/** Maximum number of resources per line of the state file. A single line would be as long as the configuration. */
const MAX_RESOURCES_PER_LINE = 500;

/** Compares the configuration with the last check, resource by resource. A resource that can no longer be read keeps its last text. */
export class ConfigurationTracker implements Tracker<ConfigurationTexts> {
  readonly #appliance: string;
  #lastTree: ConfigurationTexts | undefined;

  constructor(appliance: string) {
    this.#appliance = appliance;
  }

  update(data: ConfigurationTexts): TrackerUpdate {
    const previous = this.#lastTree;
    const current = previous ? keepUnreadable(previous, data) : data;
    this.#lastTree = current;
    const change = findChange(previous, current);
    if (!previous) return { events: [], change, summary: { key: 'same' } };
    const comparison = change ? compareConfigurationTexts(previous, current) : undefined;
    if (!comparison || comparison.equal) return { events: [], change, summary: { key: 'same' } };
    const text = formatComparison(comparison, this.#appliance, safeMessage`the last check`);
    return { events: [{ event: 'changed', ...comparison }], change, summary: { key: 'changed' }, envelope: { text } };
  }

  save(): unknown {
    return this.#lastTree && { set: [], gone: [], forbidden: [...this.#lastTree.forbidden] };
  }

  *remainingChanges(): Iterable<unknown> {
    if (!this.#lastTree) return;
    const { resources, forbidden } = this.#lastTree;
    const change = { gone: [], forbidden: [...forbidden] };
    let set: PathAndText[] = [];
    for (const pair of resources) {
      if (set.push(pair) < MAX_RESOURCES_PER_LINE) continue;
      yield { set, ...change };
      set = [];
    }
    if (set.length > 0) yield { set, ...change };
  }

  restore(saved: unknown): void {
    this.#lastTree = undefined;
    this.apply(saved);
  }

  apply(change: unknown): void {
    if (!isChange(change)) throw new Error('The saved state has another shape.');
    const resources = new Map(this.#lastTree?.resources);
    for (const path of change.gone) resources.delete(path);
    for (const [path, text] of change.set) resources.set(path, text);
    this.#lastTree = { resources, forbidden: new Set(change.forbidden) };
  }
}

/** Keeps the last text of resources below paths that could not be read this time. */
function keepUnreadable(previous: ConfigurationTexts, current: ConfigurationTexts): ConfigurationTexts {
  if (current.forbidden.size === 0) return current;
  const unread = [...previous.resources].filter(([path]) => !current.resources.has(path) && isPathWithinAny(path, current.forbidden));
  return unread.length === 0 ? current : { ...current, resources: new Map([...unread, ...current.resources]) };
}

function findChange(previous: ConfigurationTexts | undefined, current: ConfigurationTexts): Change | undefined {
  const set = [...current.resources].filter(([path, text]) => previous?.resources.get(path) !== text);
  const gone = previous ? [...previous.resources.keys()].filter((path) => !current.resources.has(path)) : [];
  const { forbidden } = current;
  const same = previous && previous.forbidden.size === forbidden.size && [...forbidden].every((path) => previous.forbidden.has(path));
  return same && set.length + gone.length === 0 ? undefined : { set, gone, forbidden: [...forbidden] };
}

function isChange(change: unknown): change is Change {
  if (!isObject(change)) return false;
  const { set, gone, forbidden } = change;
  const isStringArray = (value: unknown, length?: number): boolean =>
    Array.isArray(value) && (length === undefined || value.length === length) && value.every((item) => typeof item === 'string');
  return isStringArray(gone) && isStringArray(forbidden) && Array.isArray(set) && set.every((pair) => isStringArray(pair, 2));
}
