import { writeSync } from 'node:fs';
import { Gateway } from '../../src/gateway/gateway';
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
  // In a later turn of the event loop, like Node-RED.
  onEvent: ({ payload }) => {
    const session = 'session' in payload ? payload.session['session-id'] : undefined;
    const message = 'message' in payload ? payload.message : undefined;
    setImmediate(() => line({ event: payload.event, id: payload.id, session, message }));
  },
  onError: ({ code, message }) => line({ error: code, message }),
});
void watcher.start();
// Nothing but a connection would keep it alive.
setInterval(() => undefined, 60_000);
