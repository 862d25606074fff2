import type { Gateway, Outcome, RunOptions } from '../gateway';
import { operationNamed } from '../areas';
import type { Approve, Approved, Proposal } from '../run/approval';
import { Canceller } from '../model/cancelling';
import type { Envelope } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import { inParallel } from '../model/in-parallel';
import { ours, sentence } from '../model/sentence';
import { english, titleOf } from '../model/summary';
import { checkOpenFiles, holding, holds } from './open-files';
import { paceOf, type Pace, type PaceOptions } from './pace';
import {
  countsOf,
  dataOf,
  envelopeOf,
  failedResult,
  partlyFailed,
  plannedWords,
  type ApplianceResult,
  type ManyAppliances,
  type PlannedAt,
  type Reported,
  type Stopped,
} from './report';

/** An appliance to run on: one of an inventory, or whatever has a name and a gateway. */
export interface Target {
  readonly name: string;
  gateway(): Gateway;
}

type Input = Readonly<Record<string, unknown>>;

export interface ManyProgress {
  readonly done: number;
  readonly total: number;
  readonly failed: number;
}

export interface ManyOptions extends PaceOptions, Pick<RunOptions, 'signal' | 'dryRun' | 'approve' | 'say' | 'by'> {
  /** How they were selected, for the report. */
  readonly selection?: string | undefined;
  /** More are `LIMIT` before anything is sent; default 25 where the operation destroys something, else any number. A dry run plans all. */
  readonly maxAppliances?: number | undefined;
  /** False: the results do not hold what the operation gave. */
  readonly withData?: boolean | undefined;
  /** Each appliance as it is done, with what it gave or why it failed. */
  readonly onDone?: ((target: Target, done: { index: number; outcome?: Outcome; error?: GatewayError }) => void) | undefined;
  readonly onProgress?: ((progress: ManyProgress) => void) | undefined;
  /** Parts of a read that streams, of each appliance. */
  readonly onPart?: ((target: Target, ...part: Parameters<NonNullable<RunOptions['onPart']>>) => void) | undefined;
}

export interface ManyOutcome {
  readonly data: ManyAppliances;
  readonly envelope: Envelope;
}

/** A destroying operation reaches no more by default. */
export const MOST_DESTROYED = 25;

/**
 * Runs one operation on many appliances, so many at a time. One that fails does not stop the others, unless the options say so. Errors:
 * that of the first when not one was well, `ABORTED` when it was cancelled (both with `cause.results`); `BAD_INPUT`, `BAD_CONFIG` and
 * `LIMIT` before anything was sent.
 */
export async function runOnMany(
  targets: readonly Target[],
  operation: string,
  input: Input | ((target: Target) => Input),
  options: ManyOptions = {},
): Promise<ManyOutcome> {
  const { effect } = operationNamed(operation);
  const { dryRun = false, maxAppliances = effect === 'destroy' ? MOST_DESTROYED : Infinity } = options;
  if (targets.length > maxAppliances && !dryRun) {
    throw new GatewayError(
      'LIMIT',
      sentence`${targets.length} appliances fit the selection; at most ${maxAppliances} may be reached by this operation (maxAppliances). Nothing was sent.`,
      { sent: false },
    );
  }
  const pace = paceOf(options, targets.length);
  // What cannot be read of the message fails before anything is sent anywhere.
  const inputs = targets.map((target) => (typeof input === 'function' ? input(target) : input));
  return new Run(targets, operation, inputs, options, pace).perform();
}

/** A run that waits for its plan to be approved, and then for its turn. */
interface Held {
  readonly outcome: Promise<Outcome>;
  go(approved: Approved): void;
  leave(error: GatewayError): void;
}

