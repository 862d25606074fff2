import { setTimeout as pause } from 'node:timers/promises';
import type { Ledger } from '../ledger/ledger';
import { Moment } from '../ledger/moment';

/** Seconds after its last sign of life in which a process counts as alive. */
const ALIVE = 10;
const RENEWAL_MS = 2500;
/** Less than that after the last sign of life nobody else can have taken over what is held here. */
export const SURE_MS = 7000;

/** That this process is alive, as the others see it. */
export class Presence {
  readonly #ledger: Ledger;
  readonly #holder: string;
  #timer: NodeJS.Timeout | undefined;
  #last: Moment | undefined;
  #renewing: Promise<void> | undefined;
  #ended = false;

  constructor(ledger: Ledger, holder: string) {
    this.#ledger = ledger;
    this.#holder = holder;
  }

  async start(): Promise<void> {
    await this.#renew();
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), RENEWAL_MS).unref();
  }

  /** Whether nobody can take this process for dead. */
  get isSure(): boolean {
    return this.#last !== undefined && this.#last.ago < SURE_MS;
  }

  /** When it is sure again. */
  async sure(): Promise<void> {
    while (!this.isSure && !this.#ended) {
      await this.#renew().catch(() => undefined);
      if (!this.isSure) await pause(RENEWAL_MS / 10);
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    clearInterval(this.#timer);
    await this.#renewing?.catch(() => undefined);
    await this.#ledger.absent(this.#holder).catch(() => undefined);
  }

  #renew(): Promise<void> {
    // One at a time: a slow database is not asked for more.
    this.#renewing ??= (async () => {
      const asked = new Moment();
      try {
        await this.#ledger.present(this.#holder, ALIVE);
        this.#last = asked;
      } finally {
        this.#renewing = undefined;
      }
    })();
    return this.#renewing;
  }
}
