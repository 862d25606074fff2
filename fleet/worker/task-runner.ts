import { asGatewayError, GatewayError, trusted, redactSecrets, type ErrorCode } from '@gateway-admin/node-red';
import type { Database } from '../store/database';
import type { RunStore } from '../store/run-store';
import type { ClaimResult, ItemOutcome } from '../store/rows';
import { hashFleetAppliance } from './fleet-identity';
import { assertItemsSigned } from './order-signature';
import { toStorableData, truncateMessage, createAddressRedactor } from './item-outcome';
import type { ApplianceSource, RunItemKey } from './item-worker';

const MAX_CODE_LENGTH = 40;

type ClaimedItem = Extract<ClaimResult, { kind: 'run' | 'look' }>;

/** One appliance of a *fleet task* run. */
export interface FleetTask {
  readonly run: string;
  readonly appliance: string;
  readonly input: unknown;
  /** Token that identifies the task when its flow ends. */
  readonly token: string;
}

interface TaskRunnerOptions {
  readonly database: Database;
  readonly store: RunStore;
  readonly appliances: ApplianceSource;
  readonly holder: string;
  readonly getFingerprint: () => string;
  /** Maximum duration of a task; a task that has not ended by then has failed. */
  readonly timeLimitMs: number;
  readonly createToken: () => string;
  readonly startFlow: (task: FleetTask) => void;
}

interface OpenTask {
  end(outcome: ItemOutcome): void;
}

/** Open tasks of this process by token, because any *fleet done* node may end them. */
const openTasks = new Map<string, OpenTask>();

/** Ends a task with the outcome of its flow. False if no open task has the token. */
export function completeFleetTask(token: string, outcome: ItemOutcome): boolean {
  const task = openTasks.get(token);
  openTasks.delete(token);
  task?.end(outcome);
  return task !== undefined;
}

/** Starts a flow for each item and records the outcome. */
export class TaskRunner {
  readonly #options: TaskRunnerOptions;
  readonly #activeTokens = new Map<string, string>();
  #stopped = false;

  constructor(options: TaskRunnerOptions) {
    this.#options = options;
  }

  get busy(): number {
    return this.#activeTokens.size;
  }

  /** Stops the runner. Open tasks return to the queue if their flow may start again; otherwise their outcome is unknown. */
  stop(): void {
    this.#stopped = true;
    for (const token of this.#activeTokens.values()) completeFleetTask(token, NODE_CLOSED);
  }

  async work({ run, index }: RunItemKey): Promise<'done' | 'later' | 'lost'> {
    const key = `${index} ${run}`;
    if (this.#activeTokens.has(key) || this.#stopped) return 'later';
    const token = this.#options.createToken();
    this.#activeTokens.set(key, token);
    try {
      const { store, holder, getFingerprint } = this.#options;
      const result = await this.#retryUntilAvailable(() => store.claimItem(run, index, holder, getFingerprint()));
      if (result.kind === 'over') return 'done';
      if (result.kind === 'held') return 'later';
      return await this.#perform(result, token);
    } finally {
      this.#activeTokens.delete(key);
    }
  }

  async #perform(claimed: ClaimedItem, token: string): Promise<'done' | 'later' | 'lost'> {
    const { appliances, store } = this.#options;
    const { claim, item, run } = claimed;
    if (claimed.kind === 'look') return this.#finish(claimed, { ...ABANDONED });
    try {
      assertItemsSigned(run, [item], appliances.getSigningKey?.());
    } catch (thrown) {
      const { code, message } = asGatewayError(thrown);
      return this.#finish(claimed, { state: 'failed', code, message });
    }
    const target = appliances.findAppliance(item.appliance);
    if (!target || hashFleetAppliance(target) !== item.target) return this.#finish(claimed, { ...OTHER_APPLIANCE });
    // A flow may write at any node. One that must not start twice counts as a write from its start.
    if (!run.repeats && !(await this.#retryUntilAvailable(() => store.markSending(claim)))) return 'lost';
    // Read the address before the flow starts, because a deploy may have closed the inventory when it ends.
    const redact = createAddressRedactor(item.appliance, target.url);
    const outcome = await this.#runFlow(claimed, token);
    const { message } = outcome;
    if (outcome !== NODE_CLOSED) return this.#finish(claimed, message === undefined ? outcome : { ...outcome, message: redact(message) });
    if (run.repeats) await this.#retryUntilAvailable(() => store.releaseItem(claim));
    return run.repeats ? 'later' : this.#finish(claimed, { ...ABANDONED });
  }

  async #finish({ claim, run }: ClaimedItem, { data, ...outcome }: ItemOutcome): Promise<'done' | 'lost'> {
    const stored = run.with_data ? { ...outcome, data } : outcome;
    return (await this.#retryUntilAvailable(() => this.#options.store.finishItem(claim, stored))) ? 'done' : 'lost';
  }

  #runFlow({ item, run }: ClaimedItem, token: string): Promise<ItemOutcome> {
    if (this.#stopped) return Promise.resolve(NODE_CLOSED);
    const { startFlow, timeLimitMs } = this.#options;
    return new Promise((resolve) => {
      const timer = setTimeout(() => completeFleetTask(token, TIMED_OUT), timeLimitMs).unref();
      openTasks.set(token, {
        end: (outcome) => {
          clearTimeout(timer);
          resolve(outcome);
        },
      });
      startFlow({ run: run.id, appliance: item.appliance, input: { ...run.input, ...item.input }, token });
    });
  }

  #retryUntilAvailable<T>(work: () => Promise<T>): Promise<T> {
    return this.#options.database.retryUntilAvailable(work, () => this.#stopped);
  }
}

const createOutcome = (state: 'failed' | 'unknown', code: ErrorCode, message: string): ItemOutcome => ({
  state,
  changed: null,
  code,
  message,
});
const NODE_CLOSED = createOutcome('failed', 'ABORTED', 'The node was closed.');
const TIMED_OUT = createOutcome(
  'failed',
  'TIMEOUT',
  'The flow did not reach a fleet done node within the time limit. Wire its end and a Catch node to a fleet done node.',
);
const OTHER_APPLIANCE = createOutcome(
  'failed',
  'BAD_CONFIG',
  'This Node-RED does not have the appliance, or has it with another address than the inventory that started the run. The flow was not started. Give all Node-RED instances the same inventory.',
);
const ABANDONED = createOutcome(
  'unknown',
  'OUTCOME_UNKNOWN',
  'The Node-RED that ran the flow stopped before the flow ended. Check the appliance, then repeat the item or leave it.',
);

/** Reads the outcome of a task from the message that ended it. The task has failed if the message has an error. */
export function toFleetTaskOutcome(message: { readonly payload?: unknown; readonly error?: unknown }): ItemOutcome {
  const { error, payload } = message;
  if (error === undefined || error === null) return { state: 'ok', changed: null, data: toStorableData(payload) };
  const { code, message: errorMessage } = Object(error) as { code?: unknown; message?: unknown };
  const text = typeof error === 'string' ? error : typeof errorMessage === 'string' ? errorMessage : 'The flow failed.';
  return {
    state: 'failed',
    changed: null,
    code: typeof code === 'string' ? code.slice(0, MAX_CODE_LENGTH) : 'REJECTED',
    message: truncateMessage(redactSecrets(text, message)),
  };
}

export function createUnknownFleetTaskError(): GatewayError {
  return new GatewayError(
    'BAD_INPUT',
    trusted('This message does not belong to an open task of this Node-RED: msg.task is missing, or the task has already ended.'),
    {
      sent: false,
    },
  );
}
