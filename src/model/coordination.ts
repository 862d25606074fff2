import { createHash } from 'node:crypto';
import type { AbortSignalLike } from './abort';

/**
 * A stored value: plain JSON, because another implementation stores it outside this process. It never holds a secret, an address or a name.
 */
export type CoordinationValue =
  null | boolean | number | string | readonly CoordinationValue[] | { readonly [key: string]: CoordinationValue };

export interface ExclusiveOptions {
  /** Leaves the queue when it aborts. Work that has started is not affected; it needs its own signal. */
  readonly signal?: AbortSignalLike | undefined;
  /** Called once, before the wait, when the work cannot start at once. */
  readonly onWait?: (() => void) | undefined;
  /** The message of the error when the signal ends the wait. */
  readonly abortMessage?: string | undefined;
  /**
   * Milliseconds after the holder's last heartbeat when the next one may start. It must be longer than an appliance can work on a request
   * whose sender is gone. Only implementations for several processes need it.
   */
  readonly leaseMs?: number | undefined;
}

/**
 * Resolves while no other process can hold the key; each write calls it before it is sent. A paused process may have lost its lease without
 * noticing. Errors: `ABORTED` or `CONNECTION`, with `details.sent: false`.
 */
export type AssertHeld = () => Promise<void>;

/**
 * Locks and values that outlive one call: the order of imports, locks of catalogs and users, pauses after refused logins, one-time codes
 * that were used. The default serves all gateways of one process. To share them between processes, implement these four methods on a shared
 * store and pass the object to `new Gateway(settings, { coordination })`.
 *
 * - `coordinationKey` makes the keys: a readable kind and a hash. No key or value holds a secret, an address or a name. API keys never get
 * here.
 * - Values are copies of JSON. Changing a returned value does not change the stored one.
 * - Times are durations in milliseconds of the implementation's own clock, which must not jump with the clock of one machine.
 * - Every implementation must pass `test/helpers/coordination-suite.ts`.
 * - A failing implementation rejects with a `GatewayError`, preferably `CONNECTION`. The request that needed it is then not sent.
 */
export interface Coordination {
  /**
   * Runs `work` while no other work runs under this key, in the order of the calls. Work that throws releases the key like work that
   * returns. Errors: `ABORTED` with `details.sent: false` when the signal aborts before the work starts; those of `work`. An implementation
   * for several processes passes `assertHeld` to `work`.
   */
  runExclusive<T>(key: string, work: (assertHeld?: AssertHeld) => Promise<T>, options?: ExclusiveOptions): Promise<T>;

  /** The stored value, or undefined when there is none or it has expired. */
  get(key: string): Promise<CoordinationValue | undefined>;

  /** Stores a value for `ttlMs` and replaces the previous one. */
  set(key: string, value: CoordinationValue, ttlMs: number): Promise<void>;

  /**
   * Changes the stored value atomically and returns the new one. `change` must be pure and fast and may be called more than once. It throws
   * to leave the value as it is, and returns undefined to delete the key.
   */
  update(
    key: string,
    change: (current: CoordinationValue | undefined) => CoordinationValue | undefined,
    ttlMs: number,
  ): Promise<CoordinationValue | undefined>;
}

/** Makes a key with a readable kind and hashed parts, so that the key does not expose them. */
export function coordinationKey(kind: string, ...parts: readonly (string | undefined)[]): string {
  return `${kind}:${createHash('sha256').update(JSON.stringify(parts)).digest('hex')}`;
}
