import type { GatewayError } from '../model/error';
import type { FlowControl, Sink } from '../model/stream';

/**
 * TLS brings at most 16 kB at a time; so small writes would cost more than everything else. Of 64, 128, 256 kB and 1 MiB this is the
 * fastest in most runs, and with 1 MiB the slowest when memory for large pieces is not at hand (bench/transfer.md).
 */
const BATCH_BYTES = 256 * 1024;
/** Some are filled while one is written: a megabyte, before the appliance has to wait. */
const MAX_PENDING_BATCHES = 4;

/** What becomes of the batches: one at a time, in order. */
export interface BatchConsumer {
  consume(batch: Buffer): Promise<void>;
}

/** Collects an answer into batches and holds it up while the consumer is behind. Memory stays at five batches. */
export class BatchingSink implements Sink {
  readonly #consumer: BatchConsumer;
  readonly #toError: (thrown: unknown) => GatewayError;
  readonly #onBytes: (bytes: number, total: number | undefined) => void;
  readonly #free: Buffer[] = [];
  #filling: Buffer | undefined;
  #filled = 0;
  #bytes = 0;
  #total: number | undefined;
  #flow: FlowControl | undefined;
  #pendingCount = 0;
  #isPaused = false;
  #chain: Promise<void> = Promise.resolve();
  #error: GatewayError | undefined;
  #isStopped = false;

  constructor(
    consumer: BatchConsumer,
    toError: (thrown: unknown) => GatewayError,
    onBytes: (bytes: number, total: number | undefined) => void,
  ) {
    this.#consumer = consumer;
    this.#toError = toError;
    this.#onBytes = onBytes;
  }

  start(total: number | undefined, flow: FlowControl): void {
    this.#total = total;
    this.#flow = flow;
  }

  write(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      const batch = (this.#filling ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(BATCH_BYTES));
      const copied = chunk.copy(batch, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled === batch.length) this.#flush();
    }
  }

  /** Resolves when the consumer has had everything, with the number of bytes. */
  async finish(): Promise<number> {
    if (this.#filled > 0) this.#flush();
    await this.#chain;
    if (this.#error) throw this.#error;
    return this.#bytes;
  }

  /** Takes nothing more; resolves when the consumer is not at work any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#chain;
  }

  #flush(): void {
    const batch = this.#filling as Buffer;
    const part = batch.subarray(0, this.#filled);
    this.#filling = undefined;
    this.#filled = 0;
    if (++this.#pendingCount >= MAX_PENDING_BATCHES && !this.#isPaused) {
      this.#isPaused = true;
      this.#flow?.pause();
    }
    this.#chain = this.#chain.then(() => this.#consume(part, batch));
  }

  async #consume(part: Buffer, batch: Buffer): Promise<void> {
    try {
      if (this.#isStopped || this.#error) return;
      await this.#consumer.consume(part);
      this.#bytes += part.length;
      this.#onBytes(this.#bytes, this.#total);
    } catch (thrown) {
      this.#error = this.#toError(thrown);
      this.#flow?.fail(this.#error);
    } finally {
      this.#free.push(batch);
      this.#pendingCount--;
      if (this.#isPaused && this.#pendingCount < MAX_PENDING_BATCHES) {
        this.#isPaused = false;
        this.#flow?.resume();
      }
    }
  }
}
