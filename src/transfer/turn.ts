import type { Call } from '../model/operation';
import { unlessAborted } from '../model/cancelling';

/** By base URL: resolves when the import that came last is over. */
const turns = new Map<string, Promise<unknown>>();

/**
 * Imports to one appliance are one at a time in this process, although the appliance would queue them (appliance-api.md, "Limits" 3):
 * so the one that waits can say so, and be cancelled without having been sent. Errors: `ABORTED` when it is.
 */
export async function inTurn<T>(call: Call, work: () => Promise<T>): Promise<T> {
  // A plan sends nothing.
  if (call.dryRun) return work();
  const key = call.settings.base;
  const before = turns.get(key);
  let over = (): void => undefined;
  const own = new Promise<void>((resolve) => (over = resolve));
  const last = Promise.all([before, own]);
  turns.set(key, last);
  try {
    if (before) {
      call.report({ state: 'waiting' });
      await unlessAborted(before, call.signal, 'Cancelled while it waited for another import to end.');
      call.report({ state: 'moving', bytes: 0 });
    }
    return await work();
  } finally {
    over();
    if (turns.get(key) === last) turns.delete(key);
  }
}
