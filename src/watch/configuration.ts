import { isWithinAny } from '../snapshot/place';
import { textOfComparison } from '../snapshot/text';
import { compareTexts, type Texts } from '../snapshot/texts';
import { isObject } from '../model/json';
import { sentence } from '../model/sentence';
import type { Look, Tracker } from './tracker';

type Pair = readonly [place: string, text: string];
type Change = { readonly set: readonly Pair[]; readonly gone: readonly string[]; readonly forbidden: readonly string[] };

/** So many resources in a line of the memory: one with all of them would be as long as the configuration. */
const A_LINE = 500;

/** The configuration of the last check, each resource as text. What cannot be read any more stays as it was. */
export class ConfigurationTracker implements Tracker<Texts> {
  readonly #appliance: string;
  #known: Texts | undefined;

  constructor(appliance: string) {
    this.#appliance = appliance;
  }

  look(data: Texts): Look {
    const before = this.#known;
    const now = before ? withUnread(before, data) : data;
    this.#known = now;
    const change = changeOf(before, now);
    if (!before) return { events: [], change, seen: { key: 'same' } };
    const comparison = change ? compareTexts(before, now) : undefined;
    if (!comparison || comparison.equal) return { events: [], change, seen: { key: 'same' } };
    const text = textOfComparison(comparison, this.#appliance, sentence`the last check`);
    return { events: [{ event: 'changed', ...comparison }], change, seen: { key: 'changed' }, envelope: { text } };
  }

  save(): unknown {
    return this.#known && { set: [], gone: [], forbidden: [...this.#known.forbidden] };
  }

  *rest(): Iterable<unknown> {
    if (!this.#known) return;
    const { resources, forbidden } = this.#known;
    const change = { gone: [], forbidden: [...forbidden] };
    let set: Pair[] = [];
    for (const pair of resources) {
      if (set.push(pair) < A_LINE) continue;
      yield { set, ...change };
      set = [];
    }
    if (set.length > 0) yield { set, ...change };
  }

  restore(saved: unknown): void {
    this.#known = undefined;
    this.apply(saved);
  }

  apply(change: unknown): void {
    if (!isChange(change)) throw new Error('another shape');
    const resources = new Map(this.#known?.resources);
    for (const place of change.gone) resources.delete(place);
    for (const [place, text] of change.set) resources.set(place, text);
    this.#known = { resources, forbidden: new Set(change.forbidden) };
  }
}

/** Nothing is known of what lies where nothing could be read this time. */
function withUnread(before: Texts, now: Texts): Texts {
  if (now.forbidden.size === 0) return now;
  const unread = [...before.resources].filter(([place]) => !now.resources.has(place) && isWithinAny(place, now.forbidden));
  return unread.length === 0 ? now : { ...now, resources: new Map([...unread, ...now.resources]) };
}

function changeOf(before: Texts | undefined, now: Texts): Change | undefined {
  const set = [...now.resources].filter(([place, text]) => before?.resources.get(place) !== text);
  const gone = before ? [...before.resources.keys()].filter((place) => !now.resources.has(place)) : [];
  const { forbidden } = now;
  const same = before && before.forbidden.size === forbidden.size && [...forbidden].every((place) => before.forbidden.has(place));
  return same && set.length + gone.length === 0 ? undefined : { set, gone, forbidden: [...forbidden] };
}

function isChange(change: unknown): change is Change {
  if (!isObject(change)) return false;
  const { set, gone, forbidden } = change;
  const isTexts = (value: unknown, length?: number): boolean =>
    Array.isArray(value) && (length === undefined || value.length === length) && value.every((one) => typeof one === 'string');
  return isTexts(gone) && isTexts(forbidden) && Array.isArray(set) && set.every((pair) => isTexts(pair, 2));
}
