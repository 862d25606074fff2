import { randomUUID } from 'node:crypto';
import { GatewayError, safeMessage, type RunOptions } from '@gateway-admin/node-red';
import { Coordinator } from '../coordinator/coordinator';
import { createReport } from '../coordinator/report';
import { Database, toDatabaseError } from '../store/database';
import { LeaseCoordination } from '../store/lease-coordination';
import { RunStore } from '../store/run-store';
import type { ItemRow, RunRequest, RunRow } from '../store/rows';
import { withSchemaLock, migrate } from '../store/schema';
import { ItemWorker, type ApplianceSource, type ItemKey } from '../worker/item-worker';
import { QueueWorker, type AnyQueueWorker, type JobResult } from './queue-worker';
import { Heartbeat } from './heartbeat';
import { QUEUE_NAMES, JobQueues, toTaskQueueName } from './job-queues';
import { ReportDelivery, type ReportListener, type RunWithReport } from './report-delivery';

const MAINTENANCE_MS = 10_000;
const REPORT_POLL_MS = 1000;
/** Runs led at the same time. */
const MAX_LED_RUNS = 64;
/** So long a database that is away is waited for before whoever orders is told. */
const MAX_START_WAIT_MS = 10_000;
const RETAIN_RUNS_DAYS = 30;
/** Of one node: a run each minute would fill the disk. */
const MAX_RETAINED_RUNS = 1000;
/** Node-RED waits fifteen seconds for a node that closes. */
const MAX_CLOSE_MS = 11_000;

export const DEFAULT_IN_FLIGHT = 16;
export const DEFAULT_URGENT_IN_FLIGHT = 32;

export interface EngineOptions {
  readonly url: string;
  readonly appliances: ApplianceSource;
  readonly inFlight?: number | undefined;
  readonly urgentInFlight?: number | undefined;
  readonly translate?: RunOptions['translate'];
  /** Something went wrong that has no run to be told of: the database is away, say. */
  readonly onFault?: ((fault: GatewayError) => void) | undefined;
  /** It works again. */
  readonly onRecovered?: (() => void) | undefined;
}

export type NewRun = Omit<RunRequest, 'token' | 'origin'>;

