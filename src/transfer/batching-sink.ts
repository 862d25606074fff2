import type { GatewayError } from '../model/error';
import type { FlowControl, Sink } from '../model/stream';
import type { OperationContext } from '../model/operation';

/**
 * TLS delivers at most 16 kB at a time, and such small writes are costly. 256 kB was the fastest of 64, 128, 256 kB and 1 MiB in most runs
 * (bench/transfer.md).
 */
const BATCH_BYTES = 256 * 1024;
/** Maximum number of pending batches. One is written while others fill, up to 1 MiB, before the appliance must wait. */
const MAX_PENDING_BATCHES = 4;

/** Consumes batches one at a time, in order. */
export interface BatchConsumer {
  consume(batch: Buffer): Promise<void>;
}

/** Collects a response into batches and pauses it while the consumer lags. Memory stays below five batches. */
export class BatchingSink implements Sink {
  hasUnverifiedEnd = false;
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

  start(total: number | undefined, flow: FlowControl, hasUnverifiedEnd: boolean): void {
    this.hasUnverifiedEnd = hasUnverifiedEnd;
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

  /** Resolves with the number of bytes after the consumer has processed everything. */
  async finish(): Promise<number> {
    if (this.#filled > 0) this.#flush();
    await this.#chain;
    if (this.#error) throw this.#error;
    return this.#bytes;
  }

  /** Drops further batches. Resolves when the consumer is idle. */
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

const REPORT_INTERVAL_MS = 250;

/** Reports transferred bytes up to four times per second. `total` may be unknown. */
export function createProgressReporter(call: OperationContext): (bytes: number, total: number | undefined) => void {
  let nextReportAt = 0;
  return (bytes, total) => {
    const now = performance.now();
    if (now < nextReportAt) return;
    nextReportAt = now + REPORT_INTERVAL_MS;
    call.reportProgress({ state: 'transferring', bytes, ...(total !== undefined && { total }) });
  };
}
