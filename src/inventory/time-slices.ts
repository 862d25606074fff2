import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest work on a list in one turn of the event loop. The requests of an editor and the messages of flows run in between. */
const MAX_SLICE_MS = 10;

/** Calls `work` for each item in order. After each slice, other work of the process runs. */
export async function forEachInTimeSlices<T>(items: Iterable<T>, work: (item: T, index: number) => void): Promise<void> {
  let sliceStart = performance.now();
  let index = 0;
  for (const item of items) {
    work(item, index++);
    if (performance.now() - sliceStart < MAX_SLICE_MS) continue;
    await nextTurn();
    sliceStart = performance.now();
  }
}
