import { FieldPatterns, selectPointersIntoItem, matchNextPointerSegment, type PointerRemainder } from '../change/field-patterns';
import { isObject, type JsonObject } from '../model/json';

/**
 * Decides what does not count in a snapshot: the parts of the configuration that the patterns cover, and everything below them. Throws
 * `BAD_INPUT` for a pattern that matches everything.
 */
export class IgnoreRules extends FieldPatterns {
  constructor(patterns: readonly string[] = []) {
    super(patterns, 'ignore');
  }

  /** Returns rules with additional patterns. */
  extend(patterns: readonly string[] = []): IgnoreRules {
    return patterns.length === 0 ? this : new IgnoreRules([...this.patterns, ...patterns]);
  }

  /** Returns whether a resource and everything below it is ignored. */
  ignoresPath(path: string): boolean {
    return this.coversPath(path);
  }

  /** Returns the resource without its ignored fields. */
  filterResource(path: string, resource: JsonObject): JsonObject {
    return this.isEmpty ? resource : this.#filterObject(resource, this.pointersInto(path));
  }

  #filterObject(source: JsonObject, pointers: readonly PointerRemainder[]): JsonObject {
    const entries = Object.entries(source).flatMap(([key, value]): [string, unknown][] => {
      const { isMatch, rests } = matchNextPointerSegment(this, pointers, key);
      return isMatch ? [] : [[key, this.#filterValue(value, rests)]];
    });
    return Object.fromEntries(entries);
  }

  #filterValue(value: unknown, pointers: readonly PointerRemainder[]): unknown {
    if (isObject(value)) return this.#filterObject(value, pointers);
    if (!Array.isArray(value)) return value;
    return value.flatMap((item: unknown, index) => {
      const matching = selectPointersIntoItem(pointers, index);
      if (matching.some(({ length }) => length === 1)) return [];
      const rests = matching.map((steps) => steps.slice(1));
      return [this.#filterValue(item, rests)];
    });
  }
}
