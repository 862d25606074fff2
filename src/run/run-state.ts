import type { AbortSignalLike } from '../model/abort';
import type { OperationContext, Progress } from '../model/operation-context';
import type { SecretMasker } from './bulk';
import { DryRunPlan } from './dry-run-plan';
import type { GatewayContext } from './gateway-context';
import { HeldLeases } from './held-leases';
import type { PendingWrite, WriteGuard } from './pending-write';
import { RunRecord } from './run-record';
import { Sender, type WriteResponse } from './sender';

/** One part of a streaming read. `count` is the number of records in it. */
export interface StreamPartInfo {
  index: number;
  count?: number;
}

export interface RunContextOptions {
  readonly dryRun: boolean;
  readonly signal?: AbortSignalLike | undefined;
  readonly masker: SecretMasker;
  onEmit?: ((data: unknown, part: StreamPartInfo, run: RunState) => void) | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Refuses a write before it counts as the request of the run. */
  checkWrite?: ((write: PendingWrite, run: RunState) => Promise<void> | undefined) | undefined;
  /** Surrounds every write of the run; not called in a dry run. */
  interceptWrite?: ((write: PendingWrite, next: () => Promise<WriteResponse>, run: RunState) => Promise<WriteResponse>) | undefined;
  onAppliance?: OperationContext['onAppliance'] | undefined;
  /** Skips items of a bulk write that were not approved. */
  readonly gate?: WriteGuard | undefined;
  /** True when a write interceptor may need the state before a write. */
  readonly shouldCacheReads?: boolean | undefined;
  /** Awaited before each write is sent. */
  beforeWrite?: (() => Promise<void>) | undefined;
  /** The sender of the run that this one is a part of; it counts the requests. */
  readonly sender?: Sender | undefined;
}

/** The state of one run, or of the work on one of its items. */
export class RunState {
  readonly gatewayContext: GatewayContext;
  readonly options: RunContextOptions;
  readonly sender: Sender;
  readonly plan: DryRunPlan | undefined;
  readonly record: RunRecord;
  /** The state of the operation. The work on its items shares its cached reads. */
  readonly root: RunState;
  readonly #parent: RunState | undefined;
  #leases: HeldLeases | undefined;

  /** With `parent`, the state of one item: it shares sender and plan, and has its own record. */
  constructor(gatewayContext: GatewayContext, options: RunContextOptions, parent?: RunState) {
    this.gatewayContext = gatewayContext;
    this.options = options;
    this.#parent = parent;
    this.root = parent ? parent.root : this;
    this.record = new RunRecord(parent?.record);
    this.sender = parent?.sender ?? options.sender ?? new Sender(gatewayContext, options.signal);
    this.plan = parent ? parent.plan : options.dryRun ? new DryRunPlan(options.masker) : undefined;
  }

  /** Created on demand, because most runs hold none. */
  get leases(): HeldLeases {
    return (this.#leases ??= new HeldLeases(this.#parent?.leases));
  }

  get hasLeases(): boolean {
    return this.#leases?.hasAny === true || this.#parent?.hasLeases === true;
  }
}
