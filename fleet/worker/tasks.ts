import { GatewayError, ours, withoutSecrets, type ErrorCode } from '@gateway-admin/node-red';
import type { Database } from '../ledger/database';
import type { Ledger } from '../ledger/ledger';
import type { Begun, ItemOutcome } from '../ledger/rows';
import { kept, short, withoutAddress } from './outcome';
import type { Appliances, ItemKey } from './worker';

const LONGEST_CODE = 40;

type Taken = Extract<Begun, { kind: 'run' | 'look' }>;

/** One appliance of a flow that somebody has drawn. */
export interface Task {
  readonly run: string;
  readonly appliance: string;
  readonly input: unknown;
  /** By which the flow says that it is done. */
  readonly token: string;
}

export interface TasksOptions {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly appliances: Appliances;
  readonly holder: string;
  /** A task nobody has ended after so long has failed. */
  readonly timeLimitMs: number;
  readonly newToken: () => string;
  readonly begin: (task: Task) => void;
}

interface Open {
  end(outcome: ItemOutcome): void;
}

/** Those that are under way in this process, by token: a flow may end them in any node. */
const open = new Map<string, Open>();

/** What a flow says of a task. False: it is none that is under way here. */
export function endTask(token: string, outcome: ItemOutcome): boolean {
  const task = open.get(token);
  open.delete(token);
  task?.end(outcome);
  return task !== undefined;
}

/** Hands items to a flow, and notes what that says of each. */
export class Tasks {
  readonly #options: TasksOptions;
  readonly #here = new Map<string, string>();
  #stopped = false;

  constructor(options: TasksOptions) {
    this.#options = options;
  }

  get busy(): number {
    return this.#here.size;
  }

  /** What is under way is given back to be begun again, unless that must not be. */
  stop(): void {
    this.#stopped = true;
    for (const token of this.#here.values()) endTask(token, CLOSED);
  }

  async work({ run, index }: ItemKey): Promise<'done' | 'later' | 'lost'> {
    const key = `${index} ${run}`;
    if (this.#here.has(key) || this.#stopped) return 'later';
    const token = this.#options.newToken();
    this.#here.set(key, token);
    try {
      const { ledger, holder } = this.#options;
      const begun = await this.#lasting(() => ledger.begin(run, index, holder));
      if (begun.kind === 'over') return 'done';
      if (begun.kind === 'held') return 'later';
      return await this.#perform(begun, token);
    } finally {
      this.#here.delete(key);
    }
  }

  async #perform(taken: Taken, token: string): Promise<'done' | 'later' | 'lost'> {
    const { appliances, ledger } = this.#options;
    const { claim, item, run } = taken;
    if (taken.kind === 'look') return this.#finish(taken, { ...LEFT });
    // Nobody knows what a flow does: one that must not be begun twice is taken for a write from its first node on.
    if (!run.repeats && !(await this.#lasting(() => ledger.sending(claim)))) return 'lost';
    // Before the flow begins: its end may come when a deploy has closed the inventory.
    const clean = withoutAddress(item.appliance, appliances.named(item.appliance)?.url);
    const outcome = await this.#outcome(taken, token);
    const { message } = outcome;
    if (outcome !== CLOSED) return this.#finish(taken, message === undefined ? outcome : { ...outcome, message: clean(message) });
    if (run.repeats) await this.#lasting(() => ledger.release(claim));
    return run.repeats ? 'later' : this.#finish(taken, { ...LEFT });
  }

  async #finish({ claim, run }: Taken, { data, ...outcome }: ItemOutcome): Promise<'done' | 'lost'> {
    const whole = run.with_data ? { ...outcome, data } : outcome;
    return (await this.#lasting(() => this.#options.ledger.finish(claim, whole))) ? 'done' : 'lost';
  }

  #outcome({ item, run }: Taken, token: string): Promise<ItemOutcome> {
    if (this.#stopped) return Promise.resolve(CLOSED);
    const { begin, timeLimitMs } = this.#options;
    return new Promise((resolve) => {
      const timer = setTimeout(() => endTask(token, TOO_LONG), timeLimitMs).unref();
      open.set(token, {
        end: (outcome) => {
          clearTimeout(timer);
          resolve(outcome);
        },
      });
      begin({ run: run.id, appliance: item.appliance, input: { ...run.input, ...item.input }, token });
    });
  }

  #lasting<T>(work: () => Promise<T>): Promise<T> {
    return this.#options.database.lasting(work, () => this.#stopped);
  }
}

const ended = (state: 'failed' | 'unknown', code: ErrorCode, message: string): ItemOutcome => ({ state, changed: null, code, message });
const CLOSED = ended('failed', 'ABORTED', 'The node was closed.');
const TOO_LONG = ended(
  'failed',
  'TIMEOUT',
  'The flow has not said in time that it is done. Wire its end, and a Catch node, to a done node.',
);
const LEFT = ended(
  'unknown',
  'OUTCOME_UNKNOWN',
  'Its Node-RED ended while the flow was under way. Look how far it came, then repeat it or leave it.',
);

/** What the message makes of its task that says that it is done, well or, with an error on it, not. */
export function outcomeOf(message: { readonly payload?: unknown; readonly error?: unknown }): ItemOutcome {
  const { error, payload } = message;
  if (error === undefined || error === null) return { state: 'ok', changed: null, data: kept(payload) };
  const { code, message: words } = Object(error) as { code?: unknown; message?: unknown };
  const told = typeof error === 'string' ? error : typeof words === 'string' ? words : 'The flow failed.';
  return {
    state: 'failed',
    changed: null,
    code: typeof code === 'string' ? code.slice(0, LONGEST_CODE) : 'REJECTED',
    message: short(withoutSecrets(told, message)),
  };
}

export function noTask(): GatewayError {
  return new GatewayError(
    'BAD_INPUT',
    ours('This message belongs to no task that is under way here: msg.task is missing, or its task has ended already.'),
    {
      sent: false,
    },
  );
}