class Run {
  readonly #targets: readonly Target[];
  readonly #operation: string;
  readonly #inputs: readonly Input[];
  readonly #options: ManyOptions;
  readonly #pace: Pace;
  readonly #started = performance.now();
  readonly #results: ApplianceResult[];
  readonly #envelopes: (Envelope | undefined)[];
  /** Ended with the message's own signal. */
  readonly #stop = new Canceller();
  readonly #held = new Map<number, Held>();
  #approved: Approved | undefined;
  readonly #errors = new Map<number, { readonly target: Target; readonly error: GatewayError }>();
  #stopped: Stopped | undefined;
  #done = 0;
  #failed = 0;

  constructor(targets: readonly Target[], operation: string, inputs: readonly Input[], options: ManyOptions, pace: Pace) {
    this.#targets = targets;
    this.#operation = operation;
    this.#inputs = inputs;
    this.#options = options;
    this.#pace = pace;
    this.#results = targets.map(({ name }) => ({ appliance: name, ok: false, skipped: true }));
    this.#envelopes = new Array<Envelope | undefined>(targets.length).fill(undefined);
  }

  async perform(): Promise<ManyOutcome> {
    this.#checkFiles();
    const { signal } = this.#options;
    const cancel = (): void => {
      this.#stopped ??= 'cancelled';
      this.#stop.abort();
    };
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      const approve = this.#asks();
      if (approve) await this.#obtain(approve);
      await this.#all();
    } finally {
      signal?.removeEventListener('abort', cancel);
      const skipped = new GatewayError('ABORTED', 'It was not begun.', { sent: false });
      for (const held of this.#held.values()) held.leave(skipped);
    }
    return this.#outcome();
  }

