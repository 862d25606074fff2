import type { Coordination } from '../../src/model/coordination';
import { processCoordination } from '../../src/model/process-coordination';

interface SharedCoordination {
  readonly coordination: Coordination;
  readonly rank: string;
}

/** What the gateways of all inventories share beyond this process, by rank: the first one leads. None: they share it within the process alone. */
const sharedCoordinations: SharedCoordination[] = [];

const currentCoordination = (): Coordination => sharedCoordinations[0]?.coordination ?? processCoordination;

/** For the gateways of the inventories: whoever is there now is asked, each time. */
export const inventoryCoordination: Coordination = {
  runExclusive: (key, work, options = {}) => {
    let hasNotified = false;
    const onWait = (): void => {
      if (!hasNotified) options.onWait?.();
      hasNotified = true;
    };
    const onceOptions = { ...options, onWait };
    // First within the process: who leads may change while somebody holds the key.
    const runInProcess = (): ReturnType<typeof work> => {
      const leader = currentCoordination();
      return leader === processCoordination ? work() : leader.runExclusive(key, work, onceOptions);
    };
    return processCoordination.runExclusive(key, runInProcess, onceOptions);
  },
  get: (key) => currentCoordination().get(key),
  set: (key, value, ttlMs) => currentCoordination().set(key, value, ttlMs),
  update: (key, change, ttlMs) => currentCoordination().update(key, change, ttlMs),
};

/**
 * From now on the gateways of all inventories share what they know with other processes by this, until the answer is called. Of several
 * the one of the lowest rank leads: a rank that is the same in all processes has all of them share the same.
 */
export function shareBetweenProcesses(coordination: Coordination, rank: string): () => void {
  const entry = { coordination, rank };
  // Of the same rank the latest one: the one before it is about to be closed.
  const position = sharedCoordinations.findIndex((other) => rank <= other.rank);
  sharedCoordinations.splice(position < 0 ? sharedCoordinations.length : position, 0, entry);
  return () => {
    const index = sharedCoordinations.indexOf(entry);
    if (index >= 0) sharedCoordinations.splice(index, 1);
  };
}
