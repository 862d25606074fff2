import { createHash } from 'node:crypto';
import type { AbortSignalLike } from './abort';

/** What is remembered: plain JSON, since another implementation keeps it elsewhere. Never a secret, an address or a name. */
export type CoordinationValue =
  null | boolean | number | string | readonly CoordinationValue[] | { readonly [key: string]: CoordinationValue };

export interface ExclusiveOptions {
  /** Leaves the queue when it aborts. Work that has begun is not touched: it has a signal of its own, if it wants one. */
  readonly signal?: AbortSignalLike | undefined;
  /** Called once, before the wait, by work that cannot begin at once. */
  readonly onWait?: (() => void) | undefined;
  /** The sentence of the error when the signal ends the wait. */
  readonly abortMessage?: string | undefined;
  /**
   * How long after the last sign of life of whoever holds the key the next one may begin: longer than an appliance can go on with a
   * request whose sender is gone. Only implementations over several processes need it; within one, whoever holds the key lives.
   */
  readonly leaseMs?: number | undefined;
}

/**
 * Resolves while nobody else can hold the key, and is asked before each write leaves: a process that stood still (a machine that was
 * paused) may have lost what it holds without knowing. Errors: `ABORTED` or `CONNECTION`, with `details.sent: false`.
 */
export type AssertHeld = () => Promise<void>;

/**
 * Everything of this package that is exclusive, or remembered beyond one call: imports in turn, catalogues and users one at a time,
 * pauses after refused logins, one-time codes that were spent. The default is shared by all gateways of one process. Several
 * processes share what they know by one implementation of these four methods on something that they share, given to
 * `new Gateway(settings, { coordination })`.
 *
 * - Keys are texts made by `coordinationKey`: a kind that can be read, and a hash. No key and no value holds a secret, an address or
 *   a name; API keys are never given to it.
 * - Values are JSON and copies: nobody changes what is remembered by changing what was returned.
 * - Times are lengths in milliseconds by the implementation's own clock, which must not jump with the clock of one machine.
 * - `test/helpers/coordination-suite.ts` is what every implementation has to pass.
 * - Faults of an implementation reject with a `GatewayError` (`CONNECTION` suits); whatever needed it has then not been sent.
 */
export interface Coordination {
  /**
   * Runs `work` while nobody else runs any under this key: first come, first served. Work that throws frees the key like work that
   * ends. Errors: `ABORTED` with `details.sent: false` when the signal aborts before the work begins; those of `work`.
   * An implementation over several processes gives `work` a way to see whether the key is still held.
   */
  runExclusive<T>(key: string, work: (assertHeld?: AssertHeld) => Promise<T>, options?: ExclusiveOptions): Promise<T>;

  /** What is remembered under the key, or undefined when that is nothing, or its time is over. */
  get(key: string): Promise<CoordinationValue | undefined>;

  /** Remembers a value for so long, in place of what was there. */
  set(key: string, value: CoordinationValue, ttlMs: number): Promise<void>;

  /**
   * Changes what is remembered in one step, which no other change of this key comes between, and gives what is remembered then.
   * `change` is pure and quick, may be called more than once, and throws to leave everything as it is. When it gives undefined,
   * the key is forgotten.
   */
  update(
    key: string,
    change: (current: CoordinationValue | undefined) => CoordinationValue | undefined,
    ttlMs: number,
  ): Promise<CoordinationValue | undefined>;
}

/** A key of which nobody can tell what it was made of: the kind stays readable, the parts are hashed. */
export function coordinationKey(kind: string, ...parts: readonly (string | undefined)[]): string {
  return `${kind}:${createHash('sha256').update(JSON.stringify(parts)).digest('hex')}`;
}
