import { processCoordination } from '../../src/model/process-coordination';
import { processState } from '../../src/model/process-state';

/** Returns a map that all gateways of the process share. */
export function getProcessMap(
  name: 'accounts' | 'connection pools' | 'containment stores' | 'journal writers' | 'secure contexts',
): Map<string, unknown> {
  const map = processState.get(name);
  if (!map) throw new Error(`No module has created the map "${name}".`);
  return map;
}

/** Forgets all sessions. Existing gateways keep theirs. */
export function resetAccounts(): void {
  processState.get('accounts')?.clear();
}

/** Forgets the containments in memory, like a restart. */
export function resetContainmentStores(): void {
  processState.get('containment stores')?.clear();
}

/** Forgets what this process has written into journals, like a restart. */
export function resetJournalWriters(): void {
  processState.get('journal writers')?.clear();
}

/** Clears the state of earlier appliances: a new one may get the port of an old one, with its keys and pauses. */
export function resetProcessState(): void {
  processCoordination.clear();
  resetAccounts();
  resetContainmentStores();
}
