import { asGatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';

/** What may have come too early: it refers to something that is put back later. */
const RETRYABLE_CODES: ReadonlySet<ErrorCode> = new Set(['REJECTED', 'NOT_FOUND', 'INVALID_REQUEST']);

/**
 * Who goes first where several resources are put back at once: each waits for the one that it lies in, and what is refused is tried again
 * when nothing else is left to try, as long as that brings it forward.
 */
export class DependencyScheduler {
  readonly #resolvers = new Map<string, () => void>();
  readonly #completions = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  /** So many are worked on at a time; when all of them wait, nobody else comes. */
  readonly #concurrency: number;
  readonly #total: number;
  /** Those that wait for the one that they lie in. */
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
      // Of others like it, whoever works on them may not even begin.
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
