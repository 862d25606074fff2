import { SharedPoller } from './shared-poller';
import type { Clock } from './clock';
import type { JsonObject } from '../model/json';
import { createPollFunction, type WatchKindDefinition, type WatchedGateway } from './watch-kinds';

interface PollerEntry {
  /** The kind of watch and the input of its operation. */
  readonly key: string;
  readonly clock: Clock;
  readonly poller: SharedPoller;
}

/** The pollers of each gateway. They end with the gateway. */
const pollersByGateway = new WeakMap<WatchedGateway, PollerEntry[]>();

/** Returns the poller that all watches with the same gateway, kind, input and clock share. */
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
  entries.push({ key, clock, poller });
  return poller;
}