/** One process of a fleet: takes orders, leads runs, works on items, and delivers reports. */
export class Engine {
  readonly id = randomUUID();
  readonly database: Database;
  readonly store: RunStore;
  readonly coordination: LeaseCoordination;
  readonly #options: EngineOptions;
  readonly #queues: JobQueues;
  readonly #heartbeat: Heartbeat;
  readonly #worker: ItemWorker;
  readonly #coordinator: Coordinator;
  readonly #queueWorkers = new Map<string, AnyQueueWorker>();
  readonly #reportDelivery: ReportDelivery;
  readonly #timers: NodeJS.Timeout[] = [];
  #stopped = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.database = new Database(options.url);
    this.#queues = new JobQueues(this.database, (fault) => this.#reportFault(fault));
    this.store = new RunStore(this.database, this.#queues);
    this.coordination = new LeaseCoordination(this.database, this.id);
    this.#heartbeat = new Heartbeat(this.store, this.id);
    this.#worker = new ItemWorker({
      database: this.database,
      store: this.store,
      appliances: options.appliances,
      holder: this.id,
      whenFresh: () => this.#heartbeat.whenFresh(),
      isFresh: () => this.#heartbeat.isFresh,
      ...(options.translate && { translate: options.translate }),
    });
    this.#reportDelivery = new ReportDelivery({
      store: this.store,
      holder: this.id,
      loadReport: (id) => this.report(id),
      retryUntilAvailable: (work) => this.database.retryUntilAvailable(work, () => this.#stopped),
    });
    this.#coordinator = new Coordinator({
      database: this.database,
      store: this.store,
      onStep: (isOver) => {
        this.#wakeAll();
        if (isOver) void this.#reportDelivery.deliverPending().catch((fault: unknown) => this.#reportFault(fault));
      },
    });
  }

  /** Waits for the database as long as it takes. Errors: `BAD_CONFIG` for one that is there but cannot be used. */
  async start(): Promise<void> {
    try {
      await this.database.retryUntilAvailable(
        () => this.#prepare(),
        () => this.#stopped,
      );
    } catch (thrown) {
      throw toDatabaseError(thrown);
    }
    if (this.#stopped) return;
    const { inFlight = DEFAULT_IN_FLIGHT, urgentInFlight = DEFAULT_URGENT_IN_FLIGHT } = this.#options;
    this.#startQueueWorker(QUEUE_NAMES.normal, inFlight, (key: ItemKey) => this.#worker.work(key));
    this.#startQueueWorker(QUEUE_NAMES.urgent, urgentInFlight, (key: ItemKey) => this.#worker.work(key));
    this.#startQueueWorker(QUEUE_NAMES.runs, MAX_LED_RUNS, ({ run }: { run: string }) => this.#coordinator.leadRun(run));
    this.#repeatEvery(REPORT_POLL_MS, () => this.#reportDelivery.deliverPending());
    this.#repeatEvery(MAINTENANCE_MS, async () => {
      await this.store.requeueLostJobs();
      await this.coordination.deleteExpired();
      await this.store.deleteOldRuns(RETAIN_RUNS_DAYS, MAX_RETAINED_RUNS);
    });
    this.#options.onRecovered?.();
  }

  async #prepare(): Promise<void> {
    try {
      await migrate(this.database);
      await withSchemaLock(this.database, () => this.#queues.start());
      await this.#heartbeat.start();
    } catch (thrown) {
      this.#reportFault(thrown);
      throw thrown;
    }
  }

  /** Errors: `CONFLICT` for a second run of the same identity; `CONNECTION`. */
  async startRun(newRun: NewRun): Promise<void> {
    const request = { ...newRun, token: randomUUID(), origin: this.id };
    const deadline = performance.now() + MAX_START_WAIT_MS;
    const isCreated = await this.database
      .retryUntilAvailable(
        () => this.store.createRun(request),
        () => this.#stopped || performance.now() > deadline,
      )
      .catch((thrown: unknown) => {
        throw toDatabaseError(thrown);
      });
    if (!isCreated) {
      throw new GatewayError(
        'CONFLICT',
        safeMessage`The run ${newRun.id} has been started before. Nothing was started again: give msg.run a name that is new.`,
        {
          sent: false,
        },
      );
    }
    this.#reportDelivery.trackRun(newRun);
    this.#wakeAll();
  }

  /** Tells a node of runs that were ordered under its name, until the answer is called. */
  addListener(listener: ReportListener): () => void {
    return this.#reportDelivery.listen(listener);
  }

  /** Works on the items of a flow that somebody has drawn, until the answer is called. Errors: `CONFLICT` where another flow has that name. */
  async serveTask(task: string, concurrency: number, work: (key: ItemKey) => Promise<JobResult>): Promise<() => Promise<void>> {
    const queue = toTaskQueueName(task);
    await this.#queues.createQueue(queue);
    if (this.#queueWorkers.has(queue)) {
      throw new GatewayError(
        'CONFLICT',
        safeMessage`Another fleet task of this Node-RED is called ${task} too, and each would get what is the other's: give one of them another name.`,
        { sent: false },
      );
    }
    const queueWorker = this.#startQueueWorker(queue, concurrency, work);
    return async () => {
      // At once: it takes nothing more, and one that is made anew need not wait until a database that is away has answered.
      this.#queueWorkers.delete(queue);
      await queueWorker.stop();
      queueWorker.stopHeartbeat();
    };
  }

  /** Orders what failed, is unknown or was not begun of a run that is over, as a run of its own. Gives how many that are. Errors: `CONFLICT`, `NOT_FOUND`. */
  async repeatFailed(id: string, newId: string): Promise<number> {
    const run = await this.#requireRun(id);
    if (run.state !== 'done') throw createConflict(safeMessage`The run ${id} is not over yet: cancel it, or wait.`);
    const remaining = (await this.store.listItems(id)).filter(({ state }) => state !== 'ok');
    if (remaining.length === 0) throw createConflict(safeMessage`In the run ${id} nothing failed: there is nothing to repeat.`);
    await this.startRun({ ...copyRun(run, remaining), id: newId, canary: 0, ends: [remaining.length], repeatOf: id });
    return remaining.length;
  }

  /**
   * Orders what a dry run has planned, as a run of its own that does nothing beyond that, over the same appliances at the same pace. Gives how
   * many those are. Errors: `CONFLICT` for what is no whole plan, `NOT_FOUND`.
   */
  async approve(id: string, newId: string, by: string | null): Promise<number> {
    const run = await this.#requireRun(id);
    if (!run.dry_run) throw createConflict(safeMessage`The run ${id} is no plan: approve one that was started as a dry run.`);
    if (run.state !== 'done') throw createConflict(safeMessage`The plan ${id} is not over yet: wait until its report has come.`);
    if (run.stopped !== null)
      throw createConflict(safeMessage`The plan ${id} was stopped before it was whole: nothing was started. Plan again.`);
    const items = await this.store.listItems(id);
    if (!items.some(({ state }) => state === 'ok'))
      throw createConflict(safeMessage`The plan ${id} has nothing that could be done: none of its appliances could be planned for.`);
    await this.startRun({ ...copyRun(run, items), id: newId, dryRun: false, approved: { plan: id, by, at: new Date().toISOString() } });
    return items.length;
  }

  /** Errors: `NOT_FOUND`. */
  async #requireRun(id: string): Promise<RunRow> {
    const run = await this.store.findRun(id);
    if (!run) throw new GatewayError('NOT_FOUND', safeMessage`There is no run ${id}.`, { sent: false });
    return run;
  }

  async report(id: string): Promise<RunWithReport | undefined> {
    const run = await this.store.findRun(id);
    return run && { run, ...createReport(run, await this.store.listItems(id), this.#options.translate) };
  }

  /** Ends what can be ended: reads and what has not been sent is given back, writes under way end, what is left then others look at. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#coordinator.stop();
    this.#worker.stop();
    const idle = Promise.all([...this.#queueWorkers.values()].map((queueWorker) => drainQueueWorker(queueWorker)));
    await Promise.race([idle, new Promise((resolve) => setTimeout(resolve, MAX_CLOSE_MS).unref())]);
    for (const queueWorker of this.#queueWorkers.values()) queueWorker.stopHeartbeat();
    await this.#queues.stop().catch(() => undefined);
    // Before this process counts as gone: whoever gives a report says so.
    await this.#reportDelivery.whenIdle();
    await this.#heartbeat.end();
    await this.database.close();
  }

  #startQueueWorker<T extends object>(queue: string, concurrency: number, work: (data: T) => Promise<JobResult>): QueueWorker<T> {
    const queueWorker = new QueueWorker<T>({
      boss: this.#queues.boss,
      queue,
      concurrency,
      work,
      onFault: (fault) => this.#reportFault(fault),
    });
    this.#queueWorkers.set(queue, queueWorker);
    queueWorker.start();
    return queueWorker;
  }

  #repeatEvery(ms: number, work: () => Promise<void>): void {
    let isBusy = false;
    const timer = setInterval(() => {
      if (isBusy) return;
      isBusy = true;
      work()
        .then(() => this.#options.onRecovered?.())
        .catch((fault: unknown) => this.#reportFault(fault))
        .finally(() => (isBusy = false));
    }, ms).unref();
    this.#timers.push(timer);
  }

  #wakeAll(): void {
    for (const queueWorker of this.#queueWorkers.values()) queueWorker.wake();
  }

  #reportFault(fault: unknown): void {
    if (!this.#stopped) this.#options.onFault?.(toDatabaseError(fault));
  }
}

/** Of the same, for these of its appliances. */
function copyRun(run: RunRow, items: readonly ItemRow[]): Omit<NewRun, 'id'> {
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

function createConflict(message: GatewayError['safeMessage']): GatewayError {
  return new GatewayError('CONFLICT', message, { sent: false });
}

async function drainQueueWorker(queueWorker: AnyQueueWorker): Promise<void> {
  await queueWorker.stop();
  while (queueWorker.busy > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  await queueWorker.flush();
}
