import { createHash } from 'node:crypto';
import { Gateway, type GatewayOptions } from '../gateway/gateway';
import { replaceBuffersByDigests } from '../model/buffer-digest';
import { sortKeysReplacer } from '../model/json';
import type { Settings } from '../model/settings';

/** How long unused gateways stay open, because a deploy recreates each inventory and a file can lose an appliance for a moment. */
const RETAIN_AFTER_CLOSE_MS = 90_000;

/** A gateway with the number of its users. */
export interface SharedGateway {
  readonly gateway: Gateway;
  readonly fingerprint: string;
  userCount: number;
  closeTimer: NodeJS.Timeout | undefined;
}

/** Shares gateways by their settings: equal settings get the same gateway, with its API key and connections. */
export class GatewayRegistry {
  readonly #options: GatewayOptions;
  readonly #retainMs: number;
  readonly #gateways = new Map<string, SharedGateway>();

  constructor(options: GatewayOptions = {}, retainMs = RETAIN_AFTER_CLOSE_MS) {
    this.#options = options;
    this.#retainMs = retainMs;
  }

  /** The number of open gateways. */
  get size(): number {
    return this.#gateways.size;
  }

  /** Returns the gateway of these settings and counts a user. Errors: `BAD_CONFIG`, as for `new Gateway`. */
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

  /** Like `acquire`, but never creates a gateway. */
  acquireExisting(settings: Settings): SharedGateway | undefined {
    return this.#gateways.has(settingsFingerprint(settings)) ? this.acquire(settings) : undefined;
  }

  release(shared: SharedGateway): void {
    if (--shared.userCount > 0) return;
    const close = (): void => {
      // Running operations, such as an import of minutes, finish first.
      if (shared.gateway.isBusy) {
        shared.closeTimer = setTimeout(close, this.#retainMs).unref();
        return;
      }
      this.#gateways.delete(shared.fingerprint);
      shared.gateway.close();
    };
    // A copy ends with the node that rehearses.
    if (shared.gateway.isRehearsal && !shared.gateway.isBusy) close();
    else shared.closeTimer = setTimeout(close, this.#retainMs).unref();
  }

  /** Closes all gateways at once and aborts running operations. */
  close(): void {
    for (const { gateway, closeTimer } of this.#gateways.values()) {
      clearTimeout(closeTimer);
      gateway.close();
    }
    this.#gateways.clear();
  }
}

/** Creates a digest of the settings, because they contain secrets. */
function settingsFingerprint(settings: Settings): string {
  return createHash('sha256')
    .update(JSON.stringify(replaceBuffersByDigests(settings), sortKeysReplacer))
    .digest('base64');
}
