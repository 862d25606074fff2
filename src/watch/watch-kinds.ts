import { trusted, safeMessage } from '../model/safe-message';
import type { RunOutcome } from '../gateway/gateway';
import type { LightAbortController } from '../model/abort';
import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { AuditTracker } from './audit-tracker';
import { CertificateTracker, DEFAULT_EXPIRY_DAYS, parseExpiryDays } from './certificate-tracker';
import type { Clock } from './clock';
import { ClusterTracker, NO_CLUSTER_STATE } from './cluster-tracker';
import { ConfigurationTracker } from './configuration-tracker';
import { createSnapshotRules } from '../snapshot/snapshot-rules';
import type { ConfigurationTexts } from '../snapshot/configuration-texts';
import { parseWatchLimits, type WatchLimit } from './limits';
import { SessionTracker } from './session-tracker';
import { SystemTracker } from './system-tracker';
import type { Tracker } from './tracker';
import { HealthTracker, LicenseTracker } from './limit-trackers';
import type { RecordSigner } from '../model/record-signer';

/** The part of a `Gateway` that a watch uses. */
export interface WatchedGateway {
  readonly name: string;
  /** Seconds by which the appliance's clock is ahead; undefined when unknown. */
  readonly clockOffsetSeconds?: number | undefined;
  /** Signs the saved state. */
  readonly signer?: RecordSigner | undefined;
  run(name: string, input?: Readonly<Record<string, unknown>>, options?: { signal?: LightAbortController }): Promise<RunOutcome>;
  readConfiguration(
    input: JsonObject,
    previous: ConfigurationTexts | undefined,
    options?: { signal?: LightAbortController },
  ): Promise<RunOutcome<ConfigurationTexts>>;
}

/** Options of a watch that depend on its kind. */
export interface WatchKindOptions {
  /** For `sessions`: reports only sessions that match, as in `sessions.kill-matching`. */
  readonly filter?: JsonObject | undefined;
  /** Limits of a watch of `health`, `license` or `sessions`. For `sessions`, they apply to each account. */
  readonly limits?: readonly WatchLimit[] | undefined;
  /** For `certificate`: days before its end. */
  readonly days?: readonly unknown[] | undefined;
  /** For `configuration`: the part to read and the paths to ignore, as in `snapshot.take`. */
  readonly path?: string | undefined;
  readonly ignore?: readonly string[] | undefined;
  /** For `configuration`: lists whose order does not count. */
  readonly unordered?: readonly string[] | undefined;
  /** For `audit`: files with own rules and exceptions, and the ids of rules that are not checked. */
  readonly rules?: string | undefined;
  readonly exceptions?: string | undefined;
  readonly off?: readonly string[] | undefined;
}

/** Performs one check of an appliance. */
type PollFunction = (signal: LightAbortController) => Promise<RunOutcome>;

export interface WatchKindDefinition {
  /** The operation that reads the data. */
  readonly operation: string;
  /** The input of the operation. Watches with the same input share their checks. */
  input?(options: WatchKindOptions): JsonObject;
  /** Runs a check that keeps data between runs, in place of running only `operation`. */
  createPoll?(gateway: WatchedGateway, input: JsonObject): PollFunction;
  /** The data that an error stands for. Undefined if the error is a failure. */
  dataForError?(error: GatewayError): unknown;
  /** Checks the options and creates the tracker. Errors: `BAD_CONFIG`, or `BAD_INPUT` for a filter or ignore rule. */
  createTracker(options: WatchKindOptions, clock: Clock, appliance: string, getClockOffsetSeconds?: () => number | undefined): Tracker;
  /** Default seconds between two checks; 60 if it is not set. */
  readonly defaultIntervalSeconds?: number;
  /** Options that invalidate a saved state when they change, in addition to the kind and the appliance. */
  identity?(options: WatchKindOptions): unknown;
}

