import type { OperationContext } from '../model/operation';

/**
 * Imports to one appliance are one at a time, although the appliance would queue them (appliance-api.md, "Limits" 3): so the one that
 * waits can say so, and be cancelled without having been sent. Errors: `ABORTED` when it is.
 */
export function runExclusiveImport<T>(call: OperationContext, work: () => Promise<T>): Promise<T> {
  let hasWaited = false;
  const start = (): Promise<T> => {
    if (hasWaited) call.reportProgress({ state: 'transferring', bytes: 0 });
    return work();
  };
  return call.runExclusive('import', start, {
    abortMessage: 'Cancelled while it waited for another import to end.',
    onWait: () => {
      hasWaited = true;
      call.reportProgress({ state: 'waiting' });
    },
  });
}
