import type { PgBoss } from 'pg-boss';
import { describe, expect, it } from 'vitest';
import { QueueWorker } from '../engine/queue-worker';
import { waitUntil } from './support/test-fleet';

/** A queue in memory that counts its fetches. */
class MemoryQueue {
  readonly jobs: { id: string; data: object }[] = [];
  readonly completed: string[] = [];
  fetches = 0;

  fetch(_queue: string, { batchSize }: { batchSize: number }): Promise<unknown[]> {
    this.fetches++;
    return Promise.resolve(this.jobs.splice(0, batchSize));
  }

  complete(_queue: string, ids: readonly string[]): Promise<void> {
    this.completed.push(...ids);
    return Promise.resolve();
  }

  add(...ids: readonly string[]): void {
    this.jobs.push(...ids.map((id) => ({ id, data: {} })));
  }
}

function startWorker(queue: MemoryQueue, mayHaveJobs: () => boolean): QueueWorker<object> {
  const worker = new QueueWorker({
    boss: queue as unknown as PgBoss,
    queue: 'items',
    concurrency: 2,
    work: () => Promise.resolve('done'),
    mayHaveJobs,
    getPreferredPriorityRange: () => undefined,
    onFault: (fault) => {
      throw fault;
    },
  });
  worker.start();
  return worker;
}

describe('a queue worker of a fleet without runs', () => {
  it('a queue worker empties the queue when it starts, and later fetches jobs only when it is woken', async () => {
    const queue = new MemoryQueue();
    queue.add('left-1', 'left-2', 'left-3');
    const worker = startWorker(queue, () => false);
    await waitUntil(() => queue.completed.length === 3);
    await waitUntil(() => queue.jobs.length === 0 && worker.busy === 0);
    worker.wake();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const before = queue.fetches;
    queue.add('late');
    worker.wake();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(queue.fetches).toBe(before);
    worker.fetchAll();
    await waitUntil(() => queue.completed.includes('late'));
    await worker.stop();
    worker.stopHeartbeat();
    expect(queue.completed).toEqual(['left-1', 'left-2', 'left-3', 'late']);
  });
});
