import { SharedPoller } from './shared-poller';
import type { Clock } from './clock';
import type { JsonObject } from '../model/json';
import { createPollFunction, type WatchKindDefinition, type WatchedGateway } from './watch-kinds';

interface PollerEntry {
  /** What they watch for, and what is asked. */
  readonly key: string;
  readonly clock: Clock;
  readonly poller: SharedPoller;
}

/** The feeds of each gateway, for as long as there is the gateway. */
const pollersByGateway = new WeakMap<WatchedGateway, PollerEntry[]>();

/** The one feed that asks this at this appliance, for all who go by this clock. */
export function getSharedPoller(
  gateway: WatchedGateway,
  name: string,
  kind: WatchKindDefinition,
  input: JsonObject,
  clock: Clock,
): SharedPoller {
  const key = JSON.stringify([name, input]);
  let entries = pollersByGateway.get(gateway);
  if (!entries) pollersByGateway.set(gateway, (entries = []));
  const existing = entries.find((entry) => entry.key === key && entry.clock === clock);
  if (existing) return existing.poller;
  const poller = new SharedPoller(createPollFunction(gateway, kind, input), clock);
  entries.push({ key: key, clock, poller });
  return poller;
}
