import type { PlannedRequest } from '@gateway-admin/node-red';
import type { ItemState } from './item-states';

export type RunState = 'running' | 'paused' | 'done';
export type StopReason = 'canary' | 'failures' | 'cancelled';
export type JsonRecord = Readonly<Record<string, unknown>>;

/** What a run is of: one operation, or a flow that somebody has drawn. */
export type RunKind = 'operation' | 'task';

/** A run as it is ordered. Nothing in it is secret, and no address. */
export interface RunRequest {
  /** Its identity: a second one of the same is refused. */
  readonly id: string;
  /** Of this very order, so that whoever does not know whether it was taken can order again. */
  readonly token: string;
  readonly kind: RunKind;
  /** Full name of an operation, or the name of a task. */
  readonly operation: string;
  readonly input: JsonRecord;
  /** Appliances by name, in order; with an input of its own where that differs. */
  readonly items: readonly { readonly appliance: string; readonly input?: JsonRecord | undefined }[];
  readonly selection: string;
  /** Credential set that a secret field is taken from. */
  readonly credentials?: string | undefined;
  readonly dryRun: boolean;
  readonly urgent: boolean;
  /** Whether the results keep what was read. */
  readonly withData: boolean;
  /** Of a task: whether it may be begun again when nobody knows how far it came. */
  readonly repeats: boolean;
  readonly canary: number;
  readonly ends: readonly number[];
  /** Infinity: any number. */
  readonly maxFailures: number;
  /** Name of the node that the report goes to. */
  readonly node: string;
  /** Its id: it goes before the name, where there is a node of that id. */
  readonly nodeId?: string | undefined;
  /** The process where the message came in. */
  readonly origin: string;
  readonly initiator: JsonRecord;
  readonly repeatOf?: string | undefined;
  readonly approved?: ApprovedPlan | undefined;
}

/** A dry run that somebody has approved: its items do nothing beyond what it planned for their appliances. */
export interface ApprovedPlan {
  /** Its identity. */
  readonly plan: string;
  readonly by: string | null;
  readonly at: string;
}

/** A run as the table has it. */
export interface RunRow {
  readonly id: string;
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
  readonly state: RunState;
  readonly stopped: StopReason | null;
  readonly node: string;
  readonly node_id: string | null;
  readonly origin: string;
  readonly initiator: JsonRecord;
  readonly repeat_of: string | null;
  readonly approved: ApprovedPlan | null;
  readonly created: Date;
  readonly ended: Date | null;
  /** When its report had gone out. */
  readonly reported: Date | null;
  /** Who has set about giving it. */
  readonly reported_by: string | null;
}

/** Where a report goes to. */
export type ReportRecipient = Pick<RunRow, 'node' | 'node_id'>;

export interface ItemRow {
  readonly run: string;
  readonly index: number;
  readonly appliance: string;
  readonly input: JsonRecord | null;
  readonly state: ItemState;
  readonly attempt: number;
  readonly holder: string | null;
  readonly begun: Date | null;
  readonly sending: Date | null;
  readonly ended: Date | null;
  readonly changed: boolean | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly data: unknown;
  readonly plan: PlannedRequest[] | null;
  readonly requests: number;
  readonly retries: number;
  readonly logins: number;
}

/** What became of an item. */
export interface ItemOutcome {
  state: 'ok' | 'failed' | 'unknown';
  readonly changed?: boolean | null | undefined;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly data?: unknown;
  readonly plan?: PlannedRequest[] | undefined;
  readonly requests?: number | undefined;
  readonly retries?: number | undefined;
  readonly logins?: number | undefined;
}

/** That a worker has an item, and which time it was begun: of two that think so only the latest is right. */
export interface Claim {
  readonly run: string;
  readonly index: number;
  readonly holder: string;
  readonly attempt: number;
}

/** What a worker finds that begins an item. */
export type ClaimResult =
  /** Nothing is left to do. */
  | { readonly kind: 'over' }
  /** Another worker has it and is alive. */
  | { readonly kind: 'held' }
  | { readonly kind: 'run'; readonly claim: Claim; readonly item: ItemRow; readonly run: RunRow; readonly age: number }
  /** Its write may have left before its worker died. */
  | { readonly kind: 'look'; readonly claim: Claim; readonly item: ItemRow; readonly run: RunRow; readonly age: number };

export interface RunProgress {
  readonly run: string;
  readonly state: RunState;
  readonly stopped: StopReason | null;
  readonly total: number;
  readonly ok: number;
  readonly failed: number;
  readonly unknown: number;
  readonly skipped: number;
  readonly open: number;
}
