import { setTimeout as pause } from 'node:timers/promises';
import type { OpenFleetWork, LivingEngine, RunStore } from '../store/run-store';
import { ElapsedTime } from '../store/elapsed-time';

/** A process counts as alive for this many seconds after its last heartbeat. */
const ALIVE_SECONDS = 10;
/** Heartbeats and reads of the activity alternate, so an engine notices a run of another process within this time. */
const POLL_MS = 1000;
const RENEWAL_RETRY_MS = 250;
/** Within this time after its last heartbeat, this process still owns its work: no other process can have taken it over. */
export const HEARTBEAT_FRESH_MS = 7000;

interface HeartbeatOptions {
  readonly store: RunStore;
  readonly holder: string;
  readonly getFingerprint: () => string;
  /** Called about once a second with the open work of the fleet. */
  readonly onActivity: (activity: OpenFleetWork) => void;
  readonly onFault: (fault: unknown) => void;
}

/** Writes the heartbeat that tells other processes that this one is alive, and reads what the fleet has to do. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #polls = 0;
  #sinceRenewal: ElapsedTime | undefined;
  #renewing: Promise<void> | undefined;
  #isReading = false;
  #otherEngines: readonly LivingEngine[] = [];
  #ended = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#renew();
    const { onFault } = this.#options;
    // A read that waits for an unavailable database must not delay a heartbeat.
    this.#timer = setInterval(() => void (this.#polls++ % 2 === 0 ? this.#readActivity() : this.#renew()).catch(onFault), POLL_MS).unref();
  }

  /** The other living engines of the fleet at the time of the last heartbeat. */
  get otherEngines(): readonly LivingEngine[] {
    return this.#otherEngines;
  }

  /** Whether no other process can consider this process dead. */
  get isFresh(): boolean {
    return this.#sinceRenewal !== undefined && this.#sinceRenewal.ms < HEARTBEAT_FRESH_MS;
  }

  /** Resolves when `isFresh` is true again. */
  async whenFresh(): Promise<void> {
    while (!this.isFresh && !this.#ended) {
      await this.#renew().catch(() => undefined);
      if (!this.isFresh) await pause(RENEWAL_RETRY_MS);
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    clearInterval(this.#timer);
    await this.#renewing?.catch(() => undefined);
    await this.#options.store.removeHeartbeat(this.#options.holder).catch(() => undefined);
  }

  #renew(): Promise<void> {
    // One request at a time, so that a slow database gets no further load.
    this.#renewing ??= (async () => {
      const { store, holder, getFingerprint, onActivity } = this.#options;
      const sinceRequest = new ElapsedTime();
      try {
        const { engines, ...activity } = await store.recordHeartbeat(holder, ALIVE_SECONDS, getFingerprint());
        this.#sinceRenewal = sinceRequest;
        this.#otherEngines = engines.filter(({ id }) => id !== holder);
        onActivity(activity);
      } finally {
        this.#renewing = undefined;
      }
    })();
    return this.#renewing;
  }

  async #readActivity(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      this.#options.onActivity(await this.#options.store.readActivity());
    } finally {
      this.#isReading = false;
    }
  }
}
