import { ours, sentence } from '../model/sentence';
import type { Outcome } from '../gateway';
import { readFilter } from '../areas/sessions/filter';
import type { Canceller } from '../model/cancelling';
import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { CertificateTracker, DAYS, readDays } from './certificate';
import type { Clock } from './clock';
import { ClusterTracker, NO_CLUSTER } from './cluster';
import { ConfigurationTracker } from './configuration';
import { Ignore } from '../snapshot/ignore';
import type { Texts } from '../snapshot/texts';
import { readLimits, type Limit } from './limits';
import { SessionTracker } from './sessions';
import { SystemTracker } from './system';
import type { Tracker } from './tracker';
import { HealthTracker, LicenseTracker } from './values';

/** What a watch needs of a gateway: a `Gateway` fits. */
export interface Watched {
  readonly name: string;
  run(name: string, input?: Readonly<Record<string, unknown>>, options?: { signal?: Canceller }): Promise<Outcome>;
  readConfiguration(input: JsonObject, last: Texts | undefined, options?: { signal?: Canceller }): Promise<Outcome<Texts>>;
}

/** What a watch may be set to, beside its kind. */
export interface KindOptions {
  /** Of `sessions`: only those that match, as in `sessions.kill-matching`. */
  readonly filter?: JsonObject | undefined;
  /** Of `health` and `license`. */
  readonly limits?: readonly Limit[] | undefined;
  /** Of `certificate`: days before its end. */
  readonly days?: readonly unknown[] | undefined;
  /** Of `configuration`: a part of it, and what does not count, as in `snapshot.take`. */
  readonly path?: string | undefined;
  readonly ignore?: readonly string[] | undefined;
}

/** One look at the appliance. */
export type Ask = (signal: Canceller) => Promise<Outcome>;

export interface Kind {
  /** The operation that it asks for. */
  readonly operation: string;
  /** What it asks it with; watches that ask the same share their checks. */
  input?(options: KindOptions): JsonObject;
  /** Asks in a way of its own, again and again. */
  asker?(watched: Watched, input: JsonObject): Ask;
  /** What an error stands for that is an answer too. */
  instead?(error: GatewayError): unknown;
  /** Checks the options. Errors: `BAD_CONFIG`, or those of the filter and of what to ignore. */
  tracker(options: KindOptions, clock: Clock, appliance: string): Tracker;
  /** Seconds between two checks, where nobody says; default 60. */
  readonly every?: number;
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
    input: () => ({ status: 'all' }),
    tracker: ({ limits = HEALTH_LIMITS }) => new HealthTracker(readLimits(limits)),
  },
  system: { operation: 'system.info', tracker: () => new SystemTracker() },
  cluster: {
    operation: 'cluster.status',
    instead: ({ answered }) => (answered === 'NOT_FOUND' ? NO_CLUSTER : undefined),
    tracker: () => new ClusterTracker(),
  },
  license: { operation: 'license.lease-info', tracker: ({ limits = LICENSE_LIMITS }) => new LicenseTracker(readLimits(limits)) },
  certificate: { operation: 'certificates.served', tracker: ({ days = DAYS }, clock) => new CertificateTracker(clock, readDays(days)) },
  configuration: {
    operation: 'snapshot.take',
    input: ({ path, ignore }) => ({ ...(path !== undefined && { path }), ...(ignore !== undefined && { ignore: [...ignore] }) }),
    // What stays as it is, is in memory once.
    asker: (watched, input) => {
      let last: Texts | undefined;
      return async (signal) => {
        const outcome = await watched.readConfiguration(input, last, { signal });
        last = outcome.data;
        return outcome;
      };
    },
    tracker: ({ ignore }, _clock, appliance) => {
      new Ignore(ignore);
      return new ConfigurationTracker(appliance);
    },
    identity: ({ path, ignore }) => [path ?? null, ignore ?? null],
    // Each check is as many requests as there are resources.
    every: 3600,
  },
} satisfies Record<string, Kind>;

export type WatchKind = keyof typeof KINDS;

/** Errors: `BAD_CONFIG` naming those that there are. */
export function kindNamed(name: unknown): Kind {
  if (typeof name === 'string' && Object.hasOwn(KINDS, name)) return KINDS[name as WatchKind];
  throw new GatewayError('BAD_CONFIG', sentence`watch has to be one of ${ours(Object.keys(KINDS).join(', '))}.`, { sent: false });
}

/** How an appliance is looked at for that kind. An error that is an answer becomes one, with its envelope. */
export function askerOf(watched: Watched, kind: Kind, input: JsonObject): Ask {
  if (kind.asker) return kind.asker(watched, input);
  return async (signal) => {
    try {
      return await watched.run(kind.operation, input, { signal });
    } catch (thrown) {
      const data = thrown instanceof GatewayError ? kind.instead?.(thrown) : undefined;
      if (data === undefined || !(thrown instanceof GatewayError) || !thrown.cause) throw thrown;
      return { data, many: null, envelope: thrown.cause, streamed: false };
    }
  };
}

/** Errors: `BAD_CONFIG` for a filter that is no object. */
export function filterFrom(given: unknown): JsonObject | undefined {
  if (given === undefined) return undefined;
  if (isObject(given)) return given;
  throw new GatewayError('BAD_CONFIG', 'filter has to be an object such as { "authentication-realm": "Contractors" }.', { sent: false });
}
