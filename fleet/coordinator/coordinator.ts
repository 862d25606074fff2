import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../store/database';
import type { RunStore, CoordinatorStepResult } from '../store/run-store';

const STEP_INTERVAL_MS = 250;

interface CoordinatorOptions {
  readonly database: Database;
  readonly store: RunStore;
  /** Called after each step. */
  readonly onStep: (result: CoordinatorStepResult) => void;
}

/** Leads runs from batch to batch. It keeps no state of its own, so another process can continue from the run store. */
export class Coordinator {
  readonly #options: CoordinatorOptions;
  readonly #stop = new AbortController();

  constructor(options: CoordinatorOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#stop.abort();
  }

  async leadRun(run: string): Promise<'done' | 'later'> {
    const { database, store, onStep } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const result = await database.retryUntilAvailable(
        () => store.advanceRun(run),
        () => signal.aborted,
      );
      onStep(result);
      if (result.isOver) return 'done';
      await pause(STEP_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
    return 'later';
  }
}
