import { createHash } from 'node:crypto';
import { Gateway, type GatewayOptions } from '../gateway';
import { isObject } from '../model/json';
import type { Settings } from '../model/settings';

/** A deploy closes every inventory and then makes it anew, a file may lose an appliance for a moment: so long nothing is closed. */
const RETAIN_AFTER_CLOSE_MS = 90_000;

/** A gateway, and who uses it. */
export interface SharedGateway {
  readonly gateway: Gateway;
  readonly fingerprint: string;
  userCount: number;
  closeTimer: NodeJS.Timeout | undefined;
}

/** Gateways by their settings: whoever asks with the same ones gets the same, with its key and its sockets. */
export class GatewayRegistry {
  readonly #options: GatewayOptions;
  readonly #retainMs: number;
  readonly #gateways = new Map<string, SharedGateway>();

  constructor(options: GatewayOptions = {}, retainMs = RETAIN_AFTER_CLOSE_MS) {
    this.#options = options;
    this.#retainMs = retainMs;
  }

  /** How many are kept. */
  get size(): number {
    return this.#gateways.size;
  }

  /** Errors: `BAD_CONFIG`, as of `new Gateway`. */
  acquire(settings: Settings): SharedGateway {
    const fingerprint = settingsFingerprint(settings);
    let shared = this.#gateways.get(fingerprint);
    if (!shared) {
      shared = { gateway: new Gateway(settings, this.#options), fingerprint, userCount: 0, closeTimer: undefined };
      this.#gateways.set(fingerprint, shared);
    }
    clearTimeout(shared.closeTimer);
    shared.closeTimer = undefined;
    shared.userCount++;
    return shared;
  }

  /** The same if it is kept already. */
  acquireExisting(settings: Settings): SharedGateway | undefined {
    return this.#gateways.has(settingsFingerprint(settings)) ? this.acquire(settings) : undefined;
  }

  release(shared: SharedGateway): void {
    if (--shared.userCount > 0) return;
    const close = (): void => {
      // What was begun is ended, an import of minutes too.
      if (shared.gateway.isBusy) {
        shared.closeTimer = setTimeout(close, this.#retainMs).unref();
        return;
      }
      this.#gateways.delete(shared.fingerprint);
      shared.gateway.close();
    };
    shared.closeTimer = setTimeout(close, this.#retainMs).unref();
  }

  /** Ends them all at once, with what is under way. */
  close(): void {
    for (const { gateway, closeTimer } of this.#gateways.values()) {
      clearTimeout(closeTimer);
      gateway.close();
    }
    this.#gateways.clear();
  }
}

/** Of what is secret only a digest is kept as a name. */
function settingsFingerprint(settings: Settings): string {
  const sorted = (_key: string, value: unknown): unknown =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) : value;
  return createHash('sha256').update(JSON.stringify(settings, sorted)).digest('base64');
}
