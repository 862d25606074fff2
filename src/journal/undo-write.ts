import { compareWithDesired, compareTrees, type Difference, type FieldLocation } from '../change/compare';
import { listStateDifferences, toResourceMap, restoreState } from '../change/restore-state';
import { readCurrentState, type ResourceState } from '../change/resource-state';
import { badInput, GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT } from '../model/path';
import { safeMessage, trusted } from '../model/safe-message';
import type { UndoData, UndoStore } from './undo-store';
import type { JournalEntry } from './journal-line';
import type { JournalEntryWithUndo } from './read-entries';

/**
 * Restores the state before a write if the current state is the state that the write left. Returns values that cannot come back. Throws
 * `CONFLICT` with `cause.diff` if somebody has changed it since, and `BAD_INPUT` for an entry without undo; then nothing was sent.
 */
export async function undoJournalEntry(
  store: UndoStore,
  { entry, undoParts }: JournalEntryWithUndo,
  call: OperationContext,
): Promise<FieldLocation[]> {
  assertUndoable(entry);
  assertSameWorld(entry, call.settings.isRehearsal);
  const undoData = await store.read(entry.id, undoParts);
  assertBelongsToRequest(entry, undoData);
  const current = await readCurrentState(undoData.subject, call);
  if (wasCreationLost(entry, undoData, current))
    throw badInput(
      safeMessage`${entry.id} (${entry.operation}) has no undo: the created resource was not found under its name. Nothing was sent.`,
    );
  const diff = findLaterChanges(undoData, current);
  if (diff.length === 0) return restoreState(undoData, current, call);
  if (compareTrees(toResourceMap(undoData.before), toResourceMap(current)).equal && entry.ok !== true) {
    // The write never took effect.
    call.reportUnchanged();
    return [];
  }
  const message = safeMessage`Somebody has changed ${undoData.subject.paths[0] ?? ''} since this write. Nothing was restored. The difference is in cause.diff.`;
  throw new GatewayError('CONFLICT', message, { sent: false, extra: { changed: false, diff } });
}

function assertUndoable({ undo: isUndoable, ok, operation, request, id }: JournalEntry): void {
  if (isUndoable) return;
  if (ok === false) throw badInput(safeMessage`${id} (${operation}) failed and changed nothing, so there is nothing to undo.`);
  const reason = request.path.startsWith(`${CONFIGURATION_ROOT}/`)
    ? 'the earlier state could not be read'
    : 'only writes to the configuration can be undone';
  throw badInput(safeMessage`${id} (${operation}) has no undo: ${reason}.`);
}

/** A rehearsal has a journal of its own. An entry that somebody moved from there to the real one was never sent to the appliance. */
function assertSameWorld({ id, operation, rehearsal }: JournalEntry, isRehearsal: boolean): void {
  if ((rehearsal === true) === isRehearsal) return;
  const where = trusted(rehearsal ? 'a copy of the appliance in a rehearsal' : 'the appliance itself, not to this copy');
  throw badInput(safeMessage`${id} (${operation}) was sent to ${where}, so it is not undone here. Nothing was sent.`);
}

/** Checks that the undo data belongs to the request in the journal. Data for another resource is not used. */
function assertBelongsToRequest({ id, request }: JournalEntry, { subject, before, after = {} }: UndoData): void {
  const root = request.path.replace(/\/$/, '');
  const paths = [...subject.paths, ...Object.keys(before), ...Object.keys(after)];
  const isBelow = (path: string): boolean => (path === root || path.startsWith(`${root}/`)) && !/\/\.{1,2}(?:\/|$)/.test(decodeURI(path));
  const isOwner = subject.owner === undefined || root.startsWith(`${subject.owner}/`);
  const foreign = paths.find((path) => !isBelow(path)) ?? (isOwner ? undefined : subject.owner);
  if (foreign === undefined) return;
  throw badInput(safeMessage`The undo data of ${id} is for ${foreign}, but its request was for ${root}. Nothing was sent.`);
}

/** Returns whether a successful creation left nothing under its name. Undoing it would remove nothing. */
function wasCreationLost({ ok }: JournalEntry, { before, after, method }: UndoData, current: ResourceState): boolean {
  return (
    ok === true && method !== 'DELETE' && after !== undefined && [before, after, current].every((state) => Object.keys(state).length === 0)
  );
}

/** Compares the current state with the state after the write. If that is unknown, compares with the earlier state and the sent body. */
function findLaterChanges({ subject, before, after, method, body = {} }: UndoData, current: ResourceState): readonly Difference[] {
  if (after) return listStateDifferences(compareTrees(toResourceMap(after), toResourceMap(current)), after, current);
  const [path = ''] = subject.paths;
  if (method === 'DELETE') return listStateDifferences(compareTrees(new Map(), toResourceMap(current)), {}, current);
  if (before[path]) {
    const withoutSentFields = (state: ResourceState): ResourceState => ({
      ...state,
      ...(state[path] && { [path]: omitKeys(state[path], body) }),
    });
    const otherChanges = listStateDifferences(
      compareTrees(toResourceMap(withoutSentFields(before)), toResourceMap(withoutSentFields(current))),
      before,
      current,
    );
    // An appliance may add fields, for example the id of a group.
    return [...findChangesSince(path, body, current[path]), ...otherChanges];
  }
  const [created] = Object.entries(current);
  return created ? findChangesSince(created[0], body, created[1]) : [{ path, field: '', before: body, after: null }];
}

/** Swaps both sides: the sent body is the earlier state here. */
function findChangesSince(path: string, body: JsonObject, current: JsonObject | undefined): Difference[] {
  return compareWithDesired(path, body, current).diff.map(({ before, after, ...place }) => ({ ...place, before: after, after: before }));
}

function omitKeys(resource: JsonObject, sentBody: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(resource).filter(([key]) => !Object.hasOwn(sentBody, key)));
}
