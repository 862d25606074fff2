import { randomUUID } from 'node:crypto';
import { GatewayError, safeMessage, type RunOptions } from '@gateway-admin/node-red';
import { Coordinator } from '../coordinator/coordinator';
import { createReport } from '../coordinator/report';
import { Database, isDatabaseUnavailable, toDatabaseError } from '../store/database';
import { LeaseCoordination } from '../store/lease-coordination';
import { RunStore, type OpenFleetWork } from '../store/run-store';
import type { ItemRow, RunRequest, RunRow } from '../store/rows';
import { withSchemaLock, migrateSchema } from '../store/schema';
import { hashFleetAppliance, InventoryFingerprint, encodeFleetKey, type FleetIdentity } from '../worker/fleet-identity';
import { assertPlansSigned, assertItemsSigned, signRunItems } from '../worker/order-signature';
import { ItemWorker, type ApplianceSource, type RunItemKey } from '../worker/item-worker';
import { QueueWorker, type AnyQueueWorker, type JobResult } from './queue-worker';
import { Heartbeat } from './heartbeat';
import { getPreferredPriorityRange, type AppliancePriorityRange } from './appliance-share';
import { JobQueues, SUPERVISE_SECONDS } from './job-queues';
import { ReportDelivery, type ReportListener, type RunWithReport } from './report-delivery';

const MAINTENANCE_MS = 10_000;
/** Number of polls between two fetches of the queues while there are no runs. */
const IDLE_FETCH_POLLS = 60;
/**
 * Number of polls that search for undelivered reports while there are no runs. Later, only every poll of this number searches, because the
 * node may never return.
 */
const IDLE_REPORT_POLLS = 5;
const IDLE_SUPERVISE_MS = 60_000;
const DELETE_LEASES_MS = 60_000;
const DELETE_RUNS_MS = 600_000;
/** Number of runs that one engine coordinates at the same time. */
const MAX_LED_RUNS = 64;
/** Maximum wait for an unavailable database when a run is created. */
const MAX_START_WAIT_MS = 10_000;
const RETAIN_RUNS_DAYS = 30;
/** Maximum number of stored runs per node, because a run every minute would fill the disk. */
const MAX_RETAINED_RUNS = 1000;
/** Time for running work when a node closes. Node-RED waits fifteen seconds. */
const MAX_CLOSE_MS = 11_000;

/** Twenty engines of this size fit into the 100 connections that PostgreSQL allows by default. */
export const DEFAULT_DATABASE_CONNECTIONS = 4;
export const DEFAULT_ITEMS_IN_FLIGHT = 16;
export const DEFAULT_URGENT_ITEMS_IN_FLIGHT = 32;

export interface EngineOptions {
  readonly url: string;
  readonly fleet: FleetIdentity;
  readonly appliances: ApplianceSource;
  readonly inFlight?: number | undefined;
  readonly urgentInFlight?: number | undefined;
  /** Size of the connection pool; `DEFAULT_DATABASE_CONNECTIONS` by default. */
  readonly connections?: number | undefined;
  readonly translate?: RunOptions['translate'];
  /** Called for errors that belong to no run, for example if the database is unavailable. */
  readonly onFault?: ((fault: GatewayError) => void) | undefined;
  /** Called every ten seconds with whether living engines of this fleet have different inventories. */
  readonly onInventoryCheck?: ((hasDifferences: boolean) => void) | undefined;
  /** Called when the engine starts to work, also after an error. */
  readonly onRecovered?: (() => void) | undefined;
}

export type NewFleetRun = Omit<RunRequest, 'token' | 'origin' | 'fingerprint'>;

