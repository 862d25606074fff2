import { OUT_OF_REACH } from '../src/model/error-codes';
import type { GatewayError } from '../src/model/error';
import { shownError, type Last } from './shown';

/** Who shows how an appliance is. */
interface Follower {
  away(last: Last | undefined): void;
}

interface Reach {
  away: Last | undefined;
  readonly followers: Set<Follower>;
}

/** By the id of the appliance node: what one of its nodes comes to know, all of them show. */
const known = new Map<string, Reach>();

/** Shows from now on when that appliance is out of reach, until what comes back is called. */
export function followReach(id: string, follower: Follower): () => void {
  const reach = known.get(id) ?? { away: undefined, followers: new Set() };
  known.set(id, reach);
  reach.followers.add(follower);
  if (reach.away) follower.away(reach.away);
  return () => {
    reach.followers.delete(follower);
    // With its last node it is forgotten: who comes later will see.
    if (reach.followers.size === 0 && known.get(id) === reach) known.delete(id);
  };
}

/** What one node follows: its appliance, or of those that messages name the last one. */
export class Following {
  readonly #follower: Follower;
  #id: string | undefined;
  #end: (() => void) | undefined;

  constructor(follower: Follower) {
    this.#follower = follower;
  }

  /** From now on this one; undefined is one that nobody knows by an id. */
  follow(id: string | undefined): void {
    if (id === this.#id) return;
    this.close();
    this.#follower.away(undefined);
    this.#id = id;
    if (id !== undefined) this.#end = followReach(id, this.#follower);
  }

  close(): void {
    this.#end?.();
    this.#end = undefined;
    this.#id = undefined;
  }
}

/** What came of something that was asked of the appliance; undefined: it went well. What was never sent tells nothing. */
export function tellReach(id: string | undefined, error?: GatewayError): void {
  const reach = id === undefined ? undefined : known.get(id);
  if (!reach || (error === undefined && reach.away === undefined)) return;
  if (error && !OUT_OF_REACH.has(error.code) && error.details.status === undefined) return;
  const away: Last | undefined =
    error && OUT_OF_REACH.has(error.code) ? { ...shownError(error, (_field, label) => label), fill: 'yellow' } : undefined;
  if (away === undefined && reach.away === undefined) return;
  reach.away = away;
  for (const follower of reach.followers) follower.away(away);
}
