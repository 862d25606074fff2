import type { Gateway, RunOutcome, RunOptions } from '../gateway/gateway';
import { getOperation } from '../areas';
import type { RequestApproval, ApprovalRecord, Proposal } from '../run/approval';
import { LightAbortController } from '../model/abort';
import type { Envelope } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import { mapConcurrently } from '../model/map-concurrently';
import { trusted, safeMessage } from '../model/safe-message';
import { defaultTranslate, createOperationTitle } from '../model/summary';
import { assertOpenFileLimit, countConnectedGateways, markGatewayConnected } from './open-files';
import { planRollout, type RolloutPlan, type RolloutOptions } from './rollout-plan';
import {
  countResults,
  toManyAppliancesData,
  toManyAppliancesEnvelope,
  toFailedResult,
  findPartialFailure,
  formatPlannedRequests,
  type ApplianceResult,
  type ManyAppliancesData,
  type PlannedApplianceRequest,
  type ManyReportInput,
  type StopReason,
} from './many-report';

/** An appliance to run on: an appliance of an inventory, or any object with a name and a gateway. */
export interface ApplianceTarget {
  readonly name: string;
  gateway(): Gateway;
}

type Input = Readonly<Record<string, unknown>>;

export interface RunOnManyProgress {
  readonly done: number;
  readonly total: number;
  readonly failed: number;
}

export interface RunOnManyOptions
  extends RolloutOptions, Pick<RunOptions, 'signal' | 'dryRun' | 'approve' | 'translate' | 'initiator' | 'removalRefusal'> {
  /** The selection of the appliances, for the report. */
  readonly selection?: string | undefined;
  /** The maximum number of appliances; more are `LIMIT` before anything is sent. Default: 25 for a destroying operation, otherwise none. A dry run ignores it. */
  readonly maxAppliances?: number | undefined;
  /** If false, the results do not contain the data of the operation. */
  readonly withData?: boolean | undefined;
  /** Called for each finished appliance, with its outcome or error. */
  readonly onDone?: ((target: ApplianceTarget, done: { index: number; outcome?: RunOutcome; error?: GatewayError }) => void) | undefined;
  readonly onProgress?: ((progress: RunOnManyProgress) => void) | undefined;
  /** Called for each part of a streaming read, with its appliance. */
  readonly onPart?: ((target: ApplianceTarget, ...part: Parameters<NonNullable<RunOptions['onPart']>>) => void) | undefined;
}

export interface RunOnManyOutcome {
  readonly data: ManyAppliancesData;
  readonly envelope: Envelope;
}

/** The default limit of appliances for a destroying operation. */
export const MAX_DESTROYED_APPLIANCES = 25;

/**
 * Runs one operation on many appliances. A failure does not stop the others, unless `canary` or `maxFailures` says so. Errors before anything
 * is sent: `BAD_INPUT`, `BAD_CONFIG` and `LIMIT`. Errors with `cause.results`: the first error if every appliance failed, and `ABORTED` if the
 * run was canceled.
 */
export async function runOnMany(
  targets: readonly ApplianceTarget[],
  operation: string,
  input: Input | ((target: ApplianceTarget) => Input),
  options: RunOnManyOptions = {},
): Promise<RunOnManyOutcome> {
  const { effect } = getOperation(operation);
  const { dryRun = false, maxAppliances = effect === 'destroy' ? MAX_DESTROYED_APPLIANCES : Infinity } = options;
  if (targets.length > maxAppliances && !dryRun) {
    throw new GatewayError(
      'LIMIT',
      safeMessage`The selection matches ${targets.length} appliances; the maximum for this operation is ${maxAppliances} (maxAppliances). Nothing was sent.`,
      { sent: false },
    );
  }
  const rollout = planRollout(options, targets.length);
  // All inputs are read first, so that an invalid message fails before anything is sent.
  const inputs = targets.map((target) => (typeof input === 'function' ? input(target) : input));
  return new ManyRun(targets, operation, inputs, options, rollout).perform();
}

/** The error text for a PUT that removes something on too many appliances. The limit for destroying operations applies to it too. */
const REMOVAL_REFUSAL = safeMessage`More than ${MAX_DESTROYED_APPLIANCES} appliances are selected, and the limit for operations that destroy holds for it (maxAppliances).`;

/** A run that waits for the approval of its plan, and then for its turn. */
interface PendingRun {
  readonly outcome: Promise<RunOutcome>;
  approve(approved: ApprovalRecord): void;
  cancel(error: GatewayError): void;
}

