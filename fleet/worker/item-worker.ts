import { setTimeout as pause } from 'node:timers/promises';
import { operations, GatewayError, trusted, safeMessage, type Gateway, type JsonObject, type RunOptions } from '@gateway-admin/node-red';
import { isInterruptedError, type Database } from '../store/database';
import type { RunStore } from '../store/run-store';
import type { ClaimResult, ItemOutcome, JsonRecord } from '../store/rows';
import { restrictToApprovedPlan } from './approved-plan';
import { ConnectedApplianceLimit } from './connection-limit';
import { assertPlansSigned, assertItemsSigned, signPlan } from './order-signature';
import { hashFleetAppliance, type InventoryEntry } from './fleet-identity';
import { findRecoveryStrategy, readStateBeforeRecovery, recoverItem } from './recovery';
import { toFailureOutcome, toSuccessOutcome, truncateMessage, createAddressRedactor } from './item-outcome';

/** An appliance that a worker uses. `url` identifies it and is removed from stored text. */
export interface FleetAppliance extends InventoryEntry {
  gateway(): Gateway;
}

/** Provides appliances and the passwords of credential sets. */
export interface ApplianceSource {
  findAppliance(name: string): FleetAppliance | undefined;
  /** Returns all appliances, for the fingerprint of the inventory. */
  listAppliances(): Iterable<InventoryEntry>;
  /** Errors: `BAD_CONFIG`. */
  getSecret(set: string): string;
  /** The key that signs items. If undefined, items are not signed and not checked. */
  getSigningKey?(): string | undefined;
}

interface ItemWorkerOptions {
  readonly database: Database;
  readonly store: RunStore;
  readonly appliances: ApplianceSource;
  readonly holder: string;
  /** Resolves when no other process can consider this process dead. */
  readonly whenFresh: () => Promise<void>;
  readonly isFresh: () => boolean;
  readonly getFingerprint: () => string;
  readonly translate?: RunOptions['translate'];
}

const REPEAT_PAUSE_MS = 250;

export interface RunItemKey {
  readonly run: string;
  readonly index: number;
}

type ClaimedItem = Extract<ClaimResult, { kind: 'run' | 'look' }>;

/** The progress of a running item. */
interface ItemProgress {
  /** Whether the state `sending` was recorded, which means that a write may have been sent. */
  isSent: boolean;
  isInterrupted: boolean;
  /** Number of writes in this attempt, counted before each is sent. */
  writes: number;
}

/** Runs items that execute an operation. It records each step of an item in the run store before it takes the step. */
export class ItemWorker {
  readonly #options: ItemWorkerOptions;
  readonly #activeItems = new Set<string>();
  readonly #connections = new ConnectedApplianceLimit();
  readonly #stop = new AbortController();

  constructor(options: ItemWorkerOptions) {
    this.#options = options;
  }

  get busy(): number {
    return this.#activeItems.size;
  }

  /** Stops the worker: returns reads and unsent writes to the queue. Writes in flight finish. */
  stop(): void {
    this.#stop.abort();
  }

