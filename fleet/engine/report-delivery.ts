import type { FleetReport, createReport } from '../coordinator/report';
import type { RunStore } from '../store/run-store';
import { ElapsedTime } from '../store/elapsed-time';
import type { ReportRecipient, RunRequest, RunProgress, RunRow } from '../store/rows';
import { FRESH_MS } from './heartbeat';

/** A run and its report. */
export interface RunWithReport {
  readonly run: RunRow;
  readonly data: FleetReport;
  readonly envelope: ReturnType<typeof createReport>['envelope'];
}

/** What is over, and goes out here. */
export interface DeliveredReport extends RunWithReport {
  /** A process that died may have given it before. */
  readonly isRedelivery: boolean;
}

/** What a node that starts runs is told. */
export interface ReportListener {
  /** Runs that were ordered under this name are reported here, */
  readonly name: string;
  /** and before that those of this node, whatever it was called then. */
  readonly id?: string | undefined;
  report(delivered: DeliveredReport): void;
  progress?(progress: RunProgress): void;
}

export interface ReportDeliveryOptions {
  readonly store: RunStore;
  readonly holder: string;
  readonly loadReport: (id: string) => Promise<RunWithReport | undefined>;
  readonly retryUntilAvailable: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Runs whose report has gone out in this process, by token, until the database knows that: an engine that a deploy ends while that is away
 * leaves them to its successor.
 */
const deliveredTokens = new Set<string>();

/** Tells the nodes of a process what has come of their runs. */
export class ReportDelivery {
  readonly #options: ReportDeliveryOptions;
  readonly #listeners = new Set<ReportListener>();
  /** Runs whose progress is told here, to whom, and what was told last. */
  readonly #trackedRuns = new Map<string, ReportRecipient & { lastProgress: string }>();
  #delivering: Promise<void> | undefined;

  constructor(options: ReportDeliveryOptions) {
    this.#options = options;
  }

  listen(listener: ReportListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A run that came in here. */
  trackRun({ id, node, nodeId = null }: Pick<RunRequest, 'id' | 'node'> & { nodeId?: string | null | undefined }): void {
    this.#trackedRuns.set(id, { node, node_id: nodeId, lastProgress: '' });
  }

  /** What is over goes out, and how far the others are. */
  deliverPending(): Promise<void> {
    return (this.#delivering ??= this.#deliver().finally(() => (this.#delivering = undefined)));
  }

  /** When nothing is on its way any more. */
  async whenIdle(): Promise<void> {
    // Whoever looked is told what went wrong with that.
    await this.#delivering?.catch(() => undefined);
  }

  async #deliver(): Promise<void> {
    const { store, holder } = this.#options;
    const listeners = [...this.#listeners];
    if (listeners.length === 0) return;
    await this.#sendProgress();
    const names = listeners.map(({ name }) => name);
    const ids = listeners.flatMap(({ id }) => id ?? []);
    for (const endedRun of await store.findUnreportedRuns(holder, names, ids)) await this.#deliverReport(endedRun);
  }

  /** Taken, given, and noted as given: whoever dies in between, another one gives it again. */
  async #deliverReport({ id, ...recipient }: ReportRecipient & { readonly id: string }): Promise<void> {
    const { store, holder, loadReport, retryUntilAvailable } = this.#options;
    // Read before it is taken: between taking and telling there is nothing that takes time or could fail.
    const runWithReport = await loadReport(id);
    if (!runWithReport) return;
    let sinceClaim = new ElapsedTime();
    const claimed = await retryUntilAvailable(() => {
      sinceClaim = new ElapsedTime();
      return store.claimReport(id, holder);
    });
    if (!claimed) return;
    const { token } = runWithReport.run;
    if (!deliveredTokens.has(token)) {
      // Whoever stood still asks again: another one may have taken it for dead.
      if (sinceClaim.ms > FRESH_MS) return;
      const recipientNode = this.#findListener(recipient);
      // A deploy has closed it meanwhile.
      if (!recipientNode) return retryUntilAvailable(() => store.releaseReport(id, holder));
      this.#trackedRuns.delete(id);
      deliveredTokens.add(token);
      recipientNode.report({ ...runWithReport, isRedelivery: claimed === 'again' });
    }
    await retryUntilAvailable(() => store.markReported(id, holder));
    deliveredTokens.delete(token);
  }

  #findListener({ node, node_id: id }: ReportRecipient): ReportListener | undefined {
    const listeners = [...this.#listeners];
    return listeners.find((one) => one.id !== undefined && one.id === id) ?? listeners.find((one) => one.name === node);
  }

  async #sendProgress(): Promise<void> {
    if (this.#trackedRuns.size === 0) return;
    for (const progress of await this.#options.store.listProgress([...this.#trackedRuns.keys()])) {
      const text = JSON.stringify(progress);
      const trackedRun = this.#trackedRuns.get(progress.run);
      // Its report may go out elsewhere, or never.
      if (progress.state === 'done') this.#trackedRuns.delete(progress.run);
      if (!trackedRun || trackedRun.lastProgress === text) continue;
      trackedRun.lastProgress = text;
      this.#findListener(trackedRun)?.progress?.(progress);
    }
  }
}
