import type { JsonObject } from '../body-shape';

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/** Many small JSON objects as UTF-8 outside of the heap. A string for each would need twice the memory. */
export class JsonStore {
  private readonly chunks: Buffer[] = [];
  /** Where each chunk begins, as a position. */
  private readonly starts: number[] = [];
  private end = 0;
  private used = 0;

  /** Stores an object and returns its position. */
  add(value: JsonObject): number {
    // JSON text has no line break of its own.
    const text = `${JSON.stringify(value)}\n`;
    const size = Buffer.byteLength(text);
    const last = this.chunks.at(-1);
    if (!last || this.used + size > last.length) this.addChunk(size);
    const position = this.end;
    this.chunks.at(-1)?.write(text, this.used);
    this.used += size;
    this.end += size;
    return position;
  }

  read(position: number): JsonObject {
    const index = this.findChunk(position);
    const chunk = this.chunks[index] ?? Buffer.alloc(0);
    const start = position - (this.starts[index] ?? 0);
    return JSON.parse(chunk.toString('utf8', start, chunk.indexOf(NEWLINE, start))) as JsonObject;
  }

  private addChunk(size: number): void {
    this.chunks.push(Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, size)));
    this.starts.push(this.end);
    this.used = 0;
  }

  /** The last chunk that begins at or before a position. */
  private findChunk(position: number): number {
    let [low, high] = [0, this.starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.starts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