  #checkFiles(): void {
    const gateways = this.#targets.flatMap((target) => {
      try {
        return [target.gateway()];
      } catch {
        // It fails when its turn comes.
        return [];
      }
    });
    checkOpenFiles(gateways.length, holding(gateways));
  }

  /** One part after the other; within one, `atOnce` at a time. */
  async #all(): Promise<void> {
    const { atOnce, ends } = this.#pace;
    let next = 0;
    for (const end of ends) {
      const worker = async (): Promise<void> => {
        while (next < end && this.#stopped === undefined) await this.#one(next++);
      };
      await Promise.all(Array.from({ length: Math.min(atOnce, end - next) }, worker));
    }
  }

  async #one(index: number): Promise<void> {
    const target = this.#targets[index] as Target;
    const done = await this.#begin(index, target).then(
      (outcome) => ({ index, outcome }),
      (thrown: unknown) => ({ index, error: asGatewayError(thrown) }),
    );
    if ('error' in done) {
      this.#errors.set(index, { target, error: done.error });
      this.#envelopes[index] = done.error.cause;
    } else this.#envelopes[index] = done.outcome.envelope;
    const result = 'error' in done ? failedResult(target.name, done.error) : this.#resultOf(target, done.outcome);
    this.#results[index] = result;
    this.#counted(!result.ok, index);
    this.#options.onDone?.(target, done);
  }

  #resultOf({ name }: Target, { data, many, envelope }: Outcome): ApplianceResult {
    const error = partlyFailed(many);
    const given = this.#options.withData === false ? {} : { data };
    return { appliance: name, ok: !error, ...given, changed: envelope.changed, ...(error && { error }) };
  }

  #counted(failed: boolean, index: number): void {
    this.#done++;
    if (failed) {
      this.#failed++;
      if (index < this.#pace.canary) this.#stopped ??= 'canary';
      if (this.#failed > this.#pace.maxFailures) this.#stopped ??= 'failures';
    }
    this.#options.onProgress?.({ done: this.#done, total: this.#targets.length, failed: this.#failed });
  }

  #begin(index: number, target: Target): Promise<Outcome> {
    const held = this.#held.get(index);
    if (!held) return this.#send(index, target, undefined);
    this.#held.delete(index);
    if (this.#approved) held.go(this.#approved);
    return held.outcome;
  }

  // Async, so that an appliance that is not set up fails like one that is out of reach.
  async #send(index: number, target: Target, approve: Approve | undefined): Promise<Outcome> {
    const { dryRun, say, by, onPart } = this.#options;
    const gateway = target.gateway();
    holds(gateway);
    const parts = onPart && { onPart: (...part: Parameters<NonNullable<RunOptions['onPart']>>) => onPart(target, ...part) };
    return gateway.run(this.#operation, this.#inputs[index], {
      signal: this.#stop,
      dryRun: dryRun === true,
      approve,
      ...(say && { say }),
      by,
      ...parts,
    });
  }

  /** Whom it asks, if it would write. */
  #asks(): Approve | undefined {
    const { approve, dryRun } = this.#options;
    return dryRun === true || operationNamed(this.#operation).effect === 'read' ? undefined : approve;
  }

  /** Has all of them plan, asks once, and leaves them waiting for their turn: what each was approved for is the most that it does. */
  async #obtain(approve: Approve): Promise<void> {
    const proposals = await inParallel([...this.#targets.entries()], this.#pace.atOnce, async ([index, target]) => ({
      ...(this.#stop.aborted ? undefined : await this.#hold(index, target)),
      appliance: target.name,
    }));
    const plan = proposals.flatMap(({ appliance, plan = [] }) => plan.map((request): PlannedAt => ({ appliance, ...request })));
    const wouldChange = proposals.some((proposal) => proposal.wouldChange);
    if ((plan.length === 0 && !wouldChange) || this.#stop.aborted) return;
    const { say = english, selection = '' } = this.#options;
    const summary = `${plannedWords(say, this.#title(), plan.length, this.#targets.length)}.`;
    this.#approved = await approve({ operation: this.#operation, appliance: selection, summary, plan, wouldChange });
  }

  #title(): string {
    const told = { name: this.#operation, operation: operationNamed(this.#operation), input: this.#inputs[0] ?? {} };
    return titleOf({ ...told, mask: (text) => text }, this.#options.say ?? english);
  }

  /** Begins one that plans. Gives the plan, or nothing where it has ended without one: its outcome is told when its turn comes. */
  #hold(index: number, target: Target): Promise<Proposal | undefined> {
    return new Promise((resolve) => {
      let decided: { go(approved: Approved): void; leave(error: GatewayError): void } | undefined;
      const outcome = this.#send(index, target, (proposal) => {
        resolve(proposal);
        return new Promise<Approved>((go, leave) => (decided = { go, leave }));
      });
      this.#held.set(index, { outcome, go: (approved) => decided?.go(approved), leave: (error) => decided?.leave(error) });
      outcome.catch(() => undefined).finally(() => resolve(undefined));
    });
  }

  #outcome(): ManyOutcome {
    const { selection = '', say = english, dryRun = false } = this.#options;
    const data = dataOf(this.#results, this.#operation);
    const reported: Reported = {
      operation: this.#operation,
      selection,
      input: this.#inputs[0] ?? {},
      results: this.#results,
      envelopes: this.#envelopes,
      dryRun,
      stopped: this.#stopped,
      started: this.#started,
      say,
    };
    const envelope = envelopeOf(reported);
    if (this.#stopped === 'cancelled') {
      throw this.#failure(new GatewayError('ABORTED', sentence`Cancelled: ${data.ok} of ${data.total} appliances were done.`), envelope);
    }
    const index = this.#results.findIndex((_, at) => this.#errors.has(at));
    const first = this.#errors.get(index);
    if (data.ok > 0 || !first) return { data, envelope };
    const more = data.failed > 1 ? sentence` (and ${data.failed - 1} more failed)` : ours('');
    throw this.#failure(
      new GatewayError(first.error.code, sentence`${first.target.name}: ${first.error}${more}`, first.error.details),
      envelope,
    );
  }

  #failure(error: GatewayError, envelope: Envelope): GatewayError {
    const { code, message } = error;
    const { total, failed, skipped } = countsOf(this.#results);
    error.cause = { ...envelope, ok: false, code, message, total, failed, skipped, results: this.#results };
    return error;
  }
}
