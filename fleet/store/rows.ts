import type { PlannedRequest } from '@gateway-admin/node-red';
import type { ItemState } from './item-states';

export type FleetRunState = 'running' | 'paused' | 'done';
export type StopReason = 'canary' | 'failures' | 'cancelled';
export type JsonRecord = Readonly<Record<string, unknown>>;

/** What a run executes: one operation, or the flow behind a *fleet task* node. */
type RunKind = 'operation' | 'task';

/** A new run. It contains no secrets and no addresses. */
export interface RunRequest {
  /** Fingerprint of the inventory of the engine that starts the run. */
  readonly fingerprint: string;
  /** Identifies the run. A second run with the same id is rejected. */
  readonly id: string;
  /** Identifies the request, so that it can be repeated after a lost response. */
  readonly token: string;
  readonly kind: RunKind;
  /** Full name of an operation, or the name of a *fleet task* node. */
  readonly operation: string;
  readonly input: JsonRecord;
  /** Names of appliances in their order, each with its own input if the inputs differ. */
  readonly items: readonly RequestedItem[];
  readonly selection: string;
  /** The credential set whose password fills secret fields. */
  readonly credentials?: string | undefined;
  readonly dryRun: boolean;
  readonly urgent: boolean;
  /** Whether results include the data that was read. */
  readonly withData: boolean;
  /** Whether the task flow may start again after its Node-RED died. */
  readonly repeats: boolean;
  readonly canary: number;
  readonly ends: readonly number[];
  /** `Infinity` for no limit. */
  readonly maxFailures: number;
  /** Name of the node that receives the report. */
  readonly node: string;
  /** Id of the node that receives the report. It takes precedence over a node with the name. */
  readonly nodeId?: string | undefined;
  /** Id of the engine that received the message. */
  readonly origin: string;
  readonly initiator: JsonRecord;
  readonly repeatOf?: string | undefined;
  readonly approved?: ApprovedPlan | undefined;
}

/** One appliance of a new run. */
export interface RequestedItem {
  readonly appliance: string;
  readonly input?: JsonRecord | undefined;
  /** Hash of the appliance name and host; undefined if the inventory does not have the appliance. */
  readonly target?: string | undefined;
  /** HMAC of the item, see `signRunItems`. */
  readonly mac?: string | undefined;
}

/** An approved dry run. An item sends at most the requests that the dry run planned for its appliance. */
export interface ApprovedPlan {
  /** Id of the dry run. */
  readonly plan: string;
  readonly by: string | null;
  readonly at: string;
}

/** A row of the database table `run`. */
export interface RunRow {
  readonly fleet: string;
  readonly id: string;
  readonly fingerprint: string;
  readonly token: string;
  readonly kind: RunKind;
  readonly operation: string;
  readonly input: JsonRecord;
  readonly selection: string;
  readonly credentials: string | null;
  readonly dry_run: boolean;
  readonly urgent: boolean;
  readonly with_data: boolean;
  readonly repeats: boolean;
  readonly canary: number;
  readonly ends: readonly number[];
  readonly max_failures: number | null;
  readonly total: number;
  readonly failed: number;
  readonly state: FleetRunState;
  readonly stopped: StopReason | null;
  readonly node: string;
  readonly node_id: string | null;
  readonly origin: string;
  readonly initiator: JsonRecord;
  readonly repeat_of: string | null;
  readonly approved: ApprovedPlan | null;
  readonly created: Date;
  readonly ended: Date | null;
  /** The time when the report was delivered. */
  readonly reported: Date | null;
  /** Id of the engine that claimed the delivery of the report. */
  readonly reported_by: string | null;
}

/** The node that receives the report of a run. */
export type ReportRecipient = Pick<RunRow, 'node' | 'node_id'>;

export interface ItemRow {
  readonly run: string;
  readonly index: number;
  readonly appliance: string;
  readonly target: string | null;
  readonly input: JsonRecord | null;
  readonly mac: string | null;
  readonly state: ItemState;
  readonly attempt: number;
  readonly holder: string | null;
  readonly claimed: Date | null;
  readonly sending: Date | null;
  readonly ended: Date | null;
  readonly changed: boolean | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly data: unknown;
  readonly plan: PlannedRequest[] | null;
  /** HMAC of the plan of a dry run, see `signPlan`. */
  readonly plan_mac: string | null;
  /** What was read from the appliance before the first write. */
  readonly before: JsonRecord | null;
  readonly requests: number;
  readonly retries: number;
  readonly logins: number;
}

/** Outcome of an item. */
export interface ItemOutcome {
  state: 'ok' | 'failed' | 'unknown';
  readonly changed?: boolean | null | undefined;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly data?: unknown;
  readonly plan?: PlannedRequest[] | undefined;
  planMac?: string | undefined;
  readonly requests?: number | undefined;
  readonly retries?: number | undefined;
  readonly logins?: number | undefined;
}

/** The claim of a worker on an item. Only the claim with the latest attempt number is valid. */
export interface ItemClaim {
  readonly run: string;
  readonly index: number;
  readonly holder: string;
  readonly attempt: number;
}

/** The result of an attempt to claim an item. */
export type ClaimResult =
  /** No claim: the item is finished, skipped, or must not start now. */
  | { readonly kind: 'over' }
  /** Another living worker has claimed the item. */
  | { readonly kind: 'held' }
  | { readonly kind: 'run'; readonly claim: ItemClaim; readonly item: ItemRow; readonly run: RunRow; readonly age: number }
  /** The previous worker died, and its write may have been sent. */
  | { readonly kind: 'look'; readonly claim: ItemClaim; readonly item: ItemRow; readonly run: RunRow; readonly age: number };

export interface RunProgress {
  readonly run: string;
  readonly state: FleetRunState;
  readonly stopped: StopReason | null;
  readonly total: number;
  readonly ok: number;
  readonly failed: number;
  readonly unknown: number;
  readonly skipped: number;
  readonly open: number;
}
