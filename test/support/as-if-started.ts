// Test files share a process, since starting one for each costs a third of the time of the quick half. So each begins as if the process
// had just started: nothing of appliances before, whose ports come again, is remembered.
import { forgetAppliances } from './fresh';
import { beginOpenFiles } from './open-files';

forgetAppliances();
beginOpenFiles();
