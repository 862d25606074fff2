import { Gateway } from '../../src/gateway/gateway';
import type { Settings } from '../../src/model/settings';
import { createMixedWrites } from './mixed-writes';

// Writes what `mixedWrites` gives in a process of its own, so many at once, until it is done or killed.
interface Task {
  readonly settings: Settings;
  readonly count: number;
  readonly atOnce: number;
}

const [, , argument = ''] = process.argv;
const { settings, count, atOnce } = JSON.parse(argument) as Task;
const gateway = new Gateway(settings);
const steps = createMixedWrites(count).values();

async function work(): Promise<void> {
  // With parallel writes, one can arrive before the write it needs.
  for (const [operation, input] of steps)
    await (gateway.run as (name: string, input: object) => Promise<unknown>)(operation, input).catch(() => undefined);
}

void Promise.all(Array.from({ length: atOnce }, work)).then(() => gateway.close());
