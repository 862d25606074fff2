import type { Coordination } from '../src/model/coordination';
import { processCoordination } from '../src/model/process-coordination';

/** What the gateways of all inventories share beyond this process, the latest first; none: they share it within the process alone. */
const given: Coordination[] = [];

const now = (): Coordination => given[0] ?? processCoordination;

/** For the gateways of the inventories: whoever is there now is asked, each time. */
export const inventoryCoordination: Coordination = {
  exclusive: (key, work, options) => now().exclusive(key, work, options),
  remembered: (key) => now().remembered(key),
  remember: (key, value, ttlMs) => now().remember(key, value, ttlMs),
  update: (key, change, ttlMs) => now().update(key, change, ttlMs),
};

/** From now on the gateways of all inventories share what they know with other processes by this, until the answer is called. */
export function shareBetweenProcesses(coordination: Coordination): () => void {
  given.unshift(coordination);
  return () => {
    const index = given.indexOf(coordination);
    if (index >= 0) given.splice(index, 1);
  };
}
