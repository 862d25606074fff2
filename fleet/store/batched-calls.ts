import { isDatabaseUnavailable } from './database';

/** Maximum number of calls in a batch, which keeps the statement and its parameters short. */
const MAX_BATCH_SIZE = 64;

interface WaitingCall<I, O> {
  readonly input: I;
  resolve(output: O): void;
  reject(reason: unknown): void;
}

/**
 * Executes calls that arrive at about the same time with one statement. While a batch runs, further calls wait for the next one, so no call
 * gets data from before it was made.
 */
export class BatchedCalls<I, O> {
  readonly #execute: (inputs: readonly I[]) => Promise<readonly O[]>;
  readonly #getGroup: (input: I) => string;
  #waiting: WaitingCall<I, O>[] = [];
  #isRunning = false;

  /** `execute` gives one output for each input, in their order. A batch has only inputs of one group. */
  constructor(execute: (inputs: readonly I[]) => Promise<readonly O[]>, getGroup: (input: I) => string = () => '') {
    this.#execute = execute;
    this.#getGroup = getGroup;
  }

  run(input: I): Promise<O> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject });
      if (!this.#isRunning) void this.#runBatches();
    });
  }

  async #runBatches(): Promise<void> {
    this.#isRunning = true;
    // Calls of the same turn of the event loop join the first batch.
    await new Promise((resolve) => setImmediate(resolve));
    for (let batch = this.#takeBatch(); batch.length > 0; batch = this.#takeBatch()) await this.#runBatch(batch);
    this.#isRunning = false;
  }

  #takeBatch(): WaitingCall<I, O>[] {
    const [first] = this.#waiting;
    if (!first) return [];
    const group = this.#getGroup(first.input);
    const batch = this.#waiting.filter(({ input }) => this.#getGroup(input) === group).slice(0, MAX_BATCH_SIZE);
    const taken = new Set(batch);
    this.#waiting = this.#waiting.filter((call) => !taken.has(call));
    return batch;
  }

  async #runBatch(calls: readonly WaitingCall<I, O>[]): Promise<void> {
    try {
      const outputs = await this.#execute(calls.map(({ input }) => input));
      for (const [index, call] of calls.entries()) call.resolve(outputs[index] as O);
    } catch (thrown) {
      // The database rejected the batch because of one of its calls, and the others must not fail with it.
      if (calls.length > 1 && !isDatabaseUnavailable(thrown)) for (const call of calls) await this.#runBatch([call]);
      else for (const call of calls) call.reject(thrown);
    }
  }
}