class ManyRun {
  readonly #targets: readonly ApplianceTarget[];
  readonly #operation: string;
  readonly #inputs: readonly Input[];
  readonly #options: RunOnManyOptions;
  readonly #rollout: RolloutPlan;
  readonly #started = performance.now();
  readonly #results: ApplianceResult[];
  readonly #envelopes: (Envelope | undefined)[];
  /** Aborts when the signal of the options aborts. */
  readonly #stop = new LightAbortController();
  readonly #pendingRuns = new Map<number, PendingRun>();
  #approved: ApprovalRecord | undefined;
  readonly #errors = new Map<number, { readonly target: ApplianceTarget; readonly error: GatewayError }>();
  #stopReason: StopReason | undefined;
  #doneCount = 0;
  #failedCount = 0;

  constructor(
    targets: readonly ApplianceTarget[],
    operation: string,
    inputs: readonly Input[],
    options: RunOnManyOptions,
    rollout: RolloutPlan,
  ) {
    this.#targets = targets;
    this.#operation = operation;
    this.#inputs = inputs;
    this.#options = options;
    this.#rollout = rollout;
    this.#results = targets.map(({ name }) => ({ appliance: name, ok: false, skipped: true }));
    this.#envelopes = new Array<Envelope | undefined>(targets.length).fill(undefined);
  }

  async perform(): Promise<RunOnManyOutcome> {
    this.#checkOpenFiles();
    const { signal } = this.#options;
    const cancel = (): void => {
      this.#stopReason ??= 'cancelled';
      this.#stop.abort();
    };
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      const approve = this.#getApprove();
      if (approve) await this.#obtainApproval(approve);
      await this.#runAll();
    } finally {
      signal?.removeEventListener('abort', cancel);
      const skipped = new GatewayError('ABORTED', 'The run was not started.', { sent: false });
      for (const pending of this.#pendingRuns.values()) pending.cancel(skipped);
    }
    return this.#outcome();
  }

