import { ours, sentence } from '../model/sentence';
import type { Outcome } from '../gateway';
import { readFilter } from '../areas/sessions/filter';
import type { Canceller } from '../model/cancelling';
import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { CertificateTracker, DAYS, readDays } from './certificate';
import type { Clock } from './clock';
import { ClusterTracker, NO_CLUSTER } from './cluster';
import { readLimits, type Limit } from './limits';
import { SessionTracker } from './sessions';
import { SystemTracker } from './system';
import type { Tracker } from './tracker';
import { HealthTracker, LicenseTracker } from './values';

/** What a watch needs of a gateway: a `Gateway` fits. */
export interface Watched {
  readonly name: string;
  run(name: string, input?: Readonly<Record<string, unknown>>, options?: { signal?: Canceller }): Promise<Outcome>;
}

/** What a watch may be set to, beside its kind. */
export interface KindOptions {
  /** Of `sessions`: only those that match, as in `sessions.kill-matching`. */
  readonly filter?: JsonObject | undefined;
  /** Of `health` and `license`. */
  readonly limits?: readonly Limit[] | undefined;
  /** Of `certificate`: days before its end. */
  readonly days?: readonly unknown[] | undefined;
}

export interface Kind {
  /** The operation that it asks for. */
  readonly operation: string;
  readonly input?: JsonObject;
  /** What an error stands for that is an answer too. */
  instead?(error: GatewayError): unknown;
  /** Checks the options. Errors: `BAD_CONFIG`, or those of the filter. */
  tracker(options: KindOptions, clock: Clock): Tracker;
  /** What else than its kind and its appliance makes what is remembered useless when it changes. */
  identity?(options: KindOptions): unknown;
}

const HEALTH_LIMITS: readonly Limit[] = [{ name: 'CPU-UTILIZATION', above: 90, release: 80, checks: 3 }];
const LICENSE_LIMITS: readonly Limit[] = [{ name: '*', above: 90, release: 85 }];

/** The only registry: what stands here can be watched. */
export const KINDS = {
  sessions: {
    operation: 'sessions.list',
    tracker: ({ filter }) => {
      if (filter) readFilter(filter);
      return new SessionTracker(filter);
    },
    identity: ({ filter }) => filter ?? null,
  },
  health: {
    operation: 'system.health',
    input: { status: 'all' },
    tracker: ({ limits = HEALTH_LIMITS }) => new HealthTracker(readLimits(limits)),
  },
  system: { operation: 'system.info', tracker: () => new SystemTracker() },
  cluster: {
    operation: 'cluster.status',
    instead: ({ code }) => (code === 'NOT_FOUND' ? NO_CLUSTER : undefined),
    tracker: () => new ClusterTracker(),
  },
  license: { operation: 'license.lease-info', tracker: ({ limits = LICENSE_LIMITS }) => new LicenseTracker(readLimits(limits)) },
  certificate: { operation: 'certificates.served', tracker: ({ days = DAYS }, clock) => new CertificateTracker(clock, readDays(days)) },
} satisfies Record<string, Kind>;

export type WatchKind = keyof typeof KINDS;

/** Errors: `BAD_CONFIG` naming those that there are. */
export function kindNamed(name: unknown): Kind {
  if (typeof name === 'string' && Object.hasOwn(KINDS, name)) return KINDS[name as WatchKind];
  throw new GatewayError('BAD_CONFIG', sentence`watch has to be one of ${ours(Object.keys(KINDS).join(', '))}.`, { sent: false });
}

/** One look at the appliance. An error that is an answer becomes one, with its envelope. */
export async function ask(watched: Watched, kind: Kind, signal: Canceller): Promise<Outcome> {
  try {
    return await watched.run(kind.operation, kind.input ?? {}, { signal });
  } catch (thrown) {
    const data = thrown instanceof GatewayError ? kind.instead?.(thrown) : undefined;
    if (data === undefined || !(thrown instanceof GatewayError) || !thrown.cause) throw thrown;
    return { data, many: null, envelope: thrown.cause, streamed: false };
  }
}

/** Errors: `BAD_CONFIG` for a filter that is no object. */
export function filterFrom(given: unknown): JsonObject | undefined {
  if (given === undefined) return undefined;
  if (isObject(given)) return given;
  throw new GatewayError('BAD_CONFIG', 'filter has to be an object such as { "authentication-realm": "Contractors" }.', { sent: false });
}