/** One process of a fleet. It starts and coordinates runs, works on items, and delivers reports. */
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
  readonly #fingerprint = new InventoryFingerprint();
  #preferredRange: AppliancePriorityRange | undefined;
  /** Whether the fleet has runs that are not over, so that the queues may have jobs. */
  #hasRuns = false;
  #idlePolls = 0;
  #lastSupervised = -Infinity;
  #stopped = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.database = new Database(options.url, options.connections ?? DEFAULT_DATABASE_CONNECTIONS);
    const fleet = encodeFleetKey(options.fleet);
    this.#queues = new JobQueues(this.database, fleet, (fault) => this.#reportFault(fault));
    this.store = new RunStore(this.database, this.#queues, fleet);
    this.coordination = new LeaseCoordination(this.database, this.id);
    this.#heartbeat = new Heartbeat({
      store: this.store,
      holder: this.id,
      getFingerprint: () => this.fingerprint,
      onActivity: (activity) => this.#handleActivity(activity),
      onFault: (fault) => this.#reportFault(fault),
    });
    this.#worker = new ItemWorker({
      database: this.database,
      store: this.store,
      appliances: options.appliances,
      holder: this.id,
      whenFresh: () => this.#heartbeat.whenFresh(),
      isFresh: () => this.#heartbeat.isFresh,
      getFingerprint: () => this.fingerprint,
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
      onStep: ({ isOver, hasNewJobs }) => {
        if (hasNewJobs) this.#wakeAll();
        if (isOver) void this.#reportDelivery.deliverPending().catch((fault: unknown) => this.#reportFault(fault));
      },
    });
  }

  /** Fingerprint of the inventory, at most ten seconds old. */
  get fingerprint(): string {
    return this.#fingerprint.value;
  }

  /** Starts the engine. The wait for the database has no limit. Errors: `BAD_CONFIG` if the database responds but cannot be used. */
  async start(): Promise<void> {
    this.#updateFingerprint();
    try {
      await this.database.retryUntilAvailable(
        () => this.#prepare(),
        () => this.#stopped,
      );
    } catch (thrown) {
      throw toDatabaseError(thrown);
    }
    if (this.#stopped) return;
    const { inFlight = DEFAULT_ITEMS_IN_FLIGHT, urgentInFlight = DEFAULT_URGENT_ITEMS_IN_FLIGHT } = this.#options;
    const { names } = this.#queues;
    this.#startQueueWorker(names.normal, inFlight, (key: RunItemKey) => this.#worker.work(key));
    this.#startQueueWorker(names.urgent, urgentInFlight, (key: RunItemKey) => this.#worker.work(key));
    this.#startQueueWorker(names.runs, MAX_LED_RUNS, ({ run }: { run: string }) => this.#leadRun(run));
    this.#repeatEvery(SUPERVISE_SECONDS * 1000, () => this.#supervise());
    this.#repeatEvery(DELETE_RUNS_MS, () => this.store.deleteOldRuns(RETAIN_RUNS_DAYS, MAX_RETAINED_RUNS));
    await this.store.deleteOldRuns(RETAIN_RUNS_DAYS, MAX_RETAINED_RUNS).catch((fault: unknown) => this.#reportFault(fault));
    this.#checkInventories();
    this.#repeatEvery(DELETE_LEASES_MS, () => this.coordination.deleteExpired());
    this.#repeatEvery(MAINTENANCE_MS, async () => {
      this.#updateFingerprint();
      this.#checkInventories();
      if (this.#hasRuns) await this.store.requeueLostJobs();
    });
    this.#options.onRecovered?.();
  }

  async #leadRun(id: string): Promise<JobResult> {
    const run = await this.store.findRun(id);
    // The queue is created before a transaction needs it, because a transaction must not wait for a second connection.
    if (run) await this.#queues.createQueue(this.#queues.names.getRunQueue(run));
    return this.#coordinator.leadRun(id);
  }

  /**
   * Computes the fingerprint of the inventory, which may be reloaded at any time. A new fingerprint is published with the next heartbeat.
   */
  #updateFingerprint(): void {
    this.#fingerprint.update(this.#options.appliances.listAppliances());
  }

  #checkInventories(): void {
    const others = this.#heartbeat.otherEngines;
    const alike = others.filter(({ fingerprint }) => fingerprint === this.fingerprint);
    this.#preferredRange = getPreferredPriorityRange(this.id, [this.id, ...alike.map(({ id }) => id)]);
    this.#options.onInventoryCheck?.(alike.length < others.length);
  }

  /** Wakes the queue workers if there are runs, and delivers reports. An idle engine polls the activity in place of each queue. */
  #handleActivity({ has_runs, has_reports }: OpenFleetWork): void {
    if (this.#stopped) return;
    this.#idlePolls = has_runs ? 0 : this.#idlePolls + 1;
    const wasActive = this.#hasRuns;
    this.#hasRuns = has_runs;
    if (has_runs && !wasActive) this.#wakeAll();
    if (this.#idlePolls % IDLE_FETCH_POLLS === IDLE_FETCH_POLLS - 1) for (const worker of this.#queueWorkers.values()) worker.fetchAll();
    // The poll after the last run still finds its report.
    const isReportPoll = this.#idlePolls <= IDLE_REPORT_POLLS || this.#idlePolls % IDLE_REPORT_POLLS === 0;
    const shouldDeliver = has_runs || wasActive || (has_reports && isReportPoll);
    (shouldDeliver ? this.#reportDelivery.deliverPending() : Promise.resolve())
      .then(() => this.#options.onRecovered?.())
      .catch((fault: unknown) => this.#reportFault(fault));
  }

  async #supervise(): Promise<void> {
    if (!this.#hasRuns && performance.now() - this.#lastSupervised < IDLE_SUPERVISE_MS) return;
    this.#lastSupervised = performance.now();
    await this.#queues.supervise();
  }

  async #prepare(): Promise<void> {
    try {
      await migrateSchema(this.database);
      await withSchemaLock(this.database, () => this.#queues.start());
      await this.#heartbeat.start();
    } catch (thrown) {
      // Other errors end the start, and its caller reports them.
      if (isDatabaseUnavailable(thrown)) this.#reportFault(thrown);
      throw thrown;
    }
  }

  /** Starts a run. Errors: `CONFLICT` if a run with this id exists; `CONNECTION`. */
  async startRun(newRun: NewFleetRun): Promise<void> {
    const { appliances } = this.#options;
    // A copied run of an approved plan keeps the targets that were planned.
    const items = newRun.items.map((item) => {
      const found = item.target === undefined ? appliances.findAppliance(item.appliance) : undefined;
      return found ? { ...item, target: hashFleetAppliance(found) } : item;
    });
    const order = { ...newRun, token: randomUUID(), origin: this.id, fingerprint: this.fingerprint };
    const request = { ...order, items: signRunItems(order, items, encodeFleetKey(this.#options.fleet), appliances.getSigningKey?.()) };
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
        safeMessage`A run with the name ${newRun.id} already exists. Nothing was started. Set msg.run to a new name.`,
        {
          sent: false,
        },
      );
    }
    this.#reportDelivery.trackRun(newRun);
    this.#hasRuns = true;
    this.#wakeAll();
  }

  /** Sends reports and progress to a node until the returned function is called. */
  addListener(listener: ReportListener): () => void {
    return this.#reportDelivery.listen(listener);
  }

  /** Works on the items of a *fleet task*. The returned function ends this. Errors: `CONFLICT` if another node has this name. */
  async serveTask(task: string, concurrency: number, work: (key: RunItemKey) => Promise<JobResult>): Promise<() => Promise<void>> {
    const queue = this.#queues.names.getTaskQueue(task);
    await this.#queues.createQueue(queue);
    if (this.#queueWorkers.has(queue)) {
      throw new GatewayError(
        'CONFLICT',
        safeMessage`This Node-RED has two fleet task nodes with the name ${task}. Rename one of them, because each would get items of the other.`,
        { sent: false },
      );
    }
    const queueWorker = this.#startQueueWorker(queue, concurrency, work);
    return async () => {
      // Free the name at once, so that a redeployed node does not wait for an unavailable database.
      this.#queueWorkers.delete(queue);
      await queueWorker.stop();
      queueWorker.stopHeartbeat();
    };
  }

  /**
   * Starts a new run with those items of a finished run that are not ok, and returns their number. Errors: `BAD_CONFIG` if somebody changed
   * the run in the database, `CONFLICT`, `NOT_FOUND`.
   */
  async repeatFailed(id: string, newId: string): Promise<number> {
    const run = await this.#requireRun(id);
    if (run.state !== 'done') throw createConflict(safeMessage`The run ${id} is not over yet. Nothing was started. Cancel it, or wait.`);
    const remaining = (await this.store.listItems(id)).filter(({ state }) => state !== 'ok');
    if (remaining.length === 0) throw createConflict(safeMessage`All items of the run ${id} are ok, so there is nothing to repeat.`);
    // The new run is signed again, so a changed run must not be copied.
    assertItemsSigned(run, remaining, this.#options.appliances.getSigningKey?.());
    await this.startRun({ ...copyRun(run, remaining), id: newId, canary: 0, ends: [remaining.length], repeatOf: id });
    return remaining.length;
  }

  /**
   * Starts a run that sends at most what a dry run planned, on the same appliances with the same rollout options. Gives the number of
   * appliances. Errors: `BAD_CONFIG` if somebody changed the plan in the database, `CONFLICT` if the plan is not complete, `NOT_FOUND`.
   */
  async approve(id: string, newId: string, by: string | null): Promise<number> {
    const run = await this.#requireRun(id);
    if (!run.dry_run)
      throw createConflict(safeMessage`The run ${id} is not a plan. Nothing was started. Approve a run that was started as a dry run.`);
    if (run.state !== 'done') throw createConflict(safeMessage`The plan ${id} is not over yet. Nothing was started. Wait for its report.`);
    if (run.stopped !== null)
      throw createConflict(safeMessage`The plan ${id} was stopped before it was complete. Nothing was started. Plan again.`);
    const items = await this.store.listItems(id);
    const planned = items.filter(({ state }) => state === 'ok');
    if (planned.length === 0) throw createConflict(safeMessage`The plan ${id} failed on all its appliances, so there is nothing to start.`);
    const key = this.#options.appliances.getSigningKey?.();
    assertItemsSigned(run, items, key);
    assertPlansSigned(run.fleet, planned, key);
    const plannedItems = items.map(({ appliance, input, target }) => ({
      appliance,
      input: input ?? undefined,
      target: target ?? undefined,
    }));
    await this.startRun({
      ...copyRun(run, items),
      items: plannedItems,
      id: newId,
      dryRun: false,
      approved: { plan: id, by, at: new Date().toISOString() },
    });
    return items.length;
  }

  /** Errors: `NOT_FOUND`. */
  async #requireRun(id: string): Promise<RunRow> {
    const run = await this.store.findRun(id);
    if (!run) throw new GatewayError('NOT_FOUND', safeMessage`The run ${id} does not exist.`, { sent: false });
    return run;
  }

  async report(id: string): Promise<RunWithReport | undefined> {
    const run = await this.store.findRun(id);
    return run && { run, ...createReport(run, await this.store.listItems(id), this.#options.translate) };
  }

  /** Stops the engine: returns reads and unsent writes to the queue and waits for writes in flight. Other processes recover the rest. */
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
    // Finish deliveries while this process still counts as alive.
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
      mayHaveJobs: () => this.#hasRuns,
      getPreferredPriorityRange: () => (queue === this.#queues.names.runs ? undefined : this.#preferredRange),
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

/** Copies a run with only these of its items. */
function copyRun(run: RunRow, items: readonly ItemRow[]): Omit<NewFleetRun, 'id'> {
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
