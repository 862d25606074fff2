import { toPointerSegment } from '../change/compare';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import { splitResourcePath } from './resource-path';

type TextMatcher = (text: string) => boolean;

/** Each of them is held against every field of every resource. */
const MAX_PATTERNS = 200;

/**
 * What does not count in a snapshot. A name is that of a field, or a segment of a path, wherever it stands; what begins with a slash is a
 * pointer from the root of the configuration through the path into the resource, and names all that is below it. `*` stands for any
 * characters of one name. Errors: `BAD_INPUT` for what names everything.
 */
export class IgnoreRules {
  readonly patterns: readonly string[];
  readonly #names: readonly TextMatcher[];
  readonly #pointers: readonly (readonly TextMatcher[])[];

  constructor(patterns: readonly string[] = []) {
    if (patterns.length > MAX_PATTERNS)
      throw badInput(safeMessage`ignore has ${patterns.length} entries, but at most ${MAX_PATTERNS} can be compared with every field.`);
    for (const pattern of patterns) {
      if (/^[/*\s]*$/.test(pattern))
        throw badInput(safeMessage`ignore has the entry ${JSON.stringify(pattern)}, which names everything. Name a field, or a path.`);
    }
    this.patterns = [...new Set(patterns)].sort();
    this.#names = this.patterns.filter((pattern) => !pattern.startsWith('/')).map(compileWildcard);
    this.#pointers = this.patterns
      .filter((pattern) => pattern.startsWith('/'))
      .map((pattern) => pattern.replace(/\/$/, '').slice(1).split('/').map(compileWildcard));
  }

  /** The same and more. */
  extend(patterns: readonly string[] = []): IgnoreRules {
    return patterns.length === 0 ? this : new IgnoreRules([...this.patterns, ...patterns]);
  }

  /** Whether a resource does not count, nor what is below it. */
  ignoresPath(path: string): boolean {
    if (this.patterns.length === 0) return false;
    const segments = splitResourcePath(path);
    const decoded = segments.map((segment) => decodeURIComponent(segment));
    if (decoded.some((name) => this.#names.some((test) => test(name)))) return true;
    return this.#pointers.some((steps) => steps.length <= decoded.length && this.#matches(steps, decoded, segments));
  }

  /** What of a resource counts. */
  filterResource(path: string, resource: JsonObject): JsonObject {
    if (this.patterns.length === 0) return resource;
    const segments = splitResourcePath(path);
    const decoded = segments.map((segment) => decodeURIComponent(segment));
    // Only those that lead into this resource, from there on.
    const inner = this.#pointers.filter(
      (steps) => steps.length > decoded.length && this.#matches(steps.slice(0, decoded.length), decoded, segments),
    );
    return this.#filterObject(
      resource,
      inner.map((steps) => steps.slice(decoded.length)),
    );
  }

  /** A segment may be given as it stands in the path, or as the name that it is. */
  #matches(steps: readonly TextMatcher[], decoded: readonly string[], segments: readonly string[]): boolean {
    return steps.every((test, index) => test(decoded[index] ?? '') || test(segments[index] ?? ''));
  }

  #filterObject(source: JsonObject, pointers: readonly (readonly TextMatcher[])[]): JsonObject {
    const entries: [string, unknown][] = [];
    for (const [key, value] of Object.entries(source)) {
      const matching = pointers.filter(([first]) => first?.(key) === true || first?.(toPointerSegment(key).slice(1)) === true);
      if (this.#names.some((test) => test(key)) || matching.some(({ length }) => length === 1)) continue;
      entries.push([
        key,
        this.#filterValue(
          value,
          matching.map((steps) => steps.slice(1)),
        ),
      ]);
    }
    return Object.fromEntries(entries);
  }

  #filterValue(value: unknown, pointers: readonly (readonly TextMatcher[])[]): unknown {
    if (isObject(value)) return this.#filterObject(value, pointers);
    if (!Array.isArray(value)) return value;
    return value.flatMap((item: unknown, index) => {
      const matching = pointers.filter(([first]) => first?.(String(index)) === true);
      return matching.some(({ length }) => length === 1)
        ? []
        : [
            this.#filterValue(
              item,
              matching.map((steps) => steps.slice(1)),
            ),
          ];
    });
  }
}

/** A text with `*` for any characters; the pieces are looked for one behind the other, in linear time. */
export function compileWildcard(pattern: string): TextMatcher {
  const pieces = pattern.split('*');
  const first = pieces.shift() ?? '';
  const last = pieces.pop();
  if (last === undefined) return (text) => text === first;
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const piece of pieces) {
      const found = text.indexOf(piece, at);
      if (found < 0 || found + piece.length > end) return false;
      at = found + piece.length;
    }
    return true;
  };
}