  async work({ run, index }: RunItemKey): Promise<'done' | 'later' | 'lost'> {
    const key = `${index} ${run}`;
    // The queue redelivered a job that this process still works on.
    if (this.#activeItems.has(key) || this.#stop.signal.aborted) return 'later';
    this.#activeItems.add(key);
    try {
      const { store, holder, getFingerprint } = this.#options;
      const result = await this.#retryUntilAvailable(() => store.claimItem(run, index, holder, getFingerprint()));
      if (result.kind === 'over') return 'done';
      if (result.kind === 'held') return 'later';
      return await this.#perform(result);
    } finally {
      this.#activeItems.delete(key);
    }
  }

  async #perform(claimed: ClaimedItem): Promise<'done' | 'later' | 'lost'> {
    const { store } = this.#options;
    const progress: ItemProgress = { isSent: claimed.kind === 'look', isInterrupted: false, writes: 0 };
    const outcome = await this.#runItem(claimed, progress);
    const isEnded = progress.isInterrupted || (outcome.code === 'ABORTED' && this.#stop.signal.aborted);
    if (isEnded && !progress.isSent) {
      await this.#retryUntilAvailable(() => store.releaseItem(claimed.claim));
      return 'later';
    }
    if (progress.isInterrupted && progress.writes <= 1 && claimed.kind === 'run') return this.#repeat(claimed);
    // After a write may have been sent, only operations with a recovery strategy start again.
    if (progress.isInterrupted && findRecoveryStrategy(claimed.run.operation)) return 'later';
    if (progress.isInterrupted) Object.assign(outcome, UNKNOWN_OUTCOME);
    // Nothing was sent, so nothing happened.
    if (outcome.state === 'unknown' && !progress.isSent) outcome.state = 'failed';
    const { item, run } = claimed;
    if (run.dry_run && outcome.state === 'ok')
      outcome.planMac = signPlan(run.fleet, item, outcome.plan, this.#options.appliances.getSigningKey?.());
    const isRecorded = await this.#retryUntilAvailable(() => store.finishItem(claimed.claim, outcome));
    return isRecorded ? 'done' : 'lost';
  }

  /**
   * Repeats an item in place. The database or a lease was lost between the record of its first write and the write, so nothing was sent, and
   * the run must not count it as a failure.
   */
  async #repeat(claimed: ClaimedItem): Promise<'done' | 'later' | 'lost'> {
    await pause(REPEAT_PAUSE_MS);
    if (this.#stop.signal.aborted) return 'later';
    const isHeld = await this.#retryUntilAvailable(() => this.#options.store.isHeld(claimed.claim));
    return isHeld ? this.#perform(claimed) : 'lost';
  }

  async #runItem(claimed: ClaimedItem, progress: ItemProgress): Promise<ItemOutcome> {
    const { item, run } = claimed;
    const target = this.#options.appliances.findAppliance(item.appliance);
    const redact = createAddressRedactor(item.appliance, target?.url);
    try {
      assertItemsSigned(run, [item], this.#options.appliances.getSigningKey?.());
      if (!target) throw createMissingApplianceError(item.appliance);
      if (hashFleetAppliance(target) !== item.target) throw createOtherApplianceError(item.appliance);
      const gateway = target.gateway();
      this.#connections.recordUse(gateway);
      let request = { operation: run.operation, input: this.#input(claimed) };
      if (claimed.kind === 'look') {
        const decision = await recoverItem({ ...request, ageSeconds: claimed.age, gateway, before: item.before });
        if (!decision) return { ...UNKNOWN_OUTCOME };
        if ('done' in decision) return { state: 'ok', changed: decision.changed };
        request = { operation: decision.operation, input: decision.input };
      }
      const before = claimed.kind === 'run' && !run.dry_run ? await readStateBeforeRecovery({ ...request, gateway }) : undefined;
      const outcome = await gateway.run(request.operation, request.input as JsonObject, {
        dryRun: run.dry_run,
        signal: this.#stop.signal,
        beforeWrite: this.#beforeWrite(claimed, progress, before),
        ...this.#approve(claimed),
        initiator: run.initiator,
        ...(this.#options.translate && { translate: this.#options.translate }),
      });
      const success = toSuccessOutcome(outcome, run.with_data, redact);
      // The first attempt may have changed what the second one found.
      return claimed.kind === 'look' && success.changed === false ? { ...success, changed: null } : success;
    } catch (thrown) {
      progress.isInterrupted = isInterruptedError(thrown);
      const failure = toFailureOutcome(thrown, redact);
      // The failed check or repeat sent nothing, so the outcome of the first attempt is still unknown.
      const isUndecided = claimed.kind === 'look' && progress.writes === 0 && failure.code !== 'NOT_FOUND';
      return isUndecided
        ? { ...failure, ...UNKNOWN_OUTCOME, message: truncateMessage(`${UNKNOWN_OUTCOME.message} ${failure.message}`) }
        : failure;
    }
  }

  #approve({ item, run: { fleet, approved } }: ClaimedItem): Pick<RunOptions, 'approve'> {
    if (!approved) return {};
    const { appliances, store } = this.#options;
    return {
      approve: restrictToApprovedPlan(approved, async () => {
        const planned = await this.#retryUntilAvailable(() => store.findPlannedItem(approved.plan, item.appliance));
        // Somebody may have changed the plan after its approval.
        if (planned) assertPlansSigned(fleet, [planned], appliances.getSigningKey?.());
        return planned?.plan;
      }),
    };
  }

  /** Records the first write of an item before it is sent. Later writes are sent only while no other process can have taken over the item. */
  #beforeWrite({ claim, kind }: ClaimedItem, progress: ItemProgress, before: JsonRecord | undefined): () => Promise<void> {
    const { store, whenFresh, isFresh } = this.#options;
    let announcement: Promise<boolean> | undefined;
    let isAnnounced = kind === 'look';
    return async () => {
      progress.writes++;
      // Parallel writes of the same item wait for the same record.
      if (!isAnnounced) {
        announcement ??= this.#retryUntilAvailable(() => store.markSending(claim, before));
        if (!(await announcement)) throw createTakenOverError();
        isAnnounced = true;
        progress.isSent = true;
      }
      if (isFresh()) return;
      await whenFresh();
      if (!(await this.#retryUntilAvailable(() => store.isHeld(claim)))) throw createTakenOverError();
    };
  }

  /** Returns the input with its secret fields, which the run store does not have. Errors: `BAD_CONFIG` if the credential set has no password. */
  #input({ item, run }: ClaimedItem): JsonRecord {
    const input = { ...run.input, ...item.input };
    if (run.credentials === null) return input;
    const secrets = Object.entries(operations.get(run.operation)?.fields ?? {}).filter(([, { secret }]) => secret === true);
    const secret = this.#options.appliances.getSecret(run.credentials);
    return { ...input, ...Object.fromEntries(secrets.map(([name]) => [name, secret])) };
  }

  #retryUntilAvailable<T>(work: () => Promise<T>): Promise<T> {
    return this.#options.database.retryUntilAvailable(work, () => this.#stop.signal.aborted);
  }
}

/** A person must decide. */
const UNKNOWN_OUTCOME: Readonly<ItemOutcome> & { readonly message: string } = {
  state: 'unknown',
  changed: null,
  code: 'OUTCOME_UNKNOWN',
  message:
    'The Node-RED that worked on this item died after it may have sent the write. Check the appliance, then repeat the item or leave it.',
};

function createMissingApplianceError(name: string): GatewayError {
  return new GatewayError(
    'BAD_CONFIG',
    safeMessage`The inventory of this Node-RED has no appliance ${name}. Nothing was sent. Give all Node-RED instances the same inventory.`,
    {
      sent: false,
    },
  );
}

function createOtherApplianceError(name: string): GatewayError {
  return new GatewayError(
    'BAD_CONFIG',
    safeMessage`The appliance ${name} has another address in this Node-RED than in the inventory that started the run. Nothing was sent. Give all Node-RED instances the same inventory, and start the item again.`,
    { sent: false },
  );
}

function createTakenOverError(): GatewayError {
  return new GatewayError('ABORTED', trusted('Another Node-RED has taken over this item. Nothing was sent.'), { sent: false });
}
