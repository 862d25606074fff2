import type { Node, NodeAPI } from 'node-red';
import type { FleetReport, Progress } from '../engine';
import { statusText, type Key } from './texts';

/** The line below a node that starts runs: how far the latest one is, and what came of it. */
export class RunStatus {
  readonly #red: NodeAPI;
  readonly #node: Node;
  #run = '';
  #closed = false;

  constructor(red: NodeAPI, node: Node) {
    this.#red = red;
    this.#node = node;
  }

  wrong(): void {
    this.#show('red', 'ring', 'not-configured');
  }

  failed(): void {
    this.#show('red', 'ring', 'not-started');
  }

  begin(run: string, n: number): void {
    this.#run = run;
    this.#show('blue', 'dot', 'progress', { done: 0, n });
  }

  advance({ run, state, total, ok, failed, unknown, skipped }: Progress): void {
    // One that was started by another node: what an approval or a repeat has begun.
    if (this.#run === '') this.#run = run;
    if (run !== this.#run) return;
    const done = ok + failed + unknown + skipped;
    if (state === 'paused') this.#show('yellow', 'ring', 'paused', { done });
    else if (failed + unknown > 0) this.#show('blue', 'dot', 'progress-failed', { done, n: total, failed: failed + unknown });
    else this.#show('blue', 'dot', 'progress', { done, n: total });
  }

  end(run: string, { ok, total }: FleetReport): void {
    if (this.#run !== '' && run !== this.#run) return;
    this.#run = '';
    this.#show(ok === total ? 'green' : ok === 0 ? 'red' : 'yellow', 'dot', 'done', { ok, n: total });
  }

  close(): void {
    this.#closed = true;
  }

  #show(fill: 'red' | 'green' | 'yellow' | 'blue', shape: 'ring' | 'dot', key: Key, values: Record<string, number> = {}): void {
    if (!this.#closed) this.#node.status({ fill, shape, text: statusText(this.#red, key, values) });
  }
}
