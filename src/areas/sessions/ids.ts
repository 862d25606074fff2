/** Slots of an empty table; always a power of two. */
const SLOTS = 1024;
/** Another one in every process: ids that all want the same slot are not to be found beforehand. */
const SEED = Math.floor(Math.random() * 0x1_0000_0000);

/**
 * A set of ids that may be very many. A `Set` of 100,000 texts looks at texts all over the heap to find one, and keeps the collector
 * busy with each that is new: a tenth of what a long list costs. Here numbers are compared, and texts where those are equal.
 */
export class Ids {
  /** In the order in which they came, with their hashes. */
  readonly #ids: string[] = [];
  readonly #hashes: number[] = [];
  /** By hash, or in the next free slot: one more than the place of an id; 0 where none is. Never more than half full. */
  #slots = new Int32Array(SLOTS);
  readonly #seed: number;

  constructor(seed = SEED) {
    this.#seed = seed;
  }

  get size(): number {
    return this.#ids.length;
  }

  has(id: string): boolean {
    return this.#slots[this.#slotOf(id, hashOf(id, this.#seed))] !== 0;
  }

  /** Whether it is new. */
  add(id: string): boolean {
    const hash = hashOf(id, this.#seed);
    const slot = this.#slotOf(id, hash);
    if (this.#slots[slot] !== 0) return false;
    this.#hashes.push(hash);
    this.#slots[slot] = this.#ids.push(id);
    if (this.#ids.length * 2 >= this.#slots.length) this.#grow();
    return true;
  }

  /** Where the id is, or belongs. */
  #slotOf(id: string, hash: number): number {
    const slots = this.#slots;
    for (let slot = hash & (slots.length - 1); ; slot = (slot + 1) & (slots.length - 1)) {
      const place = (slots[slot] as number) - 1;
      if (place < 0 || (this.#hashes[place] === hash && this.#ids[place] === id)) return slot;
    }
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 4);
    for (const [place, hash] of this.#hashes.entries()) {
      let slot = hash & (slots.length - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = place + 1;
    }
    this.#slots = slots;
  }
}

/** FNV-1a, mixed once more since the slot is taken from its low bits; 30 bits, which V8 keeps as they are. */
function hashOf(id: string, seed: number): number {
  let hash = seed;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) & 0x3fffffff;
}
