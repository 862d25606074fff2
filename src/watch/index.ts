export { systemWatchClock, type Clock } from './clock';
export { WATCH_KINDS, parseWatchFilter, getWatchKind, type WatchKind, type WatchedGateway } from './watch-kinds';
export { parseWatchLimits, type WatchLimit } from './limits';
export type { CheckSummary } from './tracker';
export type {
  AuditEvent,
  CertificateDetails,
  CertificateEvent,
  ClusterEvent,
  ClusterMemberState,
  ConfigurationEvent,
  EventsByWatch,
  HealthEvent,
  LicenseEvent,
  ReachabilityEvent,
  WatchEventMessage,
  AccountEvent,
  SessionsEvent,
  SystemEvent,
  WatchEvent,
} from './events';
export { Watcher, type WatchOptions, type WatchState } from './watcher';
