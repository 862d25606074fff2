export {
  areas,
  operations,
  type OperationData,
  type OperationInput,
  type InferredInput,
  type OperationInputs,
  type OperationName,
} from './areas';
export { formatOpenMetrics, METRICS_CONTENT_TYPE, type MetricFamily, type MetricSample } from './areas/open-metrics';
export { PendingApprovals, type PendingApproval } from './run/pending-approvals';
export type { RequestApproval, ApprovalRecord, Proposal } from './run/approval';
export type { EnforcementOptions } from './areas/contain/gateway-enforcement';
export type { ResourceLink } from './areas/links';
export type { SupportBundle } from './areas/support';
export type { Containment } from './contain/contain';
export type { ContainEvent } from './contain/enforcement-loop';
export type { AuditFinding } from './audit/finding';
export type { Evidence } from './audit/finding';
export type { Severity } from './audit/finding';
export type { ExceptedFinding } from './audit/exceptions';
export type { EmptyResources } from './snapshot/manifest';
export type { AuditData } from './audit/run-audit';
export type { ConformanceData } from './areas/conformance';
export type { CheckClock } from './conformance/pacer';
export type { ProfileKeys } from './conformance/response-shape';
export type { RecordSigner, SignedPurpose } from './model/record-signer';
export type { Credentials, RawConnection, RawReply, RawRequest } from './model/raw-exchange';
export {
  checkConformance,
  compareProfiles,
  type ConformanceLimits,
  type ConformanceOptions,
  type ConformanceProfile,
  type ConformanceProgress,
  type ConformanceResult,
  type ProfileDifference,
  type ProfileEndpoint,
  type VariantValue,
} from './conformance';
export type { BackupFile } from './backup/manifest';
export type { BackupRecord, BackupResult } from './backup/run';
export type { LeaseInformation, License, LicenseClient, NamedUser, NamedUserList } from './areas/license-records';
export type { SessionRecord } from './areas/sessions/session-record';
export type { BooleanText, UserRecord } from './areas/users/user-record';
export type { Difference, FieldLocation, TreeComparison } from './change/compare';
export type { EndedRun, GatewayOptionsFor } from './gateway/gateway-options';
export {
  Gateway,
  type GatewayOptions,
  type RunOutcome,
  type RunArguments,
  type RunOptions,
  type RunOptionsWithoutParts,
} from './gateway/gateway';
export {
  credentialsFromEnvironment,
  credentialsFromFolder,
  Inventory,
  createManyReport,
  planRollout,
  findPartialFailure,
  type InventoryAppliance,
  runOnMany,
  type ApplianceResult,
  type EnvelopeCosts,
  type CredentialSet,
  type CredentialSource,
  type GatewayRegistry,
  type InventoryEntry,
  type InventoryFormat,
  type InventoryOptions,
  type SharedGateway,
  type ManyAppliancesData,
  type RunOnManyOptions,
  type RunOnManyOutcome,
  type RunOnManyProgress,
  type RolloutPlan,
  type RolloutOptions,
  type PlannedApplianceRequest,
  type ManyReportInput,
  type Selectable,
  type ToSettings,
  type CountOrPercent,
  type StopReason,
  type ApplianceTarget,
} from './inventory';
export type { CredentialName } from './model/setting-kinds';
export type { AbortSignalLike, LightAbortController } from './model/abort';
export { processCoordination, type ProcessCoordination } from './model/process-coordination';
export { coordinationKey, type Coordination, type ExclusiveOptions, type CoordinationValue, type AssertHeld } from './model/coordination';
export type {
  Envelope,
  BulkResult,
  BulkItemResult,
  ResultMessage,
  PlannedRequest,
  ResultMessageLists,
  WriteResult,
} from './model/envelope';
export { asGatewayError, badInput, GatewayError, type GatewayErrorDetails } from './model/error';
export { ERROR_CODES, type ErrorCode } from './model/error-codes';
export type { ErrorReason } from './model/error-reasons';
export type { Initiator } from './journal/record-writes';
export type { JournalEntry } from './journal/journal-line';
export type { JournalFault, JournalVerification } from './journal/verify-journal';
export type { Progress, OperationContext, RawBody, ExclusiveCallOptions, LoginState, ReadOptions } from './model/operation-context';
export type { Counters, CounterValues, Histogram } from './model/counters';
export type { Finding, HostInfo, SupportInfo } from './model/operation-context';
export type { ExchangeLogEntry } from './http/exchange-log';
export type { NumberOrPercent, Field, Fields, RawValue, RawInput, ParsedInput, FieldKind, ObjectKind } from './model/field';
export type { JsonObject } from './model/json';
export type { Area, OperationEffect, Operation, Operations } from './model/operation';
export type { Query, Request } from './model/request';
export type { Permissions, TextFormat } from './model/rules';
export { trusted, safeMessage, type SafeMessage } from './model/safe-message';
export { parseInput } from './model/input';
export { redactSecrets } from './model/redaction';
export { isSecretName, findSecrets, type SecretValue } from './model/secrets';
export type { Handshake } from './http/peer-certificate';
export type { PeerCertificateInfo, CertificateInfo } from './model/peer-certificate';
export type { ProxySettings, Settings, TlsSettings } from './model/settings';
export type { Translate } from './model/summary';
export type { SummaryTexts, SummaryKey } from './model/summary-texts';
export type { Download, FlowControl, Sink, Upload } from './model/stream';
export type { RevertResult } from './snapshot/revert';
export type { Snapshot, SnapshotFolderResult } from './snapshot/take';
export type { ConfigurationTexts } from './snapshot/configuration-texts';
export type { ConfigurationKind, VerificationLevel } from './transfer/content-check';
export type { ExportedFile } from './transfer/export';
export {
  Watcher,
  type CertificateDetails,
  type CertificateEvent,
  type Clock,
  type ClusterEvent,
  type ClusterMemberState,
  type ConfigurationEvent,
  type EventsByWatch,
  type HealthEvent,
  type LicenseEvent,
  type ReachabilityEvent,
  type WatchEventMessage,
  type AccountEvent,
  type AuditEvent,
  type SessionsEvent,
  type SystemEvent,
  type WatchEvent,
  type WatchKind,
  type WatchLimit,
  type WatchOptions,
  type WatchState,
} from './watch';
export type { CheckResult, PollSubscriber } from './watch/shared-poller';
export type { WatchKindOptions, WatchedGateway } from './watch/watch-kinds';
export type { CheckSummary } from './watch/tracker';
