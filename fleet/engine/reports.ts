import type { FleetReport, reportOf } from '../coordinator/report';
import type { Ledger } from '../ledger/ledger';
import { Moment } from '../ledger/moment';
import type { Addressee, Order, Progress, RunRow } from '../ledger/rows';
import { SURE_MS } from './presence';

/** A run and its report. */
export interface Whole {
  readonly run: RunRow;
  readonly data: FleetReport;
  readonly envelope: ReturnType<typeof reportOf>['envelope'];
}

/** What is over, and goes out here. */
export interface Delivered extends Whole {
  /** A process that died may have given it before. */
  readonly again: boolean;
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
  readonly report: (id: string) => Promise<Whole | undefined>;
  readonly lasting: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Runs whose report has gone out in this process, by token, until the database knows that: an engine that a deploy ends while that is away
 * leaves them to its successor.
 */
const given = new Set<string>();

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
    const { ledger, holder } = this.#options;
    const listeners = [...this.#listeners];
    if (listeners.length === 0) return;
    await this.#tell();
    const names = listeners.map(({ name }) => name);
    const ids = listeners.flatMap(({ id }) => id ?? []);
    for (const over of await ledger.unreported(holder, names, ids)) await this.#give(over);
  }

  /** Taken, given, and noted as given: whoever dies in between, another one gives it again. */
  async #give({ id, ...to }: Addressee & { readonly id: string }): Promise<void> {
    const { ledger, holder, report, lasting } = this.#options;
    // Read before it is taken: between taking and telling there is nothing that takes time or could fail.
    const whole = await report(id);
    if (!whole) return;
    let asked = new Moment();
    const taken = await lasting(() => {
      asked = new Moment();
      return ledger.takeReport(id, holder);
    });
    if (!taken) return;
    const { token } = whole.run;
    if (!given.has(token)) {
      // Whoever stood still asks again: another one may have taken it for dead.
      if (asked.ago > SURE_MS) return;
      const listener = this.#listenerOf(to);
      // A deploy has closed it meanwhile.
      if (!listener) return lasting(() => ledger.giveReportBack(id, holder));
      this.#followed.delete(id);
      given.add(token);
      listener.report({ ...whole, again: taken === 'again' });
    }
    await lasting(() => ledger.reportGiven(id, holder));
    given.delete(token);
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
