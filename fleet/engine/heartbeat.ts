import { setTimeout as pause } from 'node:timers/promises';
import type { RunStore } from '../store/run-store';
import { ElapsedTime } from '../store/elapsed-time';

/** A process counts as alive for this many seconds after its last heartbeat. */
const ALIVE_SECONDS = 10;
const RENEWAL_MS = 2500;
/** Within this time after its last heartbeat, this process still owns its work: no other process can have taken it over. */
export const HEARTBEAT_FRESH_MS = 7000;

/** Writes the heartbeat that tells other processes that this one is alive. */
export class Heartbeat {
  readonly #store: RunStore;
  readonly #holder: string;
  readonly #getFingerprint: () => string;
  #timer: NodeJS.Timeout | undefined;
  #sinceRenewal: ElapsedTime | undefined;
  #renewing: Promise<void> | undefined;
  #ended = false;

  constructor(store: RunStore, holder: string, getFingerprint: () => string) {
    this.#store = store;
    this.#holder = holder;
    this.#getFingerprint = getFingerprint;
  }

  async start(): Promise<void> {
    await this.#renew();
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), RENEWAL_MS).unref();
  }

  /** Whether no other process can consider this process dead. */
  get isFresh(): boolean {
    return this.#sinceRenewal !== undefined && this.#sinceRenewal.ms < HEARTBEAT_FRESH_MS;
  }

  /** Resolves when `isFresh` is true again. */
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
    // One request at a time, so that a slow database gets no further load.
    this.#renewing ??= (async () => {
      const sinceRequest = new ElapsedTime();
      try {
        await this.#store.recordHeartbeat(this.#holder, ALIVE_SECONDS, this.#getFingerprint());
        this.#sinceRenewal = sinceRequest;
      } finally {
        this.#renewing = undefined;
      }
    })();
    return this.#renewing;
  }
}
