import { compareGiven, compareTrees, type Difference, type Place } from '../change/compare';
import { allOf, mapOf, putBack } from '../change/put-back';
import { stateNow, type State } from '../change/state';
import { badInput, GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { CONFIGURATION } from '../model/path';
import { sentence } from '../model/sentence';
import type { Kept, KeptStore } from './kept';
import type { Entry } from './line';
import type { Found } from './read';

/**
 * Puts back what was there before one write, if what is there now is what it left. Gives what cannot come back. Errors: `CONFLICT` with
 * `cause.diff` when somebody else has written since, `BAD_INPUT` for an entry that has no undo; nothing was sent then.
 */
export async function undo(store: KeptStore, { entry, kept: parts }: Found, call: Call): Promise<Place[]> {
  refuseWithout(entry);
  const kept = await store.of(entry.id, parts);
  const now = await stateNow(kept.subject, call);
  const diff = differenceToLeft(kept, now);
  if (diff.length === 0) return putBack(kept, now, call);
  if (compareTrees(mapOf(kept.before), mapOf(now)).equal && entry.ok !== true) {
    // It never happened.
    call.unchanged();
    return [];
  }
  const words = sentence`Somebody has changed ${kept.subject.paths[0] ?? ''} since: nothing was put back. The difference is in cause.diff.`;
  throw new GatewayError('CONFLICT', words, { sent: false, extra: { changed: false, diff } });
}

function refuseWithout({ undo, ok, operation, request, id }: Entry): void {
  if (undo) return;
  if (ok === false) throw badInput(sentence`${id} (${operation}) failed and changed nothing: there is nothing to undo.`);
  const why = request.path.startsWith(`${CONFIGURATION}/`)
    ? 'what was there could not be read'
    : 'only writes of the configuration can be put back';
  throw badInput(sentence`${id} (${operation}) has no undo: ${why}.`);
}

/** What is there now against what the write left. Where that was not read, by what was there before and what was sent. */
function differenceToLeft({ subject, before, after, method, body = {} }: Kept, now: State): readonly Difference[] {
  if (after) return allOf(compareTrees(mapOf(after), mapOf(now)), after, now);
  const [path = ''] = subject.paths;
  if (method === 'DELETE') return allOf(compareTrees(new Map(), mapOf(now)), {}, now);
  if (before[path]) {
    const rest = (state: State): State => ({ ...state, ...(state[path] && { [path]: without(state[path], body) }) });
    const others = allOf(compareTrees(mapOf(rest(before)), mapOf(rest(now))), before, now);
    // An appliance adds to what it was given: the id of a group, say.
    return [...sinceGiven(path, body, now[path]), ...others];
  }
  const [created] = Object.entries(now);
  return created ? sinceGiven(created[0], body, created[1]) : [{ path, field: '', before: body, after: null }];
}

/** Of what was sent, which is the earlier of the two here. */
function sinceGiven(path: string, body: JsonObject, now: JsonObject | undefined): Difference[] {
  return compareGiven(path, body, now).diff.map(({ before, after, ...place }) => ({ ...place, before: after, after: before }));
}

function without(resource: JsonObject, given: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(resource).filter(([key]) => !Object.hasOwn(given, key)));
}
