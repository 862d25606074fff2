import { createHash } from 'node:crypto';
import { asGatewayError, GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { BatchingSink, type BatchConsumer } from './batching-sink';
import type { ContentCheckResult, ContentCheck } from './content-check';
import { MalformedContentError } from './malformed-content-error';
import type { Download } from '../model/stream';

/** Stores a configuration. Methods reject only with a `GatewayError`. */
export interface ConfigurationDestination<S> {
  write(batch: Buffer): Promise<void>;
  /** Finishes the stored configuration. Called once its content is complete and valid. */
  end(): Promise<S>;
  /** Removes everything that was written. Never rejects. */
  discard(): Promise<void>;
}

export interface ReceivedConfiguration<S> {
  readonly bytes: number;
  /** Hash of the content; null when hashing was off. */
  readonly sha256: string | null;
  /** Result of the content check; undefined when the check was off. */
  readonly checkResult: ContentCheckResult | undefined;
  readonly stored: S;
}

interface ConfigurationReceiverOptions<S> {
  readonly accept: string;
  readonly output: ConfigurationDestination<S>;
  readonly createCheck: () => ContentCheck;
  /** False skips the check, unless only the content can show that the response is complete (`Reply.hasUnverifiedEnd`). */
  readonly shouldCheck: boolean;
  readonly shouldHash: boolean;
  readonly onBytes: (bytes: number, total: number | undefined) => void;
}

/** Checks, hashes and stores one streamed configuration. Errors: `BAD_RESPONSE` for incomplete or malformed content. */
export class ConfigurationReceiver<S> implements Download<ReceivedConfiguration<S>>, BatchConsumer {
  readonly sink: BatchingSink;
  readonly accept: string;
  readonly #options: ConfigurationReceiverOptions<S>;
  readonly #hash: ReturnType<typeof createHash> | undefined;
  #check: ContentCheck | undefined;

  constructor(options: ConfigurationReceiverOptions<S>) {
    this.#options = options;
    this.accept = options.accept;
    this.#check = options.shouldCheck ? options.createCheck() : undefined;
    this.#hash = options.shouldHash ? createHash('sha256') : undefined;
    this.sink = new BatchingSink(this, toContentError, options.onBytes);
  }

  async consume(batch: Buffer): Promise<void> {
    if (this.sink.hasUnverifiedEnd) this.#check ??= this.#options.createCheck();
    this.#hash?.update(batch);
    this.#check?.write(batch);
    await this.#options.output.write(batch);
  }

  async finish(): Promise<ReceivedConfiguration<S>> {
    const bytes = await this.sink.finish();
    if (bytes === 0) throw toContentError(new MalformedContentError('it is empty'));
    const checkResult = this.#check && endCheck(this.#check);
    const stored = await this.#options.output.end();
    return { bytes, sha256: this.#hash?.digest('hex') ?? null, checkResult, stored };
  }

  async discard(): Promise<void> {
    await this.sink.stop();
    await this.#options.output.discard();
  }
}

function endCheck(check: ContentCheck): ContentCheckResult {
  try {
    return check.end();
  } catch (thrown) {
    throw toContentError(thrown);
  }
}

function toContentError(thrown: unknown): GatewayError {
  if (!(thrown instanceof MalformedContentError)) return asGatewayError(thrown);
  return new GatewayError(
    'BAD_RESPONSE',
    safeMessage`The appliance did not send a complete configuration: ${thrown.message}. Nothing was stored.`,
    {
      sent: true,
    },
  );
}
