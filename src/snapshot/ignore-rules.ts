import { toPointerSegment } from '../change/compare';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import { splitResourcePath } from './resource-path';

type TextMatcher = (text: string) => boolean;

/** Each pattern is compared with every field of every resource. */
const MAX_PATTERNS = 200;

/**
 * Decides what does not count in a snapshot. A name matches fields and path segments at any depth. A pointer starts with a slash at the
 * root of the configuration and covers everything below it. `*` matches any characters of one name. Throws `BAD_INPUT` for a pattern that
 * matches everything.
 */
export class IgnoreRules {
  readonly patterns: readonly string[];
  readonly #names: readonly TextMatcher[];
  readonly #pointers: readonly (readonly TextMatcher[])[];

  constructor(patterns: readonly string[] = []) {
    if (patterns.length > MAX_PATTERNS)
      throw badInput(safeMessage`ignore has ${patterns.length} entries, but at most ${MAX_PATTERNS} are allowed.`);
    for (const pattern of patterns) {
      if (/^[/*\s]*$/.test(pattern))
        throw badInput(safeMessage`ignore has the entry ${JSON.stringify(pattern)}, which matches everything. Enter a field or a path.`);
    }
    this.patterns = [...new Set(patterns)].sort();
    this.#names = this.patterns.filter((pattern) => !pattern.startsWith('/')).map(compileWildcard);
    this.#pointers = this.patterns
      .filter((pattern) => pattern.startsWith('/'))
      .map((pattern) => pattern.replace(/\/$/, '').slice(1).split('/').map(compileWildcard));
  }

  /** Returns rules with additional patterns. */
  extend(patterns: readonly string[] = []): IgnoreRules {
    return patterns.length === 0 ? this : new IgnoreRules([...this.patterns, ...patterns]);
  }

  /** Returns whether a resource and everything below it is ignored. */
  ignoresPath(path: string): boolean {
    if (this.patterns.length === 0) return false;
    const segments = splitResourcePath(path);
    const decoded = segments.map((segment) => decodeURIComponent(segment));
    if (decoded.some((name) => this.#names.some((test) => test(name)))) return true;
    return this.#pointers.some((steps) => steps.length <= decoded.length && this.#matches(steps, decoded, segments));
  }

  /** Returns the resource without its ignored fields. */
  filterResource(path: string, resource: JsonObject): JsonObject {
    if (this.patterns.length === 0) return resource;
    const segments = splitResourcePath(path);
    const decoded = segments.map((segment) => decodeURIComponent(segment));
    // Only pointers that lead into this resource count.
    const inner = this.#pointers.filter(
      (steps) => steps.length > decoded.length && this.#matches(steps.slice(0, decoded.length), decoded, segments),
    );
    return this.#filterObject(
      resource,
      inner.map((steps) => steps.slice(decoded.length)),
    );
  }

  /** A segment may be given encoded or decoded. */
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

/** Compiles a text in which `*` matches any characters. Matching takes linear time. */
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
