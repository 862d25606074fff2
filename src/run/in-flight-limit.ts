import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';

/** Runs that are under way at one gateway, and a ceiling on them: what is more must not pile up in memory. */
export class InFlightLimit {
  readonly #connections: number;
  readonly #maxWaiting: number;
  #size = 0;

  /** `waiting`: how many there may be beside those that the connections are busy with. */
  constructor(connections: number, maxWaiting: number) {
    this.#connections = connections;
    this.#maxWaiting = maxWaiting;
  }

  /** Errors: `LIMIT` when too many are there already. */
  acquire(): void {
    if (this.#size >= this.#connections + this.#maxWaiting) {
      throw new GatewayError(
        'LIMIT',
        safeMessage`${this.#maxWaiting} messages wait for this appliance already, beside those that its ${this.#connections} connections are busy with: nothing was sent. Send them more slowly, or raise waiting in the appliance node.`,
        { sent: false },
      );
    }
    this.#size++;
  }

  release(): void {
    this.#size--;
  }

  /** Work that is nobody's load meanwhile: it waits for a person. */
  async withoutSlot<T>(work: () => Promise<T>): Promise<T> {
    this.#size--;
    try {
      return await work();
    } finally {
      this.#size++;
    }
  }
}
