export { areas, operations, type OperationData, type OperationInput, type OperationName } from './areas';
export { Approvals, type Held } from './run/approvals';
export type { Approve, Approved, Proposal } from './run/approval';
export type { KeepOptions } from './areas/contain/keep';
export type { Link } from './areas/links';
export type { Bundle as SupportBundle } from './areas/support';
export type { Containment } from './contain/contain';
export type { ContainEvent } from './contain/keeper';
export type { BackupFile } from './backup/manifest';
export type { RunResult as BackupResult } from './backup/run';
export type { Difference, Place, TreeComparison } from './change/compare';
export type { OptionsOf } from './gateway-options';
export { Gateway, type GatewayOptions, type Outcome, type RunArguments, type RunOptions } from './gateway';
export {
  fromEnvironment,
  fromFolder,
  Inventory,
  manyReport,
  paceOf,
  partlyFailed,
  type InventoryAppliance,
  runOnMany,
  type ApplianceResult,
  type Costs,
  type CredentialSet,
  type CredentialSource,
  type Gateways,
  type InventoryEntry,
  type InventoryFormat,
  type InventoryOptions,
  type KeptGateway,
  type ManyAppliances,
  type ManyOptions,
  type ManyOutcome,
  type ManyProgress,
  type Pace,
  type PaceOptions,
  type PlannedAt,
  type Reported,
  type Selectable,
  type SettingsOf,
  type Share,
  type Stopped,
  type Target,
} from './inventory';
export type { CredentialName } from './model/setting-kinds';
export type { Cancellable, Canceller } from './model/cancelling';
export { processCoordination, type ProcessCoordination } from './model/process-coordination';
export { coordinationKey, type Coordination, type ExclusiveOptions, type Remembered, type StillHeld } from './model/coordination';
export type { Envelope, Many, ManyItem, Message, PlannedRequest, ResultLists, WriteResult } from './model/envelope';
export { asGatewayError, badInput, GatewayError, type Details } from './model/error';
export { ERROR_CODES, type ErrorCode } from './model/error-codes';
export type { Initiator } from './journal/around';
export type { Entry as JournalEntry } from './journal/line';
export type { Broken as JournalBroken, Verified as JournalVerified } from './journal/verify';
export type { Advance, Call, Content, Exclusively, LoginState, ReadOptions } from './model/call';
export type { Counters, CounterValues, Histogram } from './model/counters';
export type { Finding, HostFacts, SupportFacts } from './model/call';
export type { Exchanged } from './http/history';
export type { Amount, Field, Fields, Givable, Given, Input, Kind, ObjectKind } from './model/field';
export type { JsonObject } from './model/json';
export type { Area, Effect, Operation, Operations } from './model/operation';
export type { Query, Request } from './model/request';
export type { Permissions, Rule } from './model/rules';
export { ours, sentence, type Sentence } from './model/sentence';
export { readInput } from './model/input';
export { withoutSecrets } from './model/redaction';
export { isSecretName, secretsIn, type SecretValue } from './model/secrets';
export type { Handshake } from './http/served';
export type { ServedCertificate, ShownCertificate } from './model/served';
export type { ProxySettings, Settings, TlsSettings } from './model/settings';
export type { Say } from './model/summary';
export type { Summaries, SummaryKey } from './model/summary-words';
export type { Download, Flow, Sink, Upload } from './model/stream';
export type { Snapshot, Taken as SnapshotTaken } from './snapshot/take';
export type { Texts as ConfigurationTexts } from './snapshot/texts';
export type { Kind as ConfigurationKind, Verified } from './transfer/content';
export type { ExportedFile } from './transfer/export';
export { Watcher, type Clock, type Limit, type WatchEvent, type WatchKind, type WatchOptions, type WatchState } from './watch';
export type { CheckResult, Participant } from './watch/feed';
export type { KindOptions, Watched } from './watch/kinds';
export type { Seen } from './watch/tracker';
