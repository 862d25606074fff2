/** Mask of a hash: V8 stores integers of up to 30 bits without extra memory. */
const SMALL_INTEGER_MASK = 0x3fffffff;
/** Number of hashed characters. Ids of one appliance differ at their ends. */
const HASHED_LENGTH = 8;

/**
 * A set of session ids, keyed by a hash of their ends. A `Set` of strings rehashes every string when it grows, which takes a tenth of
 * the time of a large list. Ids with the same hash go into a plain `Set`, so chosen ids cannot make it slower than that.
 */
export class SessionIdSet {
  size = 0;
  readonly #byHash = new Map<number, string>();
  #collisions: Set<string> | undefined;

  has(id: string): boolean {
    return this.#byHash.get(hashLastCharacters(id)) === id || this.#collisions?.has(id) === true;
  }

  /** Adds an id. Returns false if the set already has it. */
  add(id: string): boolean {
    const hash = hashLastCharacters(id);
    const known = this.#byHash.get(hash);
    if (known === undefined) this.#byHash.set(hash, id);
    else if (known === id || this.#collisions?.has(id)) return false;
    else (this.#collisions ??= new Set()).add(id);
    this.size++;
    return true;
  }
}

/** Hashes the last eight characters of an id. */
export function hashLastCharacters(id: string): number {
  let hash = 0;
  for (let at = Math.max(0, id.length - HASHED_LENGTH); at < id.length; at++) hash = (hash * 31 + id.charCodeAt(at)) | 0;
  return hash & SMALL_INTEGER_MASK;
}
