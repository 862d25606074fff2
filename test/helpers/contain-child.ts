import { Gateway } from '../../src/gateway';
import type { Settings } from '../../src/model/settings';

// Keeps people out in a process of its own, so that it can be killed in the middle; contains somebody first, where it is told whom.
interface Task {
  readonly settings: Settings;
  readonly folder: string;
  readonly contain?: Record<string, unknown>;
}

const [, , argument = ''] = process.argv;
const { settings, folder, contain } = JSON.parse(argument) as Task;
const gateway = new Gateway(settings);
gateway.enforceContainments({ every: 0.05, folder, onEvent: (event) => console.log(JSON.stringify(event)) });
// What waits for the appliance has to be kept alive: a look alone does not.
setInterval(() => undefined, 1000);
if (contain) void gateway.run('contain.contain', { ...contain, folder }).catch((error: unknown) => console.error(String(error)));
