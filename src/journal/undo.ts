import { createHmac, randomBytes } from 'node:crypto';
import { compareGiven, compareTrees, isLinks, isSecretKey, step, type Difference, type Place } from '../change/compare';
import { overlay } from '../change/overlay';
import { stateNow, type State } from '../change/state';
import { badInput, GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { CONFIGURATION } from '../model/path';
import { sentence } from '../model/sentence';
import type { Kept, KeptStore } from './kept';
import type { Entry } from './line';
import type { Found } from './read';

const LOCAL_USER = /\/local\/users\/user\/[^/]+$/;
const PASSWORD = 'password-cleartext';
/** Passwords that nobody knows come from it: the same for a plan and for what is done by it. */
const UNKNOWN = randomBytes(32);

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
  const present = before[path];
  if (present) return allOf(compareTrees(mapOf({ ...before, [path]: overlay(present, body) }), mapOf(now)), before, now);
  const [created] = Object.entries(now);
  return created ? compareGiven(created[0], body, created[1]).diff : [{ path, field: '', before: null, after: null }];
}

function allOf({ added, removed, changed }: ReturnType<typeof compareTrees>, before: State, after: State): Difference[] {
  const whole = (path: string): Difference => ({ path, field: '', before: before[path] ?? null, after: after[path] ?? null });
  return [...changed, ...removed.map(whole), ...added.map(whole)];
}

async function putBack({ subject, before, body = {} }: Kept, now: State, call: Call): Promise<Place[]> {
  const incomplete: Place[] = [];
  const [created] = Object.keys(before).length === 0 ? Object.keys(now) : [];
  if (created !== undefined) await call.write({ method: 'DELETE', path: created });
  let wrote = created !== undefined;
  for (const [path, resource] of Object.entries(before)) {
    const present = now[path];
    if (!present) incomplete.push(...(await recreate(path, resource, call)));
    else if (compareTrees(new Map([[path, resource]]), new Map([[path, present]])).equal && !holdsSecret(body)) continue;
    else await call.write({ method: 'PUT', path, body: overlay(resource, {}) });
    wrote = true;
  }
  if (!wrote) call.unchanged();
  incomplete.push(...secretsOf(subject.paths[0] ?? '', body, before));
  return call.dryRun || !wrote ? incomplete : [...incomplete, ...(await leftOver(subject, before, call))];
}

/** What was deleted comes back by a PUT of what was read; links come back with what they lead to. */
async function recreate(path: string, resource: JsonObject, call: Call): Promise<Place[]> {
  const own = Object.fromEntries(Object.entries(resource).filter(([, value]) => !isLinks(value)));
  const body = overlay(own, {});
  // An appliance takes no user without a password, and that of before cannot be read: nobody knows this one.
  const needsPassword = LOCAL_USER.test(path) && !Object.keys(body).some((key) => isSecretKey(key, body));
  // What only links is there again with what is above it.
  if (Object.keys(body).length === 0) return [];
  await call.write({
    method: 'PUT',
    path,
    body: needsPassword ? { ...body, [PASSWORD]: `aA1!${createHmac('sha256', UNKNOWN).update(path).digest('base64url')}` } : body,
  });
  return needsPassword ? [{ path, field: step(PASSWORD) }] : [];
}

/** Secrets that were written and whose earlier value was not shown. */
function secretsOf(path: string, body: JsonObject, before: State): Place[] {
  const present = before[path];
  if (!present) return [];
  return compareGiven(path, body, present).notCompared.filter(({ field }) => !isShown(present, field));
}

function isShown(resource: JsonObject, field: string): boolean {
  return Object.keys(resource).some((key) => step(key) === field);
}

function holdsSecret(body: JsonObject): boolean {
  return compareGiven('', body, {}).notCompared.length > 0;
}

/** Reads what is there after it. Errors: `CONFLICT` when a value of before is not there again. */
async function leftOver(subject: Kept['subject'], before: State, call: Call): Promise<Place[]> {
  const now = await stateNow(subject, call);
  const diff = allOf(compareTrees(mapOf(before), mapOf(now)), before, now);
  const lost = diff.filter(({ before: value }) => value !== null);
  if (lost.length === 0) return diff.map(({ path, field }) => ({ path, field }));
  throw new GatewayError(
    'CONFLICT',
    'It was put back, but what is there now is not what was there before. The difference is in cause.diff.',
    {
      extra: { changed: true, diff: lost },
    },
  );
}

function mapOf(state: State): ReadonlyMap<string, JsonObject> {
  return new Map(Object.entries(state));
}
