import { resetContainmentStores } from '../../src/contain/containment-store';
import { resetAccounts } from '../../src/login/account-state';
import { processCoordination } from '../../src/model/process-coordination';

/** Nothing is remembered of the appliances before: the next one may get the port of one that has ended, with its keys and pauses. */
export function resetProcessState(): void {
  processCoordination.clear();
  resetAccounts();
  resetContainmentStores();
}
