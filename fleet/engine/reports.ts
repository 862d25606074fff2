import type { FleetReport, reportOf } from '../coordinator/report';
import type { Ledger } from '../ledger/ledger';
import type { Addressee, Order, Progress, RunRow } from '../ledger/rows';

/** What is over, and goes out here. */
export interface Delivered {
  readonly run: RunRow;
  readonly data: FleetReport;
  readonly envelope: ReturnType<typeof reportOf>['envelope'];
}

/** What a node that starts runs is told. */
export interface Listener {
  /** Runs that were ordered under this name are reported here, */
  readonly name: string;
  /** and before that those of this node, whatever it was called then. */
  readonly id?: string | undefined;
  report(delivered: Delivered): void;
  progress?(progress: Progress): void;
}

export interface ReportsOptions {
  readonly ledger: Ledger;
  readonly holder: string;
  readonly report: (id: string) => Promise<Delivered | undefined>;
  readonly lasting: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Tells the nodes of a process what has come of their runs. */
export class Reports {
  readonly #options: ReportsOptions;
  readonly #listeners = new Set<Listener>();
  /** Runs whose progress is told here, to whom, and what was told last. */
  readonly #followed = new Map<string, Addressee & { told: string }>();
  #looking: Promise<void> | undefined;

  constructor(options: ReportsOptions) {
    this.#options = options;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A run that came in here. */
  follow({ id, node, nodeId = null }: Pick<Order, 'id' | 'node'> & { nodeId?: string | null | undefined }): void {
    this.#followed.set(id, { node, node_id: nodeId, told: '' });
  }

  /** What is over goes out, and how far the others are. */
  look(): Promise<void> {
    return (this.#looking ??= this.#deliver().finally(() => (this.#looking = undefined)));
  }

  /** When nothing is on its way any more. */
  async end(): Promise<void> {
    // Whoever looked is told what went wrong with that.
    await this.#looking?.catch(() => undefined);
  }

  async #deliver(): Promise<void> {
    const { ledger, holder, report, lasting } = this.#options;
    const listeners = [...this.#listeners];
    if (listeners.length === 0) return;
    await this.#tell();
    const names = listeners.map(({ name }) => name);
    const ids = listeners.flatMap(({ id }) => id ?? []);
    for (const over of await ledger.unreported(holder, names, ids)) {
      // Read before it is taken: between taking and telling there is nothing that takes time or could fail.
      const delivered = await report(over.id);
      if (!delivered || !(await lasting(() => ledger.takeReport(over.id, holder)))) continue;
      this.#followed.delete(over.id);
      const listener = this.#listenerOf(over);
      if (listener) listener.report(delivered);
      // A deploy has closed it meanwhile.
      else await lasting(() => ledger.giveReportBack(over.id, holder));
    }
  }

  #listenerOf({ node, node_id: id }: Addressee): Listener | undefined {
    const listeners = [...this.#listeners];
    return listeners.find((one) => one.id !== undefined && one.id === id) ?? listeners.find((one) => one.name === node);
  }

  async #tell(): Promise<void> {
    if (this.#followed.size === 0) return;
    for (const progress of await this.#options.ledger.progress([...this.#followed.keys()])) {
      const text = JSON.stringify(progress);
      const followed = this.#followed.get(progress.run);
      // Its report may go out elsewhere, or never.
      if (progress.state === 'done') this.#followed.delete(progress.run);
      if (!followed || followed.told === text) continue;
      followed.told = text;
      this.#listenerOf(followed)?.progress?.(progress);
    }
  }
}
