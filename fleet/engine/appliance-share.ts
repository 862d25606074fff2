import { createHash } from 'node:crypto';

/** Priorities from 0 to this number, exclusive. Each appliance always has the same priority. */
const BUCKETS = 1024;

/** The range of priorities whose jobs an engine fetches first. */
export interface AppliancePriorityRange {
  readonly minPriority: number;
  readonly maxPriority: number;
}

/** Priority of the jobs of an appliance. It only spreads appliances evenly over engines and does not mean urgency. */
export function toPriorityOfAppliance(appliance: string): number {
  return createHash('sha256').update(appliance).digest().readUInt32BE() % BUCKETS;
}

/**
 * The part of all appliances that an engine prefers, so that it can use its sessions and connections again. All engines with the same list of
 * ids get different parts. Undefined without other engines.
 */
export function getPreferredPriorityRange(engine: string, engines: readonly string[]): AppliancePriorityRange | undefined {
  const rank = engines.toSorted().indexOf(engine);
  if (rank < 0 || engines.length < 2) return undefined;
  const start = (position: number): number => Math.floor((position * BUCKETS) / engines.length);
  return { minPriority: start(rank), maxPriority: Math.max(start(rank), start(rank + 1) - 1) };
}
