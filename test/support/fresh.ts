import { forgetPlaces } from '../../src/contain/store';
import { forgetAccounts } from '../../src/login/account-state';
import { processCoordination } from '../../src/model/process-coordination';

/** Nothing is remembered of the appliances before: the next one may get the port of one that has ended, with its keys and pauses. */
export function forgetAppliances(): void {
  processCoordination.clear();
  forgetAccounts();
  forgetPlaces();
}
