import { Gateway } from '../../src/gateway/gateway';
import type { Settings } from '../../src/model/settings';

// Enforces containments in a separate process, so that a test can kill it; can contain a user first.
interface Task {
  readonly settings: Settings;
  readonly folder: string;
  readonly contain?: Record<string, unknown>;
}

const [, , argument = ''] = process.argv;
const { settings, folder, contain } = JSON.parse(argument) as Task;
const gateway = new Gateway(settings);
gateway.enforceContainments({ every: 0.05, folder, onEvent: (event) => console.log(JSON.stringify(event)) });
// A pending check alone does not keep the process alive.
setInterval(() => undefined, 1000);
if (contain) void gateway.run('contain.contain', { ...contain, folder }).catch((error: unknown) => console.error(String(error)));
