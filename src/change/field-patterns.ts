import { badInput } from '../model/error';
import { splitResourcePath } from '../model/path';
import { safeMessage, trusted } from '../model/safe-message';
import { toPointerSegment } from './compare';

export type TextMatcher = (text: string) => boolean;
/** The remaining segments of a pointer that leads into the current value. */
export type PointerRemainder = readonly TextMatcher[];

/** Maximum number of patterns. Each pattern is compared with every field of every resource. */
const MAX_PATTERNS = 200;

/**
 * Patterns for parts of the configuration. A name matches at any depth. A pointer starts with a slash at the root of the configuration.
 * `*` matches any characters of one name. Throws `BAD_INPUT` for a pattern that matches everything.
 */
export class FieldPatterns {
  readonly patterns: readonly string[];
  readonly #names: readonly TextMatcher[];
  readonly #pointers: readonly PointerRemainder[];

  constructor(patterns: readonly string[], label: 'ignore' | 'unordered') {
    if (patterns.length > MAX_PATTERNS)
      throw badInput(safeMessage`${trusted(label)} has ${patterns.length} entries, but at most ${MAX_PATTERNS} are allowed.`);
    for (const pattern of patterns) {
      if (/^[/*\s]*$/.test(pattern))
        throw badInput(
          safeMessage`${trusted(label)} has the entry ${JSON.stringify(pattern)}, which matches everything. Enter a field or a path.`,
        );
    }
    this.patterns = [...new Set(patterns)].sort();
    this.#names = this.patterns.filter((pattern) => !pattern.startsWith('/')).map(compileWildcard);
    this.#pointers = this.patterns
      .filter((pattern) => pattern.startsWith('/'))
      .map((pattern) => pattern.replace(/\/$/, '').slice(1).split('/').map(compileWildcard));
  }

  get isEmpty(): boolean {
    return this.patterns.length === 0;
  }

  matchesName(name: string): boolean {
    return this.#names.some((test) => test(name));
  }

  /** Returns whether one of the field names or JSON pointers selects the path. */
  coversPath(path: string): boolean {
    if (this.isEmpty) return false;
    const { segments, decoded } = splitPath(path);
    if (decoded.some((name) => this.matchesName(name))) return true;
    return this.#pointers.some((steps) => steps.length <= decoded.length && matchesSegments(steps, decoded, segments));
  }

  /** Returns the remaining segments of the pointers that lead into the resource. */
  pointersInto(path: string): PointerRemainder[] {
    const { segments, decoded } = splitPath(path);
    return this.#pointers
      .filter((steps) => steps.length > decoded.length && matchesSegments(steps.slice(0, decoded.length), decoded, segments))
      .map((steps) => steps.slice(decoded.length));
  }
}

/** Returns whether a pattern matches the whole field, and the remaining segments of the pointers that lead into it. */
export function matchNextPointerSegment(
  patterns: FieldPatterns,
  pointers: readonly PointerRemainder[],
  key: string,
): { isMatch: boolean; rests: readonly PointerRemainder[] } {
  const matching = pointers.filter(([first]) => first?.(key) === true || first?.(toPointerSegment(key).slice(1)) === true);
  return {
    isMatch: patterns.matchesName(key) || matching.some(({ length }) => length === 1),
    rests: matching.map((steps) => steps.slice(1)),
  };
}

/** Returns the pointers that lead into the array item with this index. */
export function selectPointersIntoItem(pointers: readonly PointerRemainder[], index: number): readonly PointerRemainder[] {
  return pointers.filter(([first]) => first?.(String(index)) === true);
}

function splitPath(path: string): { segments: readonly string[]; decoded: readonly string[] } {
  const segments = splitResourcePath(path);
  return { segments, decoded: segments.map((segment) => decodeURIComponent(segment)) };
}

/** Whether segments match a pattern, whose segments may be encoded or decoded. */
function matchesSegments(steps: PointerRemainder, decoded: readonly string[], segments: readonly string[]): boolean {
  return steps.every((test, index) => test(decoded[index] ?? '') || test(segments[index] ?? ''));
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
