import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../store/database';
import type { RunStore } from '../store/run-store';

const STEP_INTERVAL_MS = 250;

export interface CoordinatorOptions {
  readonly database: Database;
  readonly store: RunStore;
  /** Jobs may have been sent, or a run may be over. */
  readonly onStep: (isOver: boolean) => void;
}

/** Leads runs from part to part. It keeps nothing itself: whoever takes its job next reads the ledger and goes on. */
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
      const isOver = await database.retryUntilAvailable(
        () => store.advanceRun(run),
        () => signal.aborted,
      );
      onStep(isOver);
      if (isOver) return 'done';
      await pause(STEP_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
    return 'later';
  }
}
