/** Holds bytes that could not be parsed yet and appends the next piece. It reuses its memory to spare the garbage collector. */
export class CarryBuffer {
  length = 0;
  #work: Buffer = Buffer.alloc(0);

  get bytes(): Buffer {
    return this.#work.subarray(0, this.length);
  }

  /** Returns the carried bytes with this piece appended; the carried bytes stay. */
  concat(piece: Buffer): Buffer {
    const length = this.length + piece.length;
    this.#ensureCapacity(length);
    piece.copy(this.#work, this.length);
    return this.#work.subarray(0, length);
  }

  /** Copies the rest of the chunk, because the chunk's memory is large and reused. */
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

/** Names of the open elements, concatenated. */
export class ElementStack {
  #names = Buffer.alloc(1024);
  readonly #ends: number[] = [];

  get depth(): number {
    return this.#ends.length;
  }

  /** Length of the innermost name in bytes; 0 when no element is open. */
  get topLength(): number {
    return (this.#ends.at(-1) ?? 0) - (this.#ends.at(-2) ?? 0);
  }

  push(buffer: Buffer, start: number, end: number): void {
    const from = this.#ends.at(-1) ?? 0;
    const to = from + end - start;
    if (to > this.#names.length) this.#names = Buffer.concat([this.#names], 2 * to);
    // A loop is faster than a copy for names of a few bytes.
    for (let at = start, into = from; at < end; at++, into++) this.#names[into] = buffer[at] as number;
    this.#ends.push(to);
  }

  pop(): void {
    this.#ends.pop();
  }

  /** True when the innermost name is at this position. */
  isTopAt(buffer: Buffer, start: number): boolean {
    const to = this.#ends.at(-1) ?? 0;
    for (let expected = this.#ends.at(-2) ?? 0, at = start; expected < to; expected++, at++)
      if (buffer[at] !== this.#names[expected]) return false;
    return true;
  }
}
