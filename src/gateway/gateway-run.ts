import { operations } from '../areas';
import type { EndedRun, RunOptions, RunOutcome } from './gateway-options';
import type { Initiator } from '../journal/record-writes';
import type { AbortSignalLike } from '../model/abort';
import type { Envelope } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import type { ParsedInput } from '../model/field';
import { isObject } from '../model/json';
import type { Operation, OperationContext, Progress } from '../model/operation';
import type { Redactor } from '../model/redaction';
import { trusted } from '../model/safe-message';
import { isRehearsing } from '../model/settings';
import { findInputSecrets, canContainInputSecrets } from '../model/secrets';
import { defaultTranslate, type Translate } from '../model/summary';
import { Approval, type RequestApproval } from '../run/approval';
import { createEnvelope, createRunFailureEnvelope, redactWriteEnvelope, type RunInfo } from '../run/envelope';
import type { GatewayContext } from '../run/gateway-context';
import type { InFlightLimit } from '../run/in-flight-limit';
import { countReturnedRecords } from '../run/output';
import type { PendingWrite, WriteGuard, WriteInterceptor } from '../run/pending-write';
import type { CheckPermission } from '../run/permissions';
import { RunContext } from '../run/run-context';
import type { StreamPartInfo, RunContextOptions, RunState } from '../run/run-state';
import type { Sender, WriteResponse } from '../run/sender';
import { summarizeRun, type SummaryContext } from '../run/summarize-run';
import { runWriteChecks, createWriteInterceptor, needsWriteInterceptor, type RunWithWriteInterceptors } from './write-interceptors';

/** What a gateway gives to each of its runs. */
export interface RunEnvironment {
  readonly gatewayContext: GatewayContext;
  readonly redactor: Redactor;
  readonly checkPermission: CheckPermission | undefined;
  /** The limit of runs; undefined without a limit, and for a run that plans for another one. */
  readonly inFlightLimit: InFlightLimit | undefined;
  readonly onRunEnd: ((run: EndedRun) => void) | undefined;
  /** Finds another appliance; undefined if the gateway knows none. */
  readonly runOnAppliance: RunOnApplianceFunction | undefined;
}

type RunOnApplianceFunction = <T>(
  name: string,
  work: (call: OperationContext) => Promise<T>,
  signal: AbortSignalLike | undefined,
) => Promise<T>;

/** Options of a run that plans another run. */
interface PlannedRunOptions {
  readonly gate: WriteGuard;
  readonly sender: Sender;
}

type Input = Readonly<Record<string, unknown>>;

/** One run of one operation: its facts for envelope and summary, and the options of its context. Its methods need no closures per run. */
export class GatewayRun implements RunInfo, SummaryContext, RunWithWriteInterceptors, RunContextOptions {
  readonly startedAt = performance.now();
  readonly name: string;
  /** The operation; undefined when the name is unknown. */
  readonly operation: Operation | undefined;
  readonly input: Input;
  readonly runOptions: RunOptions;
  readonly environment: RunEnvironment;
  readonly redactor: Redactor;
  readonly isWrite: boolean;
  readonly dryRun: boolean;
  readonly approval: Approval | undefined;
  readonly gate: WriteGuard | undefined;
  readonly sender: Sender | undefined;
  readonly context: RunContext;
  #parsedInput: ParsedInput | undefined;
  #interceptor: WriteInterceptor | undefined;
  #hasSlot = false;

  constructor(environment: RunEnvironment, name: string, input: Input, runOptions: RunOptions, planning?: PlannedRunOptions) {
    const operation = operations.get(name);
    this.name = name;
    this.operation = operation;
    this.input = input;
    this.runOptions = runOptions;
    this.environment = environment;
    this.isWrite = operation?.effect !== 'read';
    this.dryRun = planning !== undefined || runOptions.dryRun === true || environment.gatewayContext.settings.dryRun === true;
    const { redactor } = environment;
    const { fields } = operation ?? {};
    this.redactor = canContainInputSecrets(fields, input) ? redactor.with(findInputSecrets(fields, input)) : redactor;
    const { approve } = runOptions;
    this.approval = approve && this.isWrite && !this.dryRun ? new Approval(exemptFromLimit(approve, environment.inFlightLimit)) : undefined;
    this.gate = planning?.gate ?? this.approval;
    this.sender = planning?.sender;
    this.context = new RunContext(environment.gatewayContext, this);
  }

  get appliance(): string {
    return this.gatewayContext.settings.name;
  }

  get isRehearsal(): boolean {
    return isRehearsing(this.gatewayContext.settings);
  }