const DEFAULT_HEALTH_LIMITS: readonly WatchLimit[] = [{ name: 'CPU-UTILIZATION', above: 90, release: 80, checks: 3 }];
const DEFAULT_LICENSE_LIMITS: readonly WatchLimit[] = [{ name: '*', above: 90, release: 85 }];

function readAuditInput({ rules, exceptions, off }: WatchKindOptions): JsonObject {
  return { ...(rules !== undefined && { rules }), ...(exceptions !== undefined && { exceptions }), ...(off && { off: [...off] }) };
}

/** All kinds of watches. */
export const WATCH_KINDS = {
  sessions: {
    operation: 'sessions.list',
    createTracker: ({ filter, limits }, _clock, _appliance, getClockOffsetSeconds) =>
      new SessionTracker(filter, getClockOffsetSeconds, limits),
    identity: ({ filter }) => filter ?? null,
  },
  health: {
    operation: 'system.health',
    input: () => ({ status: 'all' }),
    createTracker: ({ limits = DEFAULT_HEALTH_LIMITS }) => new HealthTracker(parseWatchLimits(limits)),
  },
  system: { operation: 'system.info', createTracker: () => new SystemTracker() },
  cluster: {
    operation: 'cluster.status',
    dataForError: ({ requestCode }) => (requestCode === 'NOT_FOUND' ? NO_CLUSTER_STATE : undefined),
    createTracker: () => new ClusterTracker(),
  },
  license: {
    operation: 'license.lease-info',
    createTracker: ({ limits = DEFAULT_LICENSE_LIMITS }) => new LicenseTracker(parseWatchLimits(limits)),
  },
  certificate: {
    operation: 'certificates.served',
    createTracker: ({ days = DEFAULT_EXPIRY_DAYS }, clock) => new CertificateTracker(clock, parseExpiryDays(days)),
  },
  configuration: {
    operation: 'snapshot.take',
    input: ({ path, ignore, unordered }) => ({
      ...(path !== undefined && { path }),
      ...(ignore !== undefined && { ignore: [...ignore] }),
      ...(unordered !== undefined && { unordered: [...unordered] }),
    }),
    // The previous tree lets unchanged resources share their memory.
    createPoll: (gateway, input) => {
      let previous: ConfigurationTexts | undefined;
      return async (signal) => {
        const outcome = await gateway.readConfiguration(input, previous, { signal });
        previous = outcome.data;
        return outcome;
      };
    },
    createTracker: (patterns, _clock, appliance) => {
      createSnapshotRules(patterns);
      return new ConfigurationTracker(appliance);
    },
    identity: ({ path, ignore, unordered }) => [path ?? null, ignore ?? null, ...(unordered ? [unordered] : [])],
    // A check sends a request for each resource.
    defaultIntervalSeconds: 3600,
  },
  audit: {
    operation: 'audit.run',
    input: readAuditInput,
    createTracker: () => new AuditTracker(),
    // With other rules, every difference would come from the rules and not from the appliance.
    identity: readAuditInput,
    defaultIntervalSeconds: 86_400,
  },
} satisfies Record<string, WatchKindDefinition>;

export type WatchKind = keyof typeof WATCH_KINDS;

/** Returns the definition of a kind. Errors: `BAD_CONFIG` with the list of kinds. */
export function getWatchKind(name: unknown): WatchKindDefinition {
  if (typeof name === 'string' && Object.hasOwn(WATCH_KINDS, name)) return WATCH_KINDS[name as WatchKind];
  throw new GatewayError('BAD_CONFIG', safeMessage`watch must be one of ${trusted(Object.keys(WATCH_KINDS).join(', '))}.`, {
    sent: false,
  });
}

/** Creates the check of a kind. An error with data becomes an outcome with the envelope of the error. */
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

/** Parses the filter of a watch. Errors: `BAD_CONFIG` if the filter is not an object. */
export function parseWatchFilter(value: unknown): JsonObject | undefined {
  if (value === undefined) return undefined;
  if (isObject(value)) return value;
  throw new GatewayError('BAD_CONFIG', 'filter must be an object such as { "authentication-realm": "Contractors" }.', { sent: false });
}
