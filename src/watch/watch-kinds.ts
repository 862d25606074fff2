import { trusted, safeMessage } from '../model/safe-message';
import type { RunOutcome } from '../gateway';
import { parseSessionFilter } from '../areas/sessions/session-filter';
import type { LightAbortController } from '../model/abort';
import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { CertificateTracker, DEFAULT_EXPIRY_DAYS, parseExpiryDays } from './certificate-tracker';
import type { Clock } from './clock';
import { ClusterTracker, NO_CLUSTER } from './cluster-tracker';
import { ConfigurationTracker } from './configuration-tracker';
import { IgnoreRules } from '../snapshot/ignore-rules';
import type { SerializedTree } from '../snapshot/serialized-tree';
import { readLimits, type WatchLimit } from './limits';
import { SessionTracker } from './session-tracker';
import { SystemTracker } from './system-tracker';
import type { Tracker } from './tracker';
import { HealthTracker, LicenseTracker } from './limit-trackers';

/** What a watch needs of a gateway: a `Gateway` fits. */
export interface WatchedGateway {
  readonly name: string;
  run(name: string, input?: Readonly<Record<string, unknown>>, options?: { signal?: LightAbortController }): Promise<RunOutcome>;
  readConfiguration(
    input: JsonObject,
    previous: SerializedTree | undefined,
    options?: { signal?: LightAbortController },
  ): Promise<RunOutcome<SerializedTree>>;
}

/** What a watch may be set to, beside its kind. */
export interface WatchKindOptions {
  /** Of `sessions`: only those that match, as in `sessions.kill-matching`. */
  readonly filter?: JsonObject | undefined;
  /** Of `health` and `license`. */
  readonly limits?: readonly WatchLimit[] | undefined;
  /** Of `certificate`: days before its end. */
  readonly days?: readonly unknown[] | undefined;
  /** Of `configuration`: a part of it, and what does not count, as in `snapshot.take`. */
  readonly path?: string | undefined;
  readonly ignore?: readonly string[] | undefined;
}

/** One look at the appliance. */
export type PollFunction = (signal: LightAbortController) => Promise<RunOutcome>;

export interface WatchKindDefinition {
  /** The operation that it asks for. */
  readonly operation: string;
  /** What it asks it with; watches that ask the same share their checks. */
  input?(options: WatchKindOptions): JsonObject;
  /** Asks in a way of its own, again and again. */
  createPoll?(gateway: WatchedGateway, input: JsonObject): PollFunction;
  /** What an error stands for that is an answer too. */
  dataForError?(error: GatewayError): unknown;
  /** Checks the options. Errors: `BAD_CONFIG`, or those of the filter and of what to ignore. */
  createTracker(options: WatchKindOptions, clock: Clock, appliance: string): Tracker;
  /** Seconds between two checks, where nobody says; default 60. */
  readonly defaultIntervalSeconds?: number;
  /** What else than its kind and its appliance makes what is remembered useless when it changes. */
  identity?(options: WatchKindOptions): unknown;
}

const DEFAULT_HEALTH_LIMITS: readonly WatchLimit[] = [{ name: 'CPU-UTILIZATION', above: 90, release: 80, checks: 3 }];
const DEFAULT_LICENSE_LIMITS: readonly WatchLimit[] = [{ name: '*', above: 90, release: 85 }];

/** The only registry: what stands here can be watched. */
export const WATCH_KINDS = {
  sessions: {
    operation: 'sessions.list',
    createTracker: ({ filter }) => {
      if (filter) parseSessionFilter(filter);
      return new SessionTracker(filter);
    },
    identity: ({ filter }) => filter ?? null,
  },
  health: {
    operation: 'system.health',
    input: () => ({ status: 'all' }),
    createTracker: ({ limits = DEFAULT_HEALTH_LIMITS }) => new HealthTracker(readLimits(limits)),
  },
  system: { operation: 'system.info', createTracker: () => new SystemTracker() },
  cluster: {
    operation: 'cluster.status',
    dataForError: ({ requestCode }) => (requestCode === 'NOT_FOUND' ? NO_CLUSTER : undefined),
    createTracker: () => new ClusterTracker(),
  },
  license: {
    operation: 'license.lease-info',
    createTracker: ({ limits = DEFAULT_LICENSE_LIMITS }) => new LicenseTracker(readLimits(limits)),
  },
  certificate: {
    operation: 'certificates.served',
    createTracker: ({ days = DEFAULT_EXPIRY_DAYS }, clock) => new CertificateTracker(clock, parseExpiryDays(days)),
  },
  configuration: {
    operation: 'snapshot.take',
    input: ({ path, ignore }) => ({ ...(path !== undefined && { path }), ...(ignore !== undefined && { ignore: [...ignore] }) }),
    // What stays as it is, is in memory once.
    createPoll: (gateway, input) => {
      let previous: SerializedTree | undefined;
      return async (signal) => {
        const outcome = await gateway.readConfiguration(input, previous, { signal });
        previous = outcome.data;
        return outcome;
      };
    },
    createTracker: ({ ignore }, _clock, appliance) => {
      new IgnoreRules(ignore);
      return new ConfigurationTracker(appliance);
    },
    identity: ({ path, ignore }) => [path ?? null, ignore ?? null],
    // Each check is as many requests as there are resources.
    defaultIntervalSeconds: 3600,
  },
} satisfies Record<string, WatchKindDefinition>;

export type WatchKind = keyof typeof WATCH_KINDS;

/** Errors: `BAD_CONFIG` naming those that there are. */
export function getWatchKind(name: unknown): WatchKindDefinition {
  if (typeof name === 'string' && Object.hasOwn(WATCH_KINDS, name)) return WATCH_KINDS[name as WatchKind];
  throw new GatewayError('BAD_CONFIG', safeMessage`watch has to be one of ${trusted(Object.keys(WATCH_KINDS).join(', '))}.`, {
    sent: false,
  });
}

/** How an appliance is looked at for that kind. An error that is an answer becomes one, with its envelope. */
export function createPollFunction(gateway: WatchedGateway, kind: WatchKindDefinition, input: JsonObject): PollFunction {
  if (kind.createPoll) return kind.createPoll(gateway, input);
  return async (signal) => {
    try {
      return await gateway.run(kind.operation, input, { signal });
    } catch (thrown) {
      const data = thrown instanceof GatewayError ? kind.dataForError?.(thrown) : undefined;
      if (data === undefined || !(thrown instanceof GatewayError) || !thrown.cause) throw thrown;
      return { data, many: null, envelope: thrown.cause, streamed: false };
    }
  };
}

/** Errors: `BAD_CONFIG` for a filter that is no object. */
export function parseWatchFilter(value: unknown): JsonObject | undefined {
  if (value === undefined) return undefined;
  if (isObject(value)) return value;
  throw new GatewayError('BAD_CONFIG', 'filter has to be an object such as { "authentication-realm": "Contractors" }.', { sent: false });
}
