import { Feed } from './feed';
import type { Clock } from './clock';
import type { JsonObject } from '../model/json';
import { askerOf, type Kind, type Watched } from './kinds';

interface Shared {
  /** What they watch for, and what is asked. */
  readonly kind: string;
  readonly clock: Clock;
  readonly feed: Feed;
}

/** The feeds of each gateway, for as long as there is the gateway. */
const feeds = new WeakMap<Watched, Shared[]>();

/** The one feed that asks this at this appliance, for all who go by this clock. */
export function feedOf(watched: Watched, name: string, kind: Kind, input: JsonObject, clock: Clock): Feed {
  const asked = JSON.stringify([name, input]);
  let own = feeds.get(watched);
  if (!own) feeds.set(watched, (own = []));
  const known = own.find((one) => one.kind === asked && one.clock === clock);
  if (known) return known.feed;
  const feed = new Feed(askerOf(watched, kind, input), clock);
  own.push({ kind: asked, clock, feed });
  return feed;
}
