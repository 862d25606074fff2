/** As many bits as V8 keeps in a number without memory of its own. */
const BITS = 0x3fffffff;
/** What tells two ids of one appliance apart is at their end. */
const END = 8;

/**
 * The ids seen. A `Set` of texts looks at each of them again whenever it grows, wherever in memory they lie, and takes a tenth of the
 * time of a whole list; numbers made of their ends lie together. Two ids with the same number, rare unless someone wants it, go into
 * a `Set`: it is never worse than that alone.
 */
export class SeenIds {
  size = 0;
  readonly #byEnd = new Map<number, string>();
  #others: Set<string> | undefined;

  has(id: string): boolean {
    return this.#byEnd.get(endOf(id)) === id || this.#others?.has(id) === true;
  }

  /** False if it was seen before. */
  add(id: string): boolean {
    const end = endOf(id);
    const first = this.#byEnd.get(end);
    if (first === undefined) this.#byEnd.set(end, id);
    else if (first === id || this.#others?.has(id)) return false;
    else (this.#others ??= new Set()).add(id);
    this.size++;
    return true;
  }
}

/** A number made of the end of an id. */
export function endOf(id: string): number {
  let number = 0;
  for (let at = Math.max(0, id.length - END); at < id.length; at++) number = (number * 31 + id.charCodeAt(at)) | 0;
  return number & BITS;
}
