// Test files share a process, since starting one for each costs a third of the time of the quick half. So each begins as if the process
// had just started: nothing of appliances before, whose ports come again, is remembered.
import { forgetPlaces } from '../../src/contain/store';
import { forgetAccounts } from '../../src/login/account-state';
import { processCoordination } from '../../src/model/process-coordination';
import { beginOpenFiles } from './open-files';

processCoordination.clear();
forgetAccounts();
forgetPlaces();
beginOpenFiles();
