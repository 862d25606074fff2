// Test files share a process, since starting one for each costs a third of the time of the quick half. So each begins as if the process
// had just started: nothing of appliances before, whose ports come again, is remembered, and time is the real one.
import { vi } from 'vitest';
import { resetProcessState } from './reset-process-state';
import { markOpenFiles } from './open-files';

const REAL = Symbol.for('gateway-test-real-timers');
const NAMES = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate', 'Date'] as const;
type Timers = Pick<typeof globalThis, (typeof NAMES)[number]>;

// What a test has left faked would stop the clock of all that come after it.
vi.useRealTimers();
const world = globalThis as typeof globalThis & { [REAL]?: Timers };
world[REAL] ??= Object.fromEntries(NAMES.map((name) => [name, globalThis[name]])) as Timers;
Object.assign(globalThis, world[REAL]);
resetProcessState();
markOpenFiles();
