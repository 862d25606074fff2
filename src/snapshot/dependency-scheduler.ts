import { asGatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';

/** Error codes that may mean that a referenced resource is not restored yet. */
const RETRYABLE_CODES: ReadonlySet<ErrorCode> = new Set(['REJECTED', 'NOT_FOUND', 'INVALID_REQUEST']);

/**
 * Orders resources that are restored in parallel. Each waits for its parent. A refused one is tried again when all others are done or
 * waiting, as long as another one has succeeded since.
 */
export class DependencyScheduler {
  readonly #resolvers = new Map<string, () => void>();
  readonly #completions = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  /** Items that run at the same time. If all of them wait, no further item can start. */
  readonly #concurrency: number;
  readonly #total: number;
  /** Number of items that wait for their parent. */
  #waitingForParent = 0;
  #finished = 0;
  #succeeded = 0;
  #isStopped = false;

  constructor(paths: readonly string[], concurrency: number) {
    for (const path of paths) this.#completions.set(path, new Promise((resolve) => this.#resolvers.set(path, resolve)));
    this.#total = paths.length;
    this.#concurrency = concurrency;
  }

  async run(path: string, work: () => Promise<void>): Promise<void> {
    await this.#waitForParent(path);
    try {
      await this.#runWithRetry(work);
      this.#succeeded++;
    } finally {
      this.#finished++;
      this.#resolvers.get(path)?.();
      this.#resumeNext();
    }
  }

  async #runWithRetry(work: () => Promise<void>): Promise<void> {
    const succeeded = this.#succeeded;
    try {
      await work();
    } catch (thrown) {
      // The caller does not start further items after such an error.
      if (!RETRYABLE_CODES.has(asGatewayError(thrown).code)) this.#isStopped = true;
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        this.#resumeNext();
      });
      if (this.#isStopped || this.#succeeded === succeeded) throw thrown;
      await this.#runWithRetry(work);
    }
  }

  #resumeNext(): void {
    if (this.#isStopped) for (const resume of this.#waiting.splice(0)) resume();
    const idle = this.#waiting.length + this.#waitingForParent;
    if (this.#finished + idle === this.#total || idle >= this.#concurrency) this.#waiting.shift()?.();
  }

  async #waitForParent(path: string): Promise<void> {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = this.#completions.get(path.slice(0, end));
      if (!parent) continue;
      this.#waitingForParent++;
      this.#resumeNext();
      await parent;
      this.#waitingForParent--;
      return;
    }
  }
}
