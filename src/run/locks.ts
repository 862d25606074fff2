import { coordinationKey } from '../model/coordination';
import type { ExclusiveCallOptions } from '../model/operation-context';
import { DEFAULT_TIMEOUT_SECONDS, type CheckedSettings } from '../model/settings';
import type { RunState } from './run-state';

/** Seconds for which an appliance can still work on a small request whose sender is gone, far less than a timeout. */
const MAX_BUSY_SECONDS = 10;

/**
 * Seconds that a lease outlives the last heartbeat of its holder. A living holder renews it, so this covers a dead one whose last request
 * the appliance may still process. `isBrief` work consists of small exchanges. A timeout above the default suggests a slow appliance.
 */
export function getLeaseSeconds(
  { timeout, transferTimeout }: Pick<CheckedSettings, 'timeout' | 'transferTimeout'>,
  isBrief: boolean,
): number {
  if (!isBrief) return Math.max(timeout, transferTimeout) + 60;
  return 15 + (timeout > DEFAULT_TIMEOUT_SECONDS ? timeout : Math.min(timeout, MAX_BUSY_SECONDS));
}

/** Runs work under a lock, as `OperationContext.runExclusive` describes. */
export function runExclusive<T>(
  { gatewayContext, options: { dryRun, signal }, leases }: RunState,
  name: string,
  work: () => Promise<T>,
  { isBrief, ...exclusiveOptions }: ExclusiveCallOptions,
): Promise<T> {
  if (dryRun) return work();
  const { coordination, settings } = gatewayContext;
  const leaseMs = getLeaseSeconds(settings, isBrief === true) * 1000;
  const key = coordinationKey('exclusive', settings.origin + settings.prefix, name);
  return coordination.runExclusive(key, (assertHeld) => leases.run(assertHeld, work), { signal, leaseMs, ...exclusiveOptions });
}

/** Rejects if a lease of the run is lost. This is the last check before a write, because `beforeWrite` may wait. */
export async function assertLeasesStillHeld({ options, leases }: RunState): Promise<void> {
  await options.beforeWrite?.();
  await leases.assertHeld();
}
