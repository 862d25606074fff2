import { operations, GatewayError, ours, sentence, type Gateway, type JsonObject, type RunOptions } from '@gateway-admin/node-red';
import { isInterrupted, type Database } from '../ledger/database';
import type { Ledger } from '../ledger/ledger';
import type { Begun, ItemOutcome, Json } from '../ledger/rows';
import { asApproved } from './approved';
import { lookerOf } from './look';
import { failed, succeeded, withoutAddress } from './outcome';

/** An appliance of the inventory: `url` is for taking it out of what is kept. */
export interface FleetTarget {
  readonly name: string;
  readonly url?: string;
  gateway(): Gateway;
}

/** Where a process has its appliances and credential sets from. */
export interface Appliances {
  named(name: string): FleetTarget | undefined;
  /** Errors: `BAD_CONFIG`. */
  secretOf(set: string): string;
}

export interface WorkerOptions {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly appliances: Appliances;
  readonly holder: string;
  /** Resolves when nobody can have taken this process for dead. */
  readonly sure: () => Promise<void>;
  readonly isSure: () => boolean;
  readonly say?: RunOptions['say'];
}

export interface ItemKey {
  readonly run: string;
  readonly index: number;
}

type Taken = Extract<Begun, { kind: 'run' | 'look' }>;

/** What an item has come to while it runs. */
interface So {
  /** A write may have left. */
  isSent: boolean;
  isInterrupted: boolean;
}

/** Runs items of operations: each is begun, sent and ended in the ledger before anything else is. */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #here = new Set<string>();
  readonly #stop = new AbortController();

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  get busy(): number {
    return this.#here.size;
  }

  /** Reads are given back, writes that have not begun too; those under way end. */
  stop(): void {
    this.#stop.abort();
  }

  async work({ run, index }: ItemKey): Promise<'done' | 'later' | 'lost'> {
    const key = `${index} ${run}`;
    // A job that came back although we live: it has it already.
    if (this.#here.has(key) || this.#stop.signal.aborted) return 'later';
    this.#here.add(key);
    try {
      const { ledger, holder } = this.#options;
      const begun = await this.#lasting(() => ledger.begin(run, index, holder));
      if (begun.kind === 'over') return 'done';
      if (begun.kind === 'held') return 'later';
      return await this.#perform(begun);
    } finally {
      this.#here.delete(key);
    }
  }

  async #perform(taken: Taken): Promise<'done' | 'later' | 'lost'> {
    const { ledger } = this.#options;
    const so = { isSent: taken.kind === 'look', isInterrupted: false };
    const outcome = await this.#outcome(taken, so);
    const isEnded = so.isInterrupted || (outcome.code === 'ABORTED' && this.#stop.signal.aborted);
    if (isEnded && !so.isSent) {
      await this.#lasting(() => ledger.release(taken.claim));
      return 'later';
    }
    // Once a write may have left, only what can look begins again.
    if (so.isInterrupted && lookerOf(taken.run.operation)) return 'later';
    // Nothing has left: it is known that nothing happened.
    if (outcome.state === 'unknown' && !so.isSent) outcome.state = 'failed';
    const isOurs = await this.#lasting(() => ledger.finish(taken.claim, outcome));
    return isOurs ? 'done' : 'lost';
  }

  async #outcome(taken: Taken, so: So): Promise<ItemOutcome> {
    const { item, run } = taken;
    const target = this.#options.appliances.named(item.appliance);
    const clean = withoutAddress(item.appliance, target?.url);
    try {
      if (!target) throw missing(item.appliance);
      const gateway = target.gateway();
      let what = { operation: run.operation, input: this.#input(taken) };
      if (taken.kind === 'look') {
        const look = await lookerOf(run.operation)?.({ ...what, age: taken.age, gateway });
        if (!look) return { ...UNKNOWN };
        if ('done' in look) return { state: 'ok', changed: true };
        what = { operation: look.again, input: look.input };
      }
      const outcome = await gateway.run(what.operation, what.input as JsonObject, {
        dryRun: run.dry_run,
        signal: this.#stop.signal,
        beforeWrite: this.#beforeWrite(taken, () => (so.isSent = true)),
        ...this.#approve(taken),
        by: run.initiator,
        ...(this.#options.say && { say: this.#options.say }),
      });
      return succeeded(outcome, run.with_data, clean);
    } catch (thrown) {
      so.isInterrupted = isInterrupted(thrown);
      return failed(thrown, clean);
    }
  }

  #approve({ item, run: { approved } }: Taken): Pick<RunOptions, 'approve'> {
    if (!approved) return {};
    return { approve: asApproved(approved, () => this.#lasting(() => this.#options.ledger.planned(approved.plan, item.appliance))) };
  }

  /** The first write of an item is announced in the ledger; the further ones leave only while nobody else can have taken the item over. */
  #beforeWrite({ claim, kind }: Taken, onSent: () => void): () => Promise<void> {
    const { ledger, sure, isSure } = this.#options;
    let announced: Promise<boolean> | undefined;
    let isAnnounced = kind === 'look';
    return async () => {
      // The gateway's own signal may come while this waits for the database.
      if (!isAnnounced) {
        announced ??= this.#lasting(() => ledger.sending(claim));
        if (!(await announced)) throw taken();
        isAnnounced = true;
        onSent();
      }
      if (isSure()) return;
      await sure();
      if (!(await this.#lasting(() => ledger.isHeld(claim)))) throw taken();
    };
  }

  /** With what is secret in it, which the ledger does not have. Errors: `BAD_CONFIG` where the set has none. */
  #input({ item, run }: Taken): Json {
    const input = { ...run.input, ...item.input };
    if (run.credentials === null) return input;
    const secrets = Object.entries(operations.get(run.operation)?.fields ?? {}).filter(([, { secret }]) => secret === true);
    const secret = this.#options.appliances.secretOf(run.credentials);
    return { ...input, ...Object.fromEntries(secrets.map(([name]) => [name, secret])) };
  }

  #lasting<T>(work: () => Promise<T>): Promise<T> {
    return this.#options.database.lasting(work, () => this.#stop.signal.aborted);
  }
}

/** A person has to decide. */
const UNKNOWN: Readonly<ItemOutcome> = {
  state: 'unknown',
  changed: null,
  code: 'OUTCOME_UNKNOWN',
  message: 'Its worker died after the write may have left. Look at the appliance, then repeat it or leave it.',
};

function missing(name: string): GatewayError {
  return new GatewayError(
    'BAD_CONFIG',
    sentence`The inventory of this Node-RED has no appliance ${name}. Give all of them the same inventory.`,
    {
      sent: false,
    },
  );
}

function taken(): GatewayError {
  return new GatewayError('ABORTED', ours('Another worker has taken this over: nothing was sent.'), { sent: false });
}
