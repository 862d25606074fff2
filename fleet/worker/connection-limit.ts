import type { Gateway } from '@gateway-admin/node-red';

/**
 * Maximum number of appliances with open connections. An open connection uses about 100 kB, and the longer it is open, the later the memory
 * of its objects is free. An engine works on 48 appliances at the same time by default.
 */
const MAX_CONNECTED_APPLIANCES = 64;

/** Limits the number of appliances with open connections, because a run may use thousands of them before idle connections close. */
export class ConnectedApplianceLimit {
  /** Gateways in the order of their last use, the least recently used first. */
  readonly #connected = new Set<Gateway>();
  readonly #max: number;

  constructor(max = MAX_CONNECTED_APPLIANCES) {
    this.#max = max;
  }

  /** Records that a gateway was used. Above the limit, it closes idle connections of the gateway that was not used for the longest time. */
  recordUse(gateway: Gateway): void {
    this.#connected.delete(gateway);
    this.#connected.add(gateway);
    if (this.#connected.size <= this.#max) return;
    for (const oldest of this.#connected) {
      this.#connected.delete(oldest);
      // To close a TLS connection takes as long as an item, so it waits for a turn of its own.
      setImmediate(() => {
        if (!this.#connected.has(oldest)) oldest.closeIdleConnections();
      });
      return;
    }
  }
}
