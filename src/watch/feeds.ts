import { Feed } from './feed';
import type { Clock } from './clock';
import { ask, type Kind, type Watched } from './kinds';

interface Shared {
  readonly kind: string;
  readonly clock: Clock;
  readonly feed: Feed;
}

/** The feeds of each gateway, for as long as there is the gateway. */
const feeds = new WeakMap<Watched, Shared[]>();

/** The one feed of this kind at this appliance, for all who go by this clock. */
export function feedOf(watched: Watched, name: string, kind: Kind, clock: Clock): Feed {
  let own = feeds.get(watched);
  if (!own) feeds.set(watched, (own = []));
  const known = own.find((one) => one.kind === name && one.clock === clock);
  if (known) return known.feed;
  const feed = new Feed((signal) => ask(watched, kind, signal), clock);
  own.push({ kind: name, clock, feed });
  return feed;
}
