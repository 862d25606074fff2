import type { Coordination } from '../src/model/coordination';
import { processCoordination } from '../src/model/process-coordination';

interface Given {
  readonly coordination: Coordination;
  readonly rank: string;
}

/** What the gateways of all inventories share beyond this process, by rank: the first one leads. None: they share it within the process alone. */
const given: Given[] = [];

const now = (): Coordination => given[0]?.coordination ?? processCoordination;

/** For the gateways of the inventories: whoever is there now is asked, each time. */
export const inventoryCoordination: Coordination = {
  exclusive: (key, work, options = {}) => {
    let isTold = false;
    const onWait = (): void => {
      if (!isTold) options.onWait?.();
      isTold = true;
    };
    const told = { ...options, onWait };
    // First within the process: who leads may change while somebody holds the key.
    const within = (): ReturnType<typeof work> => {
      const leading = now();
      return leading === processCoordination ? work() : leading.exclusive(key, work, told);
    };
    return processCoordination.exclusive(key, within, told);
  },
  remembered: (key) => now().remembered(key),
  remember: (key, value, ttlMs) => now().remember(key, value, ttlMs),
  update: (key, change, ttlMs) => now().update(key, change, ttlMs),
};

/**
 * From now on the gateways of all inventories share what they know with other processes by this, until the answer is called. Of several
 * the one of the lowest rank leads: a rank that is the same in all processes has all of them share the same.
 */
export function shareBetweenProcesses(coordination: Coordination, rank: string): () => void {
  const one = { coordination, rank };
  // Of the same rank the latest one: the one before it is about to be closed.
  const place = given.findIndex((other) => rank <= other.rank);
  given.splice(place < 0 ? given.length : place, 0, one);
  return () => {
    const index = given.indexOf(one);
    if (index >= 0) given.splice(index, 1);
  };
}
