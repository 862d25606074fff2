import { createHash } from 'node:crypto';
import { asGatewayError, GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import { Batches, type Consumer } from './batches';
import type { Checked, ContentCheck } from './content';
import { Malformed } from './malformed';
import type { Download } from '../model/stream';

/** Where a configuration goes. Methods may reject with a `GatewayError` only. */
export interface Output<S> {
  write(batch: Buffer): Promise<void>;
  /** Everything was written and is what it should be. */
  end(): Promise<S>;
  /** Leaves nothing behind. Never rejects. */
  discard(): Promise<void>;
}

export interface Received<S> {
  readonly bytes: number;
  /** Null when it was not asked for. */
  readonly sha256: string | null;
  /** Undefined when it was not checked. */
  readonly checked: Checked | undefined;
  readonly stored: S;
}

export interface ReceiverOptions<S> {
  readonly accept: string;
  readonly output: Output<S>;
  readonly check: ContentCheck | undefined;
  readonly hash: boolean;
  readonly onBytes: (bytes: number, total: number | undefined) => void;
}

/** Checks, hashes and stores one configuration while it streams in. What is short or broken is `BAD_RESPONSE`. */
export class Receiver<S> implements Download<Received<S>>, Consumer {
  readonly sink: Batches;
  readonly accept: string;
  readonly #options: ReceiverOptions<S>;
  readonly #hash: ReturnType<typeof createHash> | undefined;

  constructor(options: ReceiverOptions<S>) {
    this.#options = options;
    this.accept = options.accept;
    this.#hash = options.hash ? createHash('sha256') : undefined;
    this.sink = new Batches(this, badContent, options.onBytes);
  }

  async consume(batch: Buffer): Promise<void> {
    const { check, output } = this.#options;
    this.#hash?.update(batch);
    check?.write(batch);
    await output.write(batch);
  }

  async finish(): Promise<Received<S>> {
    const { check, output } = this.#options;
    const bytes = await this.sink.finish();
    if (bytes === 0) throw badContent(new Malformed('it is empty'));
    const checked = check && ended(check);
    const stored = await output.end();
    return { bytes, sha256: this.#hash?.digest('hex') ?? null, checked, stored };
  }

  async discard(): Promise<void> {
    await this.sink.stop();
    await this.#options.output.discard();
  }
}

function ended(check: ContentCheck): Checked {
  try {
    return check.end();
  } catch (thrown) {
    throw badContent(thrown);
  }
}

function badContent(thrown: unknown): GatewayError {
  if (!(thrown instanceof Malformed)) return asGatewayError(thrown);
  return new GatewayError(
    'BAD_RESPONSE',
    sentence`What the appliance sent is not a whole configuration: ${thrown.message}. Nothing was kept of it.`,
    {
      sent: true,
    },
  );
}
