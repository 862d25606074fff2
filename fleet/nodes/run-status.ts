import type { Node, NodeAPI } from 'node-red';
import type { FleetReport, RunProgress } from '../engine';
import { getStatusText, type StatusKey } from './i18n';

/** The status of a node that starts runs. It shows the progress or the result of the latest run. */
export class RunStatus {
  readonly #red: NodeAPI;
  readonly #node: Node;
  #run = '';
  #closed = false;

  constructor(red: NodeAPI, node: Node) {
    this.#red = red;
    this.#node = node;
  }

  showNotConfigured(): void {
    this.#show('red', 'ring', 'not-configured');
  }

  showNotStarted(): void {
    this.#show('red', 'ring', 'not-started');
  }

  showStarted(run: string, total: number): void {
    this.#run = run;
    this.#show('blue', 'dot', 'progress', { done: 0, n: total });
  }

  showProgress({ run, state, total, ok, failed, unknown, skipped }: RunProgress): void {
    // The run was started by an approval or a repeat.
    if (this.#run === '') this.#run = run;
    if (run !== this.#run) return;
    const done = ok + failed + unknown + skipped;
    if (state === 'paused') this.#show('yellow', 'ring', 'paused', { done });
    else if (failed + unknown > 0) this.#show('blue', 'dot', 'progress-failed', { done, n: total, failed: failed + unknown });
    else this.#show('blue', 'dot', 'progress', { done, n: total });
  }

  showResult(run: string, { ok, total }: FleetReport): void {
    if (this.#run !== '' && run !== this.#run) return;
    this.#run = '';
    this.#show(ok === total ? 'green' : ok === 0 ? 'red' : 'yellow', 'dot', 'done', { ok, n: total });
  }

  close(): void {
    this.#closed = true;
  }

  #show(fill: 'red' | 'green' | 'yellow' | 'blue', shape: 'ring' | 'dot', key: StatusKey, values: Record<string, number> = {}): void {
    if (!this.#closed) this.#node.status({ fill, shape, text: getStatusText(this.#red, key, values) });
  }
}
