/** As many bits as V8 keeps in a number without memory of its own. */
const SMALL_INTEGER_MASK = 0x3fffffff;
/** What tells two ids of one appliance apart is at their end. */
const HASHED_LENGTH = 8;

/**
 * The ids seen. A `Set` of texts looks at each of them again whenever it grows, wherever in memory they lie, and takes a tenth of the
 * time of a whole list; numbers made of their ends lie together. Two ids with the same number, rare unless someone wants it, go into
 * a `Set`: it is never worse than that alone.
 */
export class SessionIdSet {
  size = 0;
  readonly #byHash = new Map<number, string>();
  #collisions: Set<string> | undefined;

  has(id: string): boolean {
    return this.#byHash.get(hashIdEnd(id)) === id || this.#collisions?.has(id) === true;
  }

  /** False if it was seen before. */
  add(id: string): boolean {
    const hash = hashIdEnd(id);
    const known = this.#byHash.get(hash);
    if (known === undefined) this.#byHash.set(hash, id);
    else if (known === id || this.#collisions?.has(id)) return false;
    else (this.#collisions ??= new Set()).add(id);
    this.size++;
    return true;
  }
}

/** A number made of the end of an id. */
export function hashIdEnd(id: string): number {
  let number = 0;
  for (let at = Math.max(0, id.length - HASHED_LENGTH); at < id.length; at++) number = (number * 31 + id.charCodeAt(at)) | 0;
  return number & SMALL_INTEGER_MASK;
}
