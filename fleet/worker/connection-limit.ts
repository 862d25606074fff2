import type { Gateway } from '@gateway-admin/node-red';

/** An open connection holds about 100 kB. */
export const MAX_CONNECTED_APPLIANCES = 200;

/** Limits the appliances with open connections, because a run may use thousands within the idle time of a connection. */
export class ConnectionLimit {
  /** The least recently used gateway is the first. */
  readonly #connected = new Set<Gateway>();
  readonly #max: number;

  constructor(max = MAX_CONNECTED_APPLIANCES) {
    this.#max = max;
  }

  /** Records that a gateway was used, and closes unused connections of the gateway whose last use is the longest ago. */
  recordUse(gateway: Gateway): void {
    this.#connected.delete(gateway);
    this.#connected.add(gateway);
    if (this.#connected.size <= this.#max) return;
    for (const oldest of this.#connected) {
      this.#connected.delete(oldest);
      oldest.closeIdleConnections();
      return;
    }
  }
}
