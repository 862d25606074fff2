import type { AuditFinding } from '../audit/finding';
import type { SessionRecord } from '../areas/sessions/session-record';
import type { Difference } from '../change/compare';
import type { Envelope } from '../model/envelope';
import type { ErrorCode } from '../model/error-codes';

/** Events of a `sessions` watch. `before` has the earlier values of the fields that changed. */
export type SessionsEvent =
  | { readonly event: 'started' | 'ended'; readonly session: SessionRecord }
  | {
      readonly event: 'changed';
      readonly session: SessionRecord;
      readonly before: { readonly 'source-ip'?: string; readonly 'user-roles'?: string };
    };

/** Events of a `sessions` watch: an account has more sessions, or sessions from more addresses, than its limit, or no longer. */
export interface AccountEvent {
  readonly event: 'over' | 'within';
  readonly name: 'sessions' | 'addresses';
  readonly account: string;
  readonly value: number;
  readonly limit: number;
  /** The sessions of the account now, at most 100. */
  readonly sessions: readonly SessionRecord[];
}

/** Events of a `health` watch: a value crossed its limit, or is back. */
export interface HealthEvent {
  readonly event: 'above' | 'below';
  readonly name: string;
  readonly value: number;
  readonly limit: number;
}

/** Events of a `system` watch: another release, serial number or host name. */
export interface SystemEvent {
  readonly event: 'release' | 'replaced' | 'renamed';
  readonly before: string;
  readonly after: string;
}

/** The state of a cluster member, without its addresses. */
export interface ClusterMemberState {
  readonly enabled: boolean;
  readonly notes: string;
  readonly 'status-code': string;
}

/** Events of a `cluster` watch: members, and the owner of the virtual addresses. */
export type ClusterEvent =
  | { readonly event: 'member'; readonly name: string; readonly before: ClusterMemberState; readonly after: ClusterMemberState }
  | { readonly event: 'joined'; readonly name: string; readonly after: ClusterMemberState }
  | { readonly event: 'left'; readonly name: string; readonly before: ClusterMemberState }
  | {
      readonly event: 'owner';
      readonly before: string;
      readonly after: string;
      readonly addresses: readonly ('external' | 'internal')[];
    };

/** Events of a `license` watch. `share` and `limit` are percent. */
export interface LicenseEvent {
  readonly event: 'above' | 'below';
  readonly feature: string;
  readonly share: number;
  readonly limit: number;
}

/** The certificate of an event, and the whole days until it expires. */
export interface CertificateDetails {
  readonly days: number;
  readonly subject: string;
  readonly issuer: string;
  readonly 'valid-to': string;
}

/** Events of a `certificate` watch. `before` and `after` are SHA-256 fingerprints. */
export type CertificateEvent = CertificateDetails &
  (
    | { readonly event: 'expires'; readonly fingerprint256: string }
    | { readonly event: 'renewed'; readonly before: string; readonly after: string }
  );

/** Events of a `configuration` watch: paths that were added or removed, and fields that changed. */
export interface ConfigurationEvent {
  readonly event: 'changed';
  readonly equal: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly Difference[];
}

/** Events of an `audit` watch: findings that the last check did not have, and findings that are solved. */
export interface AuditEvent {
  readonly event: 'new' | 'solved';
  readonly findings: readonly AuditFinding[];
}

/** Events of every watch: the appliance stopped or started to respond. */
export type ReachabilityEvent =
  { readonly event: 'unreachable'; readonly code: ErrorCode; readonly message: string } | { readonly event: 'reachable' };

/** What each kind of watch reports besides reachability. */
export interface EventsByWatch {
  readonly sessions: SessionsEvent | AccountEvent;
  readonly health: HealthEvent;
  readonly system: SystemEvent;
  readonly cluster: ClusterEvent;
  readonly license: LicenseEvent;
  readonly certificate: CertificateEvent;
  readonly configuration: ConfigurationEvent;
  readonly audit: AuditEvent;
}

/** The message that a watch sends for one event. */
export interface WatchEventMessage<Topic extends string, E> {
  /** `<watch>/<event>` */
  readonly topic: Topic;
  /** `id` stays the same if the event is sent again. `at` is the time of the check (ISO 8601). */
  readonly payload: E & { readonly id: string; readonly at: string };
  /** The envelope of the read. */
  readonly envelope: Envelope;
}

/** Type: adds to each member of a union of events the topic that belongs to it. */
type WithTopic<W extends string, E> = E extends { readonly event: infer Name extends string }
  ? WatchEventMessage<`${W}/${Name}`, E>
  : never;

/**
 * An event at the appliance. Its `topic` determines the type of its `payload`: after `event.topic === 'sessions/started'`,
 * `event.payload.session` is a session.
 */
export type WatchEvent = { [W in keyof EventsByWatch]: WithTopic<W, EventsByWatch[W] | ReachabilityEvent> }[keyof EventsByWatch];
