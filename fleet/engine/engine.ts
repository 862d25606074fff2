import { randomUUID } from 'node:crypto';
import { GatewayError, sentence, type RunOptions } from '@gateway-admin/node-red';
import { Coordinator } from '../coordinator/coordinator';
import { reportOf } from '../coordinator/report';
import { Database, databaseFault } from '../ledger/database';
import { LeaseCoordination } from '../ledger/lease';
import { Ledger } from '../ledger/ledger';
import type { ItemRow, Order, RunRow } from '../ledger/rows';
import { alone, migrate } from '../ledger/schema';
import { Worker, type Appliances, type ItemKey } from '../worker/worker';
import { Lane, type AnyLane, type Worked } from './lane';
import { Presence } from './presence';
import { LANES, Queues, taskQueue } from './queues';
import { Reports, type Listener, type Whole } from './reports';

const MEND_MS = 10_000;
const LOOK_MS = 1000;
/** Runs led at the same time. */
const MOST_RUNS = 64;
/** So long a database that is away is waited for before whoever orders is told. */
const ORDER_MS = 10_000;
const KEPT_DAYS = 30;
/** Of one node: a run each minute would fill the disk. */
const KEPT_RUNS = 1000;
/** Node-RED waits fifteen seconds for a node that closes. */
const CLOSE_MS = 11_000;

export const IN_FLIGHT = 16;
export const URGENT_IN_FLIGHT = 32;

export interface EngineOptions {
  readonly url: string;
  readonly appliances: Appliances;
  readonly inFlight?: number | undefined;
  readonly urgentInFlight?: number | undefined;
  readonly say?: RunOptions['say'];
  /** Something went wrong that has no run to be told of: the database is away, say. */
  readonly onFault?: ((fault: GatewayError) => void) | undefined;
  /** It works again. */
  readonly onWell?: (() => void) | undefined;
}

export type NewOrder = Omit<Order, 'token' | 'origin'>;

