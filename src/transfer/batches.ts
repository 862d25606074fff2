import type { GatewayError } from '../model/error';
import type { Flow, Sink } from '../model/stream';

/**
 * TLS brings at most 16 kB at a time; so small writes would cost more than everything else. Of 64, 128, 256 kB and 1 MiB this is the
 * fastest in most runs, and with 1 MiB the slowest when memory for large pieces is not at hand (bench/transfer.md).
 */
const BATCH_BYTES = 256 * 1024;
/** Some are filled while one is written: a megabyte, before the appliance has to wait. */
const MOST = 4;

/** What becomes of the batches: one at a time, in order. */
export interface Consumer {
  consume(batch: Buffer): Promise<void>;
}

/** Collects an answer into batches and holds it up while the consumer is behind. Memory stays at five batches. */
export class Batches implements Sink {
  readonly #consumer: Consumer;
  readonly #fault: (thrown: unknown) => GatewayError;
  readonly #onBytes: (bytes: number, total: number | undefined) => void;
  readonly #free: Buffer[] = [];
  #filling: Buffer | undefined;
  #filled = 0;
  #bytes = 0;
  #total: number | undefined;
  #flow: Flow | undefined;
  #waiting = 0;
  #paused = false;
  #chain: Promise<void> = Promise.resolve();
  #failed: GatewayError | undefined;
  #over = false;

  constructor(consumer: Consumer, fault: (thrown: unknown) => GatewayError, onBytes: (bytes: number, total: number | undefined) => void) {
    this.#consumer = consumer;
    this.#fault = fault;
    this.#onBytes = onBytes;
  }

  start(total: number | undefined, flow: Flow): void {
    this.#total = total;
    this.#flow = flow;
  }

  write(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      const batch = (this.#filling ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(BATCH_BYTES));
      const copied = chunk.copy(batch, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled === batch.length) this.#handOver();
    }
  }

  /** Resolves when the consumer has had everything, with the number of bytes. */
  async finish(): Promise<number> {
    if (this.#filled > 0) this.#handOver();
    await this.#chain;
    if (this.#failed) throw this.#failed;
    return this.#bytes;
  }

  /** Takes nothing more; resolves when the consumer is not at work any more. */
  async stop(): Promise<void> {
    this.#over = true;
    await this.#chain;
  }

  #handOver(): void {
    const batch = this.#filling as Buffer;
    const part = batch.subarray(0, this.#filled);
    this.#filling = undefined;
    this.#filled = 0;
    if (++this.#waiting >= MOST && !this.#paused) {
      this.#paused = true;
      this.#flow?.pause();
    }
    this.#chain = this.#chain.then(() => this.#consume(part, batch));
  }

  async #consume(part: Buffer, batch: Buffer): Promise<void> {
    try {
      if (this.#over || this.#failed) return;
      await this.#consumer.consume(part);
      this.#bytes += part.length;
      this.#onBytes(this.#bytes, this.#total);
    } catch (thrown) {
      this.#failed = this.#fault(thrown);
      this.#flow?.fail(this.#failed);
    } finally {
      this.#free.push(batch);
      this.#waiting--;
      if (this.#paused && this.#waiting < MOST) {
        this.#paused = false;
        this.#flow?.resume();
      }
    }
  }
}