  get gatewayContext(): GatewayContext {
    return this.environment.gatewayContext;
  }

  get masker(): Redactor {
    return this.redactor;
  }

  get signal(): AbortSignalLike | undefined {
    return this.runOptions.signal;
  }

  get translate(): Translate {
    return this.runOptions.translate ?? defaultTranslate;
  }

  get initiator(): Initiator | undefined {
    return this.runOptions.initiator;
  }

  get checkPermission(): CheckPermission | undefined {
    return this.environment.checkPermission;
  }

  get shouldCacheReads(): boolean {
    return this.isWrite && !this.dryRun;
  }

  get beforeWrite(): RunOptions['beforeWrite'] {
    return this.runOptions.beforeWrite;
  }

  get removalRefusal(): RunOptions['removalRefusal'] {
    return this.runOptions.removalRefusal;
  }

  get onProgress(): ((progress: Progress) => void) | undefined {
    return this.runOptions.onProgress;
  }

  get shouldProveLogin(): boolean {
    return this.#parsedInput?.['prove-login'] !== false;
  }

  /** Takes a slot of the limit. Errors: `LIMIT` when too many runs are in flight. */
  acquireSlot(): void {
    this.environment.inFlightLimit?.acquire();
    this.#hasSlot = true;
  }

  releaseSlot(): void {
    if (this.#hasSlot) this.environment.inFlightLimit?.release();
    this.#hasSlot = false;
  }

  set parsedInput(input: ParsedInput) {
    this.#parsedInput = input;
  }

  get onEmit(): RunContextOptions['onEmit'] {
    return this.runOptions.onPart && ((data, part, state) => this.#emit(data, part, state));
  }

  get onAppliance(): OperationContext['onAppliance'] | undefined {
    const { runOnAppliance } = this.environment;
    return runOnAppliance && ((name, work) => runOnAppliance(name, work, this.signal));
  }

  checkWrite(write: PendingWrite, state: RunState): Promise<void> | undefined {
    return runWriteChecks(this, write, state);
  }

  interceptWrite(write: PendingWrite, next: () => Promise<WriteResponse>): Promise<WriteResponse> {
    if (this.dryRun || !needsWriteInterceptor(this, write)) return next();
    this.#interceptor ??= createWriteInterceptor(this, this.context);
    return this.#interceptor(write, next);
  }

  toOutcome(data: unknown): RunOutcome {
    const { many = null, emittedParts } = this.context.record;
    const streamed = emittedParts !== undefined;
    const envelope = createEnvelope(this, this.context);
    envelope.summary = summarizeRun(this, this.context, { data });
    const isMasked = this.isWrite || this.operation?.isReport === true;
    if (isMasked) redactWriteEnvelope(envelope, this.context, this.redactor);
    if (streamed) return { data: undefined, many: null, envelope, streamed };
    // An operation can add counts to the results of its items.
    if (many) return { data: isObject(data) && data['results'] === many.results ? data : many, many, envelope, streamed };
    return { data: isMasked ? this.redactor.value(data) : data, many, envelope, streamed };
  }

  toError(thrown: unknown): GatewayError {
    const error = asGatewayError(thrown);
    // Always a new error: runs that wait for one login share its error, and each needs its own cause.
    const redactedError = new GatewayError(error.code, trusted(this.redactor.message(error)), error.details);
    redactedError.cause = createRunFailureEnvelope(this, error, this.context, this.redactor);
    redactedError.cause.summary = summarizeRun(this, this.context, { code: error.code });
    return redactedError;
  }

  /** Calls the observer. Its errors must not change the outcome. */
  reportEnd({ data, envelope }: { readonly data: unknown; readonly envelope: Envelope | undefined }): void {
    const { onRunEnd } = this.environment;
    if (!onRunEnd || !envelope) return;
    try {
      onRunEnd({ operation: this.name, input: this.input, data, envelope, initiator: this.initiator });
    } catch {
      // The observer is not part of the run.
    }
  }

  #emit(data: unknown, part: StreamPartInfo, state: RunState): void {
    const envelope = createEnvelope(this, state);
    envelope.summary = summarizeRun(this, state, { data, count: countReturnedRecords(data) });
    this.runOptions.onPart?.(data, part, envelope);
  }
}

/** A run that waits for approval causes no load, so it releases its slot. */
function exemptFromLimit(approve: RequestApproval, inFlightLimit: InFlightLimit | undefined): RequestApproval {
  return inFlightLimit ? (proposal) => inFlightLimit.withoutSlot(() => approve(proposal)) : approve;
}
