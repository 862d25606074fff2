import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../ledger/database';
import type { Ledger } from '../ledger/ledger';

const TICK_MS = 250;

export interface CoordinatorOptions {
  readonly database: Database;
  readonly ledger: Ledger;
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

  async lead(run: string): Promise<'done' | 'later'> {
    const { database, ledger, onStep } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const isOver = await database.lasting(
        () => ledger.advance(run),
        () => signal.aborted,
      );
      onStep(isOver);
      if (isOver) return 'done';
      await pause(TICK_MS, undefined, { signal }).catch(() => undefined);
    }
    return 'later';
  }
}