  #checkOpenFiles(): void {
    const gateways = this.#targets.flatMap((target) => {
      try {
        return [target.gateway()];
      } catch {
        // The error is reported when the appliance is started.
        return [];
      }
    });
    assertOpenFileLimit(gateways.length, countConnectedGateways(gateways));
  }

  /** Runs the parts one after the other. In a part, `concurrency` appliances run at the same time. */
  async #runAll(): Promise<void> {
    const { concurrency, ends } = this.#rollout;
    let start = 0;
    for (const end of ends) {
      const first = start;
      await mapConcurrently(this.#targets.slice(first, end), concurrency, async (_target, offset) => {
        if (this.#stopReason === undefined) await this.#runOne(first + offset);
      });
      start = end;
    }
  }

  async #runOne(index: number): Promise<void> {
    const target = this.#targets[index] as ApplianceTarget;
    const done = await this.#startOne(index, target).then(
      (outcome) => ({ index, outcome }),
      (thrown: unknown) => ({ index, error: asGatewayError(thrown) }),
    );
    if ('error' in done) {
      this.#errors.set(index, { target, error: done.error });
      this.#envelopes[index] = done.error.cause;
    } else this.#envelopes[index] = done.outcome.envelope;
    const result = 'error' in done ? toFailedResult(target.name, done.error) : this.#toResult(target, done.outcome);
    this.#results[index] = result;
    this.#countResult(!result.ok, index);
    this.#options.onDone?.(target, done);
  }

  #toResult({ name }: ApplianceTarget, { data, many, envelope }: RunOutcome): ApplianceResult {
    const error = findPartialFailure(many);
    const dataPart = this.#options.withData === false ? {} : { data };
    return { appliance: name, ok: !error, ...dataPart, changed: envelope.changed, ...(error && { error }) };
  }

  #countResult(failed: boolean, index: number): void {
    this.#doneCount++;
    if (failed) {
      this.#failedCount++;
      if (index < this.#rollout.canary) this.#stopReason ??= 'canary';
      if (this.#failedCount > this.#rollout.maxFailures) this.#stopReason ??= 'failures';
    }
    this.#options.onProgress?.({ done: this.#doneCount, total: this.#targets.length, failed: this.#failedCount });
  }

  #startOne(index: number, target: ApplianceTarget): Promise<RunOutcome> {
    const pending = this.#pendingRuns.get(index);
    if (!pending) return this.#send(index, target, undefined);
    this.#pendingRuns.delete(index);
    if (this.#approved) pending.approve(this.#approved);
    return pending.outcome;
  }

  // Async, so that an appliance with invalid settings fails like an unreachable one.
  async #send(index: number, target: ApplianceTarget, approve: RequestApproval | undefined): Promise<RunOutcome> {
    const { dryRun, translate, initiator, onPart, maxAppliances } = this.#options;
    const isOverLimit = maxAppliances === undefined && this.#targets.length > MAX_DESTROYED_APPLIANCES;
    const removalRefusal = this.#options.removalRefusal ?? (isOverLimit ? REMOVAL_REFUSAL : undefined);
    const gateway = target.gateway();
    markGatewayConnected(gateway);
    const partOption = onPart && { onPart: (...part: Parameters<NonNullable<RunOptions['onPart']>>) => onPart(target, ...part) };
    return gateway.run(this.#operation, this.#inputs[index], {
      signal: this.#stop,
      dryRun: dryRun === true,
      approve,
      ...(translate && { translate }),
      initiator,
      removalRefusal,
      ...partOption,
    });
  }

  /** The approval to ask for. Undefined for a read and a dry run. */
  #getApprove(): RequestApproval | undefined {
    const { approve, dryRun } = this.#options;
    return dryRun === true || getOperation(this.#operation).effect === 'read' ? undefined : approve;
  }

  /** Plans all appliances and asks once. The runs then wait for their turn, and each sends at most what was approved. */
  async #obtainApproval(approve: RequestApproval): Promise<void> {
    const proposals = await mapConcurrently([...this.#targets.entries()], this.#rollout.concurrency, async ([index, target]) => ({
      ...(this.#stop.aborted ? undefined : await this.#planOne(index, target)),
      appliance: target.name,
    }));
    const plan = proposals.flatMap(({ appliance, plan = [] }) =>
      plan.map((request): PlannedApplianceRequest => ({ appliance, ...request })),
    );
    const wouldChange = proposals.some((proposal) => proposal.wouldChange);
    if ((plan.length === 0 && !wouldChange) || this.#stop.aborted) return;
    const { translate = defaultTranslate, selection = '' } = this.#options;
    const summary = `${formatPlannedRequests(translate, this.#title(), plan.length, this.#targets.length)}.`;
    this.#approved = await approve({ operation: this.#operation, appliance: selection, summary, plan, wouldChange });
  }

  #title(): string {
    const titleInput = { name: this.#operation, operation: getOperation(this.#operation), input: this.#inputs[0] ?? {} };
    return createOperationTitle({ ...titleInput, mask: (text) => text }, this.#options.translate ?? defaultTranslate);
  }

  /** Starts a run that plans. Returns its plan, or undefined if it ended without one; its outcome is then reported in its turn. */
  #planOne(index: number, target: ApplianceTarget): Promise<Proposal | undefined> {
    return new Promise((resolve) => {
      let decision: { approve(approved: ApprovalRecord): void; cancel(error: GatewayError): void } | undefined;
      const outcome = this.#send(index, target, (proposal) => {
        resolve(proposal);
        return new Promise<ApprovalRecord>((approve, cancel) => (decision = { approve, cancel }));
      });
      this.#pendingRuns.set(index, {
        outcome,
        approve: (approved) => decision?.approve(approved),
        cancel: (error) => decision?.cancel(error),
      });
      outcome.catch(() => undefined).finally(() => resolve(undefined));
    });
  }

  #outcome(): RunOnManyOutcome {
    const { selection = '', translate = defaultTranslate, dryRun = false } = this.#options;
    const data = toManyAppliancesData(this.#results, this.#operation);
    const report: ManyReportInput = {
      operation: this.#operation,
      selection,
      input: this.#inputs[0] ?? {},
      results: this.#results,
      envelopes: this.#envelopes,
      dryRun,
      stopped: this.#stopReason,
      started: this.#started,
      translate,
    };
    const envelope = toManyAppliancesEnvelope(report);
    if (this.#stopReason === 'cancelled') {
      throw this.#failure(new GatewayError('ABORTED', safeMessage`Canceled: ${data.ok} of ${data.total} appliances were done.`), envelope);
    }
    const index = this.#results.findIndex((_, position) => this.#errors.has(position));
    const first = this.#errors.get(index);
    if (data.ok > 0 || !first) return { data, envelope };
    const moreSuffix = data.failed > 1 ? safeMessage` (and ${data.failed - 1} more failed)` : trusted('');
    throw this.#failure(
      new GatewayError(first.error.code, safeMessage`${first.target.name}: ${first.error}${moreSuffix}`, first.error.details),
      envelope,
    );
  }

  #failure(error: GatewayError, envelope: Envelope): GatewayError {
    const { code, message } = error;
    const { total, failed, skipped } = countResults(this.#results);
    error.cause = { ...envelope, ok: false, code, message, total, failed, skipped, results: this.#results };
    return error;
  }
}
