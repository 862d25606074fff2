import type { FleetReport, createReport } from '../coordinator/report';
import type { RunStore } from '../store/run-store';
import { ElapsedTime } from '../store/elapsed-time';
import type { ReportRecipient, RunRequest, RunProgress, RunRow } from '../store/rows';
import { HEARTBEAT_FRESH_MS } from './heartbeat';

/** A run and its report. */
export interface RunWithReport {
  readonly run: RunRow;
  readonly data: FleetReport;
  readonly envelope: ReturnType<typeof createReport>['envelope'];
}

/** A report that this process delivers to a node. */
export interface DeliveredReport extends RunWithReport {
  /** Whether a dead process may have delivered the report before. */
  readonly isRedelivery: boolean;
}

/** A node that receives the reports and the progress of its runs. */
export interface ReportListener {
  /** The node name: the listener receives reports of runs that were started under it. */
  readonly name: string;
  /** The node id. Reports go first to the node that started the run, even after it was renamed. */
  readonly id?: string | undefined;
  report(delivered: DeliveredReport): void;
  progress?(progress: RunProgress): void;
}

interface ReportDeliveryOptions {
  readonly store: RunStore;
  readonly holder: string;
  readonly loadReport: (id: string) => Promise<RunWithReport | undefined>;
  readonly retryUntilAvailable: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Tokens of runs whose report this process delivered, until the database records it. They outlive an engine, because a deploy may replace the
 * engine during an outage.
 */
const deliveredTokens = new Set<string>();

/** Delivers reports and progress to the nodes of this process. */
export class ReportDelivery {
  readonly #options: ReportDeliveryOptions;
  readonly #listeners = new Set<ReportListener>();
  /** Runs with progress messages: their recipient and the last progress sent. */
  readonly #trackedRuns = new Map<string, ReportRecipient & { lastProgress: string }>();
  #delivering: Promise<void> | undefined;

  constructor(options: ReportDeliveryOptions) {
    this.#options = options;
  }

  listen(listener: ReportListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Sends the progress of this run from now on. */
  trackRun({ id, node, nodeId = null }: Pick<RunRequest, 'id' | 'node'> & { nodeId?: string | null | undefined }): void {
    this.#trackedRuns.set(id, { node, node_id: nodeId, lastProgress: '' });
  }

  /** Delivers the reports of finished runs and the progress of running ones. */
  deliverPending(): Promise<void> {
    return (this.#delivering ??= this.#deliver().finally(() => (this.#delivering = undefined)));
  }

  /** Resolves when no delivery is in progress. */
  async whenIdle(): Promise<void> {
    // The caller of `deliverPending` gets the error.
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

  /** Claims a report, delivers it, and records the delivery. If this process dies in between, another process delivers the report again. */
  async #deliverReport({ id, ...recipient }: ReportRecipient & { readonly id: string }): Promise<void> {
    const { store, holder, loadReport, retryUntilAvailable } = this.#options;
    // Load the report before the claim, so that nothing slow or fallible happens between claim and delivery.
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
      // After a suspension, another process may consider this one dead. The next poll claims again.
      if (sinceClaim.ms > HEARTBEAT_FRESH_MS) return;
      const recipientNode = this.#findListener(recipient);
      // A deploy has closed the node meanwhile.
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
      // Another process may deliver its report, or no node may be left.
      if (progress.state === 'done') this.#trackedRuns.delete(progress.run);
      if (!trackedRun || trackedRun.lastProgress === text) continue;
      trackedRun.lastProgress = text;
      this.#findListener(trackedRun)?.progress?.(progress);
    }
  }
}
