import { GatewayError } from '../model/error';
import { sentence } from '../model/sentence';

/** Runs that are under way at one gateway, and a ceiling on them: what is more must not pile up in memory. */
export class Crowd {
  readonly #connections: number;
  readonly #waiting: number;
  #size = 0;

  /** `waiting`: how many there may be beside those that the connections are busy with. */
  constructor(connections: number, waiting: number) {
    this.#connections = connections;
    this.#waiting = waiting;
  }

  /** Errors: `LIMIT` when too many are there already. */
  enter(): void {
    if (this.#size >= this.#connections + this.#waiting) {
      throw new GatewayError(
        'LIMIT',
        sentence`${this.#waiting} messages wait for this appliance already, beside those that its ${this.#connections} connections are busy with: nothing was sent. Send them more slowly, or raise waiting in the appliance node.`,
        { sent: false },
      );
    }
    this.#size++;
  }

  leave(): void {
    this.#size--;
  }

  /** Work that is nobody's load meanwhile: it waits for a person. */
  async outside<T>(work: () => Promise<T>): Promise<T> {
    this.#size--;
    try {
      return await work();
    } finally {
      this.#size++;
    }
  }
}
