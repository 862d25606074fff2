import { isObject, type JsonObject } from '../model/json';
import { maskResourceSecrets, toComparableText } from './compare';
import { FieldPatterns, selectPointersIntoItem, matchNextPointerSegment, type PointerRemainder } from './field-patterns';
import { isHyperlink } from './hyperlinks';
import { readListItemName } from './merge-for-put';

/** A list item with the texts that decide its position in the list. */
interface SortedItem {
  readonly item: unknown;
  readonly name: string;
  readonly text: string;
}

/**
 * The lists whose order does not count, because the appliance returns them in another order each time. A pattern is the name of a list, or
 * a pointer to one. Throws `BAD_INPUT` for a pattern that matches everything.
 */
export class UnorderedLists extends FieldPatterns {
  constructor(patterns: readonly string[] = []) {
    super(patterns, 'unordered');
  }

  /** Returns rules with additional patterns. */
  extend(patterns: readonly string[] = []): UnorderedLists {
    return patterns.length === 0 ? this : new UnorderedLists([...this.patterns, ...patterns]);
  }

  /** Returns the resource with its unordered lists sorted: by name, then by content. */
  sort(path: string, resource: JsonObject): JsonObject {
    return this.isEmpty ? resource : this.#sortObject(resource, this.pointersInto(path));
  }

  /** Returns the desired resource with the items of its unordered lists in the order of the current resource. */
  align(path: string, desired: JsonObject, current: JsonObject | undefined): JsonObject {
    return this.isEmpty || !current ? desired : this.#alignObject(desired, current, this.pointersInto(path));
  }

  #sortObject(source: JsonObject, pointers: readonly PointerRemainder[]): JsonObject {
    const entries = Object.entries(source).map(([key, value]): [string, unknown] => {
      const { isMatch, rests } = matchNextPointerSegment(this, pointers, key);
      const sorted = this.#sortValue(value, rests);
      return [key, isMatch && Array.isArray(sorted) ? sortItems(sorted) : sorted];
    });
    return Object.fromEntries(entries);
  }

  #sortValue(value: unknown, pointers: readonly PointerRemainder[]): unknown {
    if (isObject(value)) return this.#sortObject(value, pointers);
    if (!Array.isArray(value)) return value;
    return value.map((item: unknown, index) => this.#sortValue(item, intoItem(pointers, index)));
  }

  #alignObject(desired: JsonObject, current: JsonObject, pointers: readonly PointerRemainder[]): JsonObject {
    const entries = Object.entries(desired).map(([key, value]): [string, unknown] => {
      const { isMatch, rests } = matchNextPointerSegment(this, pointers, key);
      const counterpart = Object.hasOwn(current, key) ? current[key] : undefined;
      const aligned = isMatch && Array.isArray(value) && Array.isArray(counterpart) ? this.#alignItems(value, counterpart, rests) : value;
      return [key, this.#alignValue(aligned, counterpart, rests)];
    });
    return Object.fromEntries(entries);
  }

  #alignValue(desired: unknown, current: unknown, pointers: readonly PointerRemainder[]): unknown {
    if (isObject(desired)) return isObject(current) ? this.#alignObject(desired, current, pointers) : desired;
    if (!Array.isArray(desired) || !Array.isArray(current)) return desired;
    return desired.map((item: unknown, index) => this.#alignValue(item, current[index], intoItem(pointers, index)));
  }

  /** Moves each item to the index of an equal current item, or else of one with its name. Other items fill the rest. */
  #alignItems(desired: readonly unknown[], current: readonly unknown[], pointers: readonly PointerRemainder[]): unknown[] {
    const describe = (item: unknown, index: number): SortedItem => describeItem(this.#sortValue(item, intoItem(pointers, index)));
    const wanted = desired.map(describe);
    const present = current.map(describe);
    const targets = new Map<number, number>();
    for (const key of ['text', 'name'] as const) {
      const freeIndexes = new Map<string, number[]>();
      const taken = new Set(targets.values());
      present.forEach(({ [key]: value }, index) => {
        if (value === '' || taken.has(index)) return;
        const indexes = freeIndexes.get(value);
        if (indexes) indexes.push(index);
        else freeIndexes.set(value, [index]);
      });
      for (const indexes of freeIndexes.values()) indexes.reverse();
      wanted.forEach(({ [key]: value }, index) => {
        const target = targets.has(index) ? undefined : freeIndexes.get(value)?.pop();
        if (target !== undefined) targets.set(index, target);
      });
    }
    const targetOf = (index: number): number => targets.get(index) ?? Number.MAX_SAFE_INTEGER;
    const placed = new Map([...targets].filter(([, target]) => target < desired.length).map(([index, target]) => [target, index]));
    const others = [...desired.keys()].filter((index) => targetOf(index) >= desired.length).sort((a, b) => targetOf(a) - targetOf(b));
    let next = 0;
    return desired.map((_, place) => desired[placed.get(place) ?? others[next++] ?? place]);
  }
}

function intoItem(pointers: readonly PointerRemainder[], index: number): readonly PointerRemainder[] {
  return selectPointersIntoItem(pointers, index).map((steps) => steps.slice(1));
}

function sortItems(items: readonly unknown[]): unknown[] {
  return items
    .map(describeItem)
    .sort((a, b) => compareTexts(a.name, b.name) || compareTexts(a.text, b.text))
    .map(({ item }) => item);
}

function describeItem(item: unknown): SortedItem {
  return { item, name: readListItemName(item) ?? '', text: JSON.stringify(toComparable(maskResourceSecrets(item))) };
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the same text for values that a comparison treats as equal. Links and missing values do not count. */
function toComparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toComparable);
  if (isObject(value)) {
    const pairs = Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
      const isNothing = item === null || item === undefined || isHyperlink(item) || (Array.isArray(item) && item.length === 0);
      return isNothing ? [] : [[key, toComparable(item)]];
    });
    return pairs.sort(([a], [b]) => compareTexts(a, b));
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? toComparableText(value) : null;
}
