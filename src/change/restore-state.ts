import { createHmac, randomBytes } from 'node:crypto';
import { GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { isSecretKey } from '../model/secrets';
import { compareWithDesired, compareTrees, toPointerSegment, maskResourceSecrets, type Difference, type FieldLocation } from './compare';
import { mergeForPut } from './merge-for-put';
import { findEntryLists, readCurrentState, type StateBeforeWrite, type ResourceState } from './resource-state';
import { containsOnlyLinks } from './hyperlinks';

const LOCAL_USER = /\/local\/users\/user\/[^/]+$/;
const PASSWORD = 'password-cleartext';
/** Seed of random passwords: a plan and its execution use the same one. */
const PASSWORD_SEED = randomBytes(32);

/** The state before a write, and the body that was sent. */
interface StateToRestore extends StateBeforeWrite {
  readonly body?: JsonObject;
}

/**
 * Restores the state before a write. Returns values that cannot come back, such as an unreadable password. Throws `CONFLICT` if an earlier
 * value is not back afterwards.
 */
export async function restoreState(
  { subject, before, body = {} }: StateToRestore,
  current: ResourceState,
  call: OperationContext,
): Promise<FieldLocation[]> {
  const incomplete: FieldLocation[] = [];
  const [created] = Object.keys(before).length === 0 ? Object.keys(current) : [];
  if (created !== undefined) await call.write({ method: 'DELETE', path: created });
  let hasWritten = created !== undefined;
  for (const [path, resource] of Object.entries(before)) {
    const currentResource = current[path];
    if (!currentResource) incomplete.push(...(await recreate(path, resource, before, call)));
    else if (compareTrees(new Map([[path, resource]]), new Map([[path, currentResource]])).equal && !hasSecret(body)) continue;
    else await call.write({ method: 'PUT', path, body: mergeForPut(resource, {}) });
    hasWritten = true;
  }
  if (hasWritten) call.reportDifference();
  else call.reportUnchanged();
  incomplete.push(...findLostSecrets(subject.paths[0] ?? '', body, before));
  return call.dryRun || !hasWritten ? incomplete : [...incomplete, ...(await checkRestored(subject, before, call))];
}

/** Creates a deleted resource again by a PUT. Links and collection items come back with the resources behind them. */
async function recreate(path: string, resource: JsonObject, before: ResourceState, call: OperationContext): Promise<FieldLocation[]> {
  const entries = findEntryLists(path, resource).filter(({ paths }) => paths.some((itemPath) => Object.hasOwn(before, itemPath)));
  const keys = new Set(entries.map(({ key }) => key));
  const own = Object.fromEntries(Object.entries(resource).filter(([key, value]) => !containsOnlyLinks(value) && !keys.has(key)));
  const body = mergeForPut(own, {});
  // An appliance refuses a user without a password, and the earlier password cannot be read.
  const needsPassword = LOCAL_USER.test(path) && !Object.keys(body).some((key) => isSecretKey(key, body));
  // A resource that only links comes back with its parent.
  if (Object.keys(body).length === 0) return [];
  await call.write({
    method: 'PUT',
    path,
    body: needsPassword ? { ...body, [PASSWORD]: `aA1!${createHmac('sha256', PASSWORD_SEED).update(path).digest('base64url')}` } : body,
  });
  return needsPassword ? [{ path, field: toPointerSegment(PASSWORD) }] : [];
}

/** Returns written secrets whose earlier values the appliance did not show. */
function findLostSecrets(path: string, body: JsonObject, before: ResourceState): FieldLocation[] {
  const previous = before[path];
  if (!previous) return [];
  return compareWithDesired(path, body, previous).notCompared.filter(({ field }) => !hasField(previous, field));
}

function hasField(resource: JsonObject, field: string): boolean {
  return Object.keys(resource).some((key) => toPointerSegment(key) === field);
}

function hasSecret(body: JsonObject): boolean {
  return compareWithDesired('', body, {}).notCompared.length > 0;
}

/** Reads the state after the restore. Throws `CONFLICT` if an earlier value is not back. */
async function checkRestored(
  subject: StateBeforeWrite['subject'],
  before: ResourceState,
  call: OperationContext,
): Promise<FieldLocation[]> {
  const current = await readCurrentState(subject, call, true);
  const diff = listStateDifferences(compareTrees(toResourceMap(before), toResourceMap(current)), before, current);
  const notRestored = diff.filter(({ before: value }) => value !== null);
  if (notRestored.length === 0) return diff.map(({ path, field }) => ({ path, field }));
  throw new GatewayError(
    'CONFLICT',
    'The earlier state was written, but the resource still differs from it. The difference is in cause.diff.',
    {
      extra: { changed: true, diff: notRestored },
    },
  );
}

/** Converts a state to the map that `compareTrees` takes. */
export function toResourceMap(state: ResourceState): ReadonlyMap<string, JsonObject> {
  return new Map(Object.entries(state));
}

/** Lists the differences of two states with secrets masked. A resource that was added or removed is one difference. */
export function listStateDifferences(
  { added, removed, changed }: ReturnType<typeof compareTrees>,
  before: ResourceState,
  after: ResourceState,
): Difference[] {
  const masked = (resource: JsonObject | undefined): JsonObject | null => (resource ? maskResourceSecrets(resource) : null);
  const wholeResource = (path: string): Difference => ({ path, field: '', before: masked(before[path]), after: masked(after[path]) });
  return [...changed, ...removed.map(wholeResource), ...added.map(wholeResource)];
}
