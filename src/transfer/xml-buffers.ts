/** What could not be read yet, and what came behind it. Always the same memory: a new one for every piece would keep the collector busy. */
export class CarryBuffer {
  length = 0;
  #work: Buffer = Buffer.alloc(0);

  get bytes(): Buffer {
    return this.#work.subarray(0, this.length);
  }

  /** With this piece behind it; what is carried stays as it is. */
  concat(piece: Buffer): Buffer {
    const length = this.length + piece.length;
    this.#ensureCapacity(length);
    piece.copy(this.#work, this.length);
    return this.#work.subarray(0, length);
  }

  /** A copy of what begins there: the rest must not keep a batch of a megabyte alive, nor change when its memory is used again. */
  store(chunk: Buffer, at: number): void {
    const rest = chunk.subarray(at);
    this.#ensureCapacity(rest.length);
    rest.copy(this.#work);
    this.length = rest.length;
  }

  #ensureCapacity(bytes: number): void {
    if (bytes <= this.#work.length) return;
    const larger = Buffer.allocUnsafeSlow(bytes * 2);
    this.#work.copy(larger, 0, 0, this.length);
    this.#work = larger;
  }
}

/** The names of the elements that are open, one behind the other. */
export class ElementStack {
  #names = Buffer.alloc(1024);
  readonly #ends: number[] = [];

  get depth(): number {
    return this.#ends.length;
  }

  /** Of the innermost one, in bytes; 0 where none is open. */
  get topLength(): number {
    return (this.#ends.at(-1) ?? 0) - (this.#ends.at(-2) ?? 0);
  }

  push(buffer: Buffer, start: number, end: number): void {
    const from = this.#ends.at(-1) ?? 0;
    const to = from + end - start;
    if (to > this.#names.length) this.#names = Buffer.concat([this.#names], 2 * to);
    // A name is a few bytes: a loop beats a call of copy.
    for (let at = start, into = from; at < end; at++, into++) this.#names[into] = buffer[at] as number;
    this.#ends.push(to);
  }

  pop(): void {
    this.#ends.pop();
  }

  /** Whether that of the innermost one stands there. */
  isTopAt(buffer: Buffer, start: number): boolean {
    const to = this.#ends.at(-1) ?? 0;
    for (let expected = this.#ends.at(-2) ?? 0, at = start; expected < to; expected++, at++)
      if (buffer[at] !== this.#names[expected]) return false;
    return true;
  }
}