/** One process of a fleet: takes orders, leads runs, works on items, and delivers reports. */
export class Engine {
  readonly id = randomUUID();
  readonly database: Database;
  readonly ledger: Ledger;
  readonly coordination: LeaseCoordination;
  readonly #options: EngineOptions;
  readonly #queues: Queues;
  readonly #presence: Presence;
  readonly #worker: Worker;
  readonly #coordinator: Coordinator;
  readonly #lanes = new Map<string, AnyLane>();
  readonly #reports: Reports;
  readonly #timers: NodeJS.Timeout[] = [];
  #stopped = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.database = new Database(options.url);
    this.#queues = new Queues(this.database, (fault) => this.#fault(fault));
    this.ledger = new Ledger(this.database, this.#queues);
    this.coordination = new LeaseCoordination(this.database, this.id);
    this.#presence = new Presence(this.ledger, this.id);
    this.#worker = new Worker({
      database: this.database,
      ledger: this.ledger,
      appliances: options.appliances,
      holder: this.id,
      sure: () => this.#presence.sure(),
      isSure: () => this.#presence.isSure,
      ...(options.say && { say: options.say }),
    });
    this.#reports = new Reports({
      ledger: this.ledger,
      holder: this.id,
      report: (id) => this.report(id),
      lasting: (work) => this.database.lasting(work, () => this.#stopped),
    });
    this.#coordinator = new Coordinator({
      database: this.database,
      ledger: this.ledger,
      onStep: (isOver) => {
        this.#nudge();
        if (isOver) void this.#reports.look().catch((fault: unknown) => this.#fault(fault));
      },
    });
  }

  /** Waits for the database as long as it takes. Errors: `BAD_CONFIG` for one that is there but cannot be used. */
  async start(): Promise<void> {
    try {
      await this.database.lasting(
        () => this.#prepare(),
        () => this.#stopped,
      );
    } catch (thrown) {
      throw databaseFault(thrown);
    }
    if (this.#stopped) return;
    const { inFlight = IN_FLIGHT, urgentInFlight = URGENT_IN_FLIGHT } = this.#options;
    this.#lane(LANES.usual, inFlight, (key: ItemKey) => this.#worker.work(key));
    this.#lane(LANES.urgent, urgentInFlight, (key: ItemKey) => this.#worker.work(key));
    this.#lane(LANES.runs, MOST_RUNS, ({ run }: { run: string }) => this.#coordinator.lead(run));
    this.#every(LOOK_MS, () => this.#reports.look());
    this.#every(MEND_MS, async () => {
      await this.ledger.mend();
      await this.coordination.sweep();
      await this.ledger.forget(KEPT_DAYS, KEPT_RUNS);
    });
    this.#options.onWell?.();
  }

  async #prepare(): Promise<void> {
    try {
      await migrate(this.database);
      await alone(this.database, () => this.#queues.start());
      await this.#presence.start();
    } catch (thrown) {
      this.#fault(thrown);
      throw thrown;
    }
  }

  /** Errors: `CONFLICT` for a second run of the same identity; `CONNECTION`. */
  async order(order: NewOrder): Promise<void> {
    const whole = { ...order, token: randomUUID(), origin: this.id };
    const until = performance.now() + ORDER_MS;
    const taken = await this.database
      .lasting(
        () => this.ledger.order(whole),
        () => this.#stopped || performance.now() > until,
      )
      .catch((thrown: unknown) => {
        throw databaseFault(thrown);
      });
    if (!taken) {
      throw new GatewayError(
        'CONFLICT',
        sentence`The run ${order.id} has been started before. Nothing was started again: give msg.run a name that is new.`,
        {
          sent: false,
        },
      );
    }
    this.#reports.follow(order);
    this.#nudge();
  }

  /** Tells a node of runs that were ordered under its name, until the answer is called. */
  listen(listener: Listener): () => void {
    return this.#reports.listen(listener);
  }

  /** Works on the items of a flow that somebody has drawn, until the answer is called. Errors: `CONFLICT` where another flow has that name. */
  async serve(task: string, limit: number, work: (key: ItemKey) => Promise<Worked>): Promise<() => Promise<void>> {
    const queue = taskQueue(task);
    await this.#queues.create(queue);
    if (this.#lanes.has(queue)) {
      throw new GatewayError(
        'CONFLICT',
        sentence`Another fleet task of this Node-RED is called ${task} too, and each would get what is the other's: give one of them another name.`,
        { sent: false },
      );
    }
    const lane = this.#lane(queue, limit, work);
    return async () => {
      // At once: it takes nothing more, and one that is made anew need not wait until a database that is away has answered.
      this.#lanes.delete(queue);
      await lane.stop();
      lane.end();
    };
  }

  /** Orders what failed, is unknown or was not begun of a run that is over, as a run of its own. Gives how many that are. Errors: `CONFLICT`, `NOT_FOUND`. */
  async repeatFailed(id: string, as: string): Promise<number> {
    const run = await this.#known(id);
    if (run.state !== 'done') throw conflict(sentence`The run ${id} is not over yet: cancel it, or wait.`);
    const left = (await this.ledger.items(id)).filter(({ state }) => state !== 'ok');
    if (left.length === 0) throw conflict(sentence`In the run ${id} nothing failed: there is nothing to repeat.`);
    await this.order({ ...orderLike(run, left), id: as, canary: 0, ends: [left.length], repeatOf: id });
    return left.length;
  }

  /**
   * Orders what a dry run has planned, as a run of its own that does nothing beyond that, over the same appliances at the same pace. Gives how
   * many those are. Errors: `CONFLICT` for what is no whole plan, `NOT_FOUND`.
   */
  async approve(id: string, as: string, by: string | null): Promise<number> {
    const run = await this.#known(id);
    if (!run.dry_run) throw conflict(sentence`The run ${id} is no plan: approve one that was started as a dry run.`);
    if (run.state !== 'done') throw conflict(sentence`The plan ${id} is not over yet: wait until its report has come.`);
    if (run.stopped !== null) throw conflict(sentence`The plan ${id} was stopped before it was whole: nothing was started. Plan again.`);
    const items = await this.ledger.items(id);
    if (!items.some(({ state }) => state === 'ok'))
      throw conflict(sentence`The plan ${id} has nothing that could be done: none of its appliances could be planned for.`);
    await this.order({ ...orderLike(run, items), id: as, dryRun: false, approved: { plan: id, by, at: new Date().toISOString() } });
    return items.length;
  }

  /** Errors: `NOT_FOUND`. */
  async #known(id: string): Promise<RunRow> {
    const run = await this.ledger.run(id);
    if (!run) throw new GatewayError('NOT_FOUND', sentence`There is no run ${id}.`, { sent: false });
    return run;
  }

  async report(id: string): Promise<Whole | undefined> {
    const run = await this.ledger.run(id);
    return run && { run, ...reportOf(run, await this.ledger.items(id), this.#options.say) };
  }

  /** Ends what can be ended: reads and what has not been sent is given back, writes under way end, what is left then others look at. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#coordinator.stop();
    this.#worker.stop();
    const idle = Promise.all([...this.#lanes.values()].map((lane) => drained(lane)));
    await Promise.race([idle, new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref())]);
    for (const lane of this.#lanes.values()) lane.end();
    await this.#queues.stop().catch(() => undefined);
    // Before this process counts as gone: whoever gives a report says so.
    await this.#reports.end();
    await this.#presence.end();
    await this.database.close();
  }

  #lane<T extends object>(queue: string, limit: number, work: (data: T) => Promise<Worked>): Lane<T> {
    const lane = new Lane<T>({ boss: this.#queues.boss, queue, limit, work, onFault: (fault) => this.#fault(fault) });
    this.#lanes.set(queue, lane);
    lane.start();
    return lane;
  }

  #every(ms: number, work: () => Promise<void>): void {
    let busy = false;
    const timer = setInterval(() => {
      if (busy) return;
      busy = true;
      work()
        .then(() => this.#options.onWell?.())
        .catch((fault: unknown) => this.#fault(fault))
        .finally(() => (busy = false));
    }, ms).unref();
    this.#timers.push(timer);
  }

  #nudge(): void {
    for (const lane of this.#lanes.values()) lane.nudge();
  }

  #fault(fault: unknown): void {
    if (!this.#stopped) this.#options.onFault?.(databaseFault(fault));
  }
}

/** Of the same, for these of its appliances. */
function orderLike(run: RunRow, items: readonly ItemRow[]): Omit<NewOrder, 'id'> {
  return {
    kind: run.kind,
    operation: run.operation,
    input: run.input,
    items: items.map(({ appliance, input }) => ({ appliance, input: input ?? undefined })),
    selection: run.selection,
    credentials: run.credentials ?? undefined,
    dryRun: run.dry_run,
    urgent: run.urgent,
    withData: run.with_data,
    repeats: run.repeats,
    canary: run.canary,
    ends: run.ends,
    maxFailures: run.max_failures ?? Infinity,
    node: run.node,
    nodeId: run.node_id ?? undefined,
    initiator: run.initiator,
    approved: run.approved ?? undefined,
  };
}

function conflict(words: GatewayError['sentence']): GatewayError {
  return new GatewayError('CONFLICT', words, { sent: false });
}

async function drained(lane: AnyLane): Promise<void> {
  await lane.stop();
  while (lane.busy > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  await lane.flush();
}
