import { resetContainmentStores } from '../../src/contain/containment-store';
import { resetAccounts } from '../../src/login/account-state';
import { processCoordination } from '../../src/model/process-coordination';

/** Clears the state of earlier appliances: a new one may get the port of an old one, with its keys and pauses. */
export function resetProcessState(): void {
  processCoordination.clear();
  resetAccounts();
  resetContainmentStores();
}
