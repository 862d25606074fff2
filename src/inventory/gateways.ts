import { createHash } from 'node:crypto';
import { Gateway, type GatewayOptions } from '../gateway';
import { isObject } from '../model/json';
import type { Settings } from '../model/settings';

/** A deploy closes every inventory and then makes it anew, a file may lose an appliance for a moment: so long nothing is closed. */
const OUTLIVES_MS = 90_000;

/** A gateway, and who uses it. */
export interface KeptGateway {
  readonly gateway: Gateway;
  readonly fingerprint: string;
  users: number;
  closing: NodeJS.Timeout | undefined;
}

/** Gateways by their settings: whoever asks with the same ones gets the same, with its key and its sockets. */
export class Gateways {
  readonly #options: GatewayOptions;
  readonly #outlivesMs: number;
  readonly #kept = new Map<string, KeptGateway>();

  constructor(options: GatewayOptions = {}, outlivesMs = OUTLIVES_MS) {
    this.#options = options;
    this.#outlivesMs = outlivesMs;
  }

  /** How many are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /** Errors: `BAD_CONFIG`, as of `new Gateway`. */
  join(settings: Settings): KeptGateway {
    const fingerprint = fingerprintOf(settings);
    let kept = this.#kept.get(fingerprint);
    if (!kept) {
      kept = { gateway: new Gateway(settings, this.#options), fingerprint, users: 0, closing: undefined };
      this.#kept.set(fingerprint, kept);
    }
    clearTimeout(kept.closing);
    kept.closing = undefined;
    kept.users++;
    return kept;
  }

  /** The same if it is kept already. */
  rejoin(settings: Settings): KeptGateway | undefined {
    return this.#kept.has(fingerprintOf(settings)) ? this.join(settings) : undefined;
  }

  leave(kept: KeptGateway): void {
    if (--kept.users > 0) return;
    const close = (): void => {
      // What was begun is ended, an import of minutes too.
      if (kept.gateway.busy) {
        kept.closing = setTimeout(close, this.#outlivesMs).unref();
        return;
      }
      this.#kept.delete(kept.fingerprint);
      kept.gateway.close();
    };
    kept.closing = setTimeout(close, this.#outlivesMs).unref();
  }

  /** Ends them all at once, with what is under way. */
  close(): void {
    for (const { gateway, closing } of this.#kept.values()) {
      clearTimeout(closing);
      gateway.close();
    }
    this.#kept.clear();
  }
}

/** Of what is secret only a digest is kept as a name. */
function fingerprintOf(settings: Settings): string {
  const sorted = (_key: string, value: unknown): unknown =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) : value;
  return createHash('sha256').update(JSON.stringify(settings, sorted)).digest('base64');
}
