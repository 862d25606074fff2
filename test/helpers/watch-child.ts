import { writeSync } from 'node:fs';
import { Gateway } from '../../src/gateway';
import type { Settings } from '../../src/model/settings';
import { Watcher } from '../../src/watch';

// Watches sessions, one check right after the other, until it is killed. What it tells goes out at once, a line for each event.
interface Task {
  readonly settings: Settings;
  readonly remember: string;
}

const [, , argument = ''] = process.argv;
const { settings, remember } = JSON.parse(argument) as Task;
const line = (value: unknown): void => void writeSync(1, `${JSON.stringify(value)}\n`);
let now = Date.now();
const watcher = new Watcher(new Gateway(settings), {
  watch: 'sessions',
  every: 5,
  stateFile: remember,
  clock: {
    now: () => now,
    monotonic: () => now,
    schedule: (ms, work) => {
      const immediate = setImmediate(() => {
        now += ms;
        work();
      });
      return () => clearImmediate(immediate);
    },
    random: () => 0,
  },
  // In a turn of its own, as Node-RED does it.
  onEvent: ({ payload: { event, id, session, message } }) =>
    setImmediate(() => line({ event, id, session: (session as { 'session-id': string } | undefined)?.['session-id'], message })),
  onError: ({ code, message }) => line({ error: code, message }),
});
void watcher.start();
// Nothing but a connection would keep it alive.
setInterval(() => undefined, 60_000);
