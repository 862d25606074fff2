import { Gateway } from '../../src/gateway/gateway';
import type { Settings } from '../../src/model/settings';

// Runs one operation in a separate process, once or several times in parallel, so that a test can kill it. `now` stops its clock.
interface Task {
  readonly settings: Settings;
  readonly operation: string;
  readonly input: Record<string, unknown>;
  readonly times?: number;
  readonly now?: number;
}

const [, , argument = ''] = process.argv;
const { settings, operation, input, times = 1, now } = JSON.parse(argument) as Task;
if (now !== undefined) Date.now = () => now;
const gateway = new Gateway(settings);
const runs = Array.from({ length: times }, () => gateway.run(operation, input));
void Promise.all(runs)
  .then(
    (all) => console.log(JSON.stringify(all.map(({ data }) => data))),
    (error: unknown) => console.log(String(error)),
  )
  .then(() => gateway.close());
