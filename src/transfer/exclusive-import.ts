import type { Call } from '../model/operation';

/**
 * Imports to one appliance are one at a time, although the appliance would queue them (appliance-api.md, "Limits" 3): so the one that
 * waits can say so, and be cancelled without having been sent. Errors: `ABORTED` when it is.
 */
export function exclusiveImport<T>(call: Call, work: () => Promise<T>): Promise<T> {
  let waited = false;
  const begin = (): Promise<T> => {
    if (waited) call.report({ state: 'moving', bytes: 0 });
    return work();
  };
  return call.exclusive('import', begin, {
    cancelled: 'Cancelled while it waited for another import to end.',
    onWait: () => {
      waited = true;
      call.report({ state: 'waiting' });
    },
  });
}
