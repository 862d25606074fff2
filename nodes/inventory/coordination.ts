import type { Coordination } from '../../src/model/coordination';
import { processCoordination } from '../../src/model/process-coordination';

interface SharedCoordination {
  readonly coordination: Coordination;
  readonly rank: string;
}

/** Coordinations with other processes, ordered by rank. The first one is used; without any, only this process is coordinated. */
const sharedCoordinations: SharedCoordination[] = [];

const currentCoordination = (): Coordination => sharedCoordinations[0]?.coordination ?? processCoordination;

/** The coordination of all inventory gateways. Each call uses the current first one. */
export const sharedInventoryCoordination: Coordination = {
  runExclusive: (key, work, options = {}) => {
    let hasNotified = false;
    const onWait = (): void => {
      if (!hasNotified) options.onWait?.();
      hasNotified = true;
    };
    const onceOptions = { ...options, onWait };
    // Locks within the process first, because the leader can change while a lock is held.
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
 * Shares the state of inventory gateways with other processes. The lowest rank wins, so processes must use the same ranks. Returns a
 * function that ends the sharing.
 */
export function shareInventoryStateBetweenProcesses(coordination: Coordination, rank: string): () => void {
  const entry = { coordination, rank };
  // The latest of equal ranks goes first, because the older one is about to close.
  const position = sharedCoordinations.findIndex((other) => rank <= other.rank);
  sharedCoordinations.splice(position < 0 ? sharedCoordinations.length : position, 0, entry);
  return () => {
    const index = sharedCoordinations.indexOf(entry);
    if (index >= 0) sharedCoordinations.splice(index, 1);
  };
}
