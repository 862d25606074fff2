import { setTimeout as pause } from 'node:timers/promises';
import type { RunStore } from '../store/run-store';
import { ElapsedTime } from '../store/elapsed-time';

/** Seconds after its last sign of life in which a process counts as alive. */
const ALIVE_SECONDS = 10;
const RENEWAL_MS = 2500;
/** Less than that after the last sign of life nobody else can have taken over what is held here. */
export const FRESH_MS = 7000;

/** That this process is alive, as the others see it. */
export class Heartbeat {
  readonly #store: RunStore;
  readonly #holder: string;
  #timer: NodeJS.Timeout | undefined;
  #sinceRenewal: ElapsedTime | undefined;
  #renewing: Promise<void> | undefined;
  #ended = false;

  constructor(store: RunStore, holder: string) {
    this.#store = store;
    this.#holder = holder;
  }

  async start(): Promise<void> {
    await this.#renew();
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), RENEWAL_MS).unref();
  }

  /** Whether nobody can take this process for dead. */
  get isFresh(): boolean {
    return this.#sinceRenewal !== undefined && this.#sinceRenewal.ms < FRESH_MS;
  }

  /** When it is sure again. */
  async whenFresh(): Promise<void> {
    while (!this.isFresh && !this.#ended) {
      await this.#renew().catch(() => undefined);
      if (!this.isFresh) await pause(RENEWAL_MS / 10);
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    clearInterval(this.#timer);
    await this.#renewing?.catch(() => undefined);
    await this.#store.removeHeartbeat(this.#holder).catch(() => undefined);
  }

  #renew(): Promise<void> {
    // One at a time: a slow database is not asked for more.
    this.#renewing ??= (async () => {
      const sinceRequest = new ElapsedTime();
      try {
        await this.#store.recordHeartbeat(this.#holder, ALIVE_SECONDS);
        this.#sinceRenewal = sinceRequest;
      } finally {
        this.#renewing = undefined;
      }
    })();
    return this.#renewing;
  }
}
