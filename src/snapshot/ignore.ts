import { step } from '../change/compare';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { sentence } from '../model/sentence';
import { segmentsOf } from './place';

type Test = (text: string) => boolean;

/** Each of them is held against every field of every resource. */
const MOST = 200;

/**
 * What does not count in a snapshot. A name is that of a field, or a segment of a path, wherever it stands; what begins with a slash is a
 * pointer from the root of the configuration through the path into the resource, and names all that is below it. `*` stands for any
 * characters of one name. Errors: `BAD_INPUT` for what names everything.
 */
export class Ignore {
  readonly words: readonly string[];
  readonly #names: readonly Test[];
  readonly #pointers: readonly (readonly Test[])[];

  constructor(words: readonly string[] = []) {
    if (words.length > MOST)
      throw badInput(sentence`ignore has ${words.length} entries, but at most ${MOST} can be compared with every field.`);
    for (const word of words) {
      if (/^[/*\s]*$/.test(word))
        throw badInput(sentence`ignore has the entry ${JSON.stringify(word)}, which names everything. Name a field, or a path.`);
    }
    this.words = [...new Set(words)].sort();
    this.#names = this.words.filter((word) => !word.startsWith('/')).map(wildcard);
    this.#pointers = this.words
      .filter((word) => word.startsWith('/'))
      .map((word) => word.replace(/\/$/, '').slice(1).split('/').map(wildcard));
  }

  /** The same and more. */
  with(words: readonly string[] = []): Ignore {
    return words.length === 0 ? this : new Ignore([...this.words, ...words]);
  }

  /** Whether a resource does not count, nor what is below it. */
  place(place: string): boolean {
    if (this.words.length === 0) return false;
    const segments = segmentsOf(place);
    const raw = segments.map((segment) => decodeURIComponent(segment));
    if (raw.some((name) => this.#names.some((test) => test(name)))) return true;
    return this.#pointers.some((steps) => steps.length <= raw.length && this.#fits(steps, raw, segments));
  }

  /** What of a resource counts. */
  resource(place: string, resource: JsonObject): JsonObject {
    if (this.words.length === 0) return resource;
    const segments = segmentsOf(place);
    const raw = segments.map((segment) => decodeURIComponent(segment));
    // Only those that lead into this resource, from there on.
    const inner = this.#pointers.filter((steps) => steps.length > raw.length && this.#fits(steps.slice(0, raw.length), raw, segments));
    return this.#object(
      resource,
      inner.map((steps) => steps.slice(raw.length)),
    );
  }

  /** A segment may be given as it stands in the path, or as the name that it is. */
  #fits(steps: readonly Test[], raw: readonly string[], segments: readonly string[]): boolean {
    return steps.every((test, index) => test(raw[index] ?? '') || test(segments[index] ?? ''));
  }

  #object(of: JsonObject, pointers: readonly (readonly Test[])[]): JsonObject {
    const kept: [string, unknown][] = [];
    for (const [key, value] of Object.entries(of)) {
      const hit = pointers.filter(([first]) => first?.(key) === true || first?.(step(key).slice(1)) === true);
      if (this.#names.some((test) => test(key)) || hit.some(({ length }) => length === 1)) continue;
      kept.push([
        key,
        this.#value(
          value,
          hit.map((steps) => steps.slice(1)),
        ),
      ]);
    }
    return Object.fromEntries(kept);
  }

  #value(value: unknown, pointers: readonly (readonly Test[])[]): unknown {
    if (isObject(value)) return this.#object(value, pointers);
    if (!Array.isArray(value)) return value;
    return value.flatMap((item: unknown, index) => {
      const hit = pointers.filter(([first]) => first?.(String(index)) === true);
      return hit.some(({ length }) => length === 1)
        ? []
        : [
            this.#value(
              item,
              hit.map((steps) => steps.slice(1)),
            ),
          ];
    });
  }
}

/** A text with `*` for any characters; the pieces are looked for one behind the other, in linear time. */
export function wildcard(pattern: string): Test {
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
