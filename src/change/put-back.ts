import { createHmac, randomBytes } from 'node:crypto';
import { GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { compareGiven, compareTrees, isLinks, isSecretKey, step, withoutSecrets, type Difference, type Place } from './compare';
import { overlay } from './overlay';
import { entriesIn, stateNow, type Found, type State } from './state';

const LOCAL_USER = /\/local\/users\/user\/[^/]+$/;
const PASSWORD = 'password-cleartext';
/** Passwords that nobody knows come from it: the same for a plan and for what is done by it. */
const UNKNOWN = randomBytes(32);

/** What was there before a write, and what was sent. */
export interface Before extends Found {
  readonly body?: JsonObject;
}

/**
 * Puts back what was there before a write. Gives what cannot come back, such as a password that cannot be read. Errors: `CONFLICT` when a
 * value of before is not there again.
 */
export async function putBack({ subject, before, body = {} }: Before, now: State, call: Call): Promise<Place[]> {
  const incomplete: Place[] = [];
  const [created] = Object.keys(before).length === 0 ? Object.keys(now) : [];
  if (created !== undefined) await call.write({ method: 'DELETE', path: created });
  let wrote = created !== undefined;
  for (const [path, resource] of Object.entries(before)) {
    const present = now[path];
    if (!present) incomplete.push(...(await recreate(path, resource, before, call)));
    else if (compareTrees(new Map([[path, resource]]), new Map([[path, present]])).equal && !holdsSecret(body)) continue;
    else await call.write({ method: 'PUT', path, body: overlay(resource, {}) });
    wrote = true;
  }
  if (!wrote) call.unchanged();
  incomplete.push(...secretsOf(subject.paths[0] ?? '', body, before));
  return call.dryRun || !wrote ? incomplete : [...incomplete, ...(await leftOver(subject, before, call))];
}

/** What was deleted comes back by a PUT of what was read; links and entries of a collection come back with what they lead to. */
async function recreate(path: string, resource: JsonObject, before: State, call: Call): Promise<Place[]> {
  const entries = entriesIn(path, resource).filter(({ places }) => places.some((place) => Object.hasOwn(before, place)));
  const keys = new Set(entries.map(({ key }) => key));
  const own = Object.fromEntries(Object.entries(resource).filter(([key, value]) => !isLinks(value) && !keys.has(key)));
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
async function leftOver(subject: Found['subject'], before: State, call: Call): Promise<Place[]> {
  const now = await stateNow(subject, call, true);
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

/** Resources by path, for comparing. */
export function mapOf(state: State): ReadonlyMap<string, JsonObject> {
  return new Map(Object.entries(state));
}

/** The differences of two states, resources that came or went as a whole, without their secrets. */
export function allOf({ added, removed, changed }: ReturnType<typeof compareTrees>, before: State, after: State): Difference[] {
  const shown = (resource: JsonObject | undefined): JsonObject | null => (resource ? withoutSecrets(resource) : null);
  const whole = (path: string): Difference => ({ path, field: '', before: shown(before[path]), after: shown(after[path]) });
  return [...changed, ...removed.map(whole), ...added.map(whole)];
}
