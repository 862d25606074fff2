import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';

/** Limits the runs in flight at one gateway, so that waiting runs do not fill the memory. */
export class InFlightLimit {
  readonly #connections: number;
  readonly #maxWaiting: number;
  #size = 0;

  /** `maxWaiting` counts the runs beyond one per connection. */
  constructor(connections: number, maxWaiting: number) {
    this.#connections = connections;
    this.#maxWaiting = maxWaiting;
  }

  /** Takes a slot. Errors: `LIMIT` when the limit is reached. */
  acquire(): void {
    if (this.#size >= this.#connections + this.#maxWaiting) {
      throw new GatewayError(
        'LIMIT',
        safeMessage`Too many messages: ${this.#maxWaiting} wait for this appliance already, and its ${this.#connections} connections are busy. Nothing was sent. Send messages more slowly, or raise waiting in the appliance node.`,
        { sent: false },
      );
    }
    this.#size++;
  }

  release(): void {
    this.#size--;
  }

  /** Gives up the slot during `work`, which waits for a person. */
  async withoutSlot<T>(work: () => Promise<T>): Promise<T> {
    this.#size--;
    try {
      return await work();
    } finally {
      this.#size++;
    }
  }
}
