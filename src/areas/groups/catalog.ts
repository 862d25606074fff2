import { compareWithDesired } from '../../change/compare';
import { ensureOneResource } from '../../change/ensure';
import type { WriteResult } from '../../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../../model/error';
import type { OperationContext } from '../../model/operation';
import { encodedPath } from '../../model/path';
import { isObject, type JsonObject } from '../../model/json';
import { hasGroupIdentity, GroupIndex, type DirectoryKind } from './group-index';
import { trusted, safeMessage } from '../../model/safe-message';

/** Identifies a group catalog by its server and directory kind. */
export interface GroupCatalog {
  readonly server: string;
  readonly directory: DirectoryKind;
}

const LIST_KEYS = { ad: 'ad-group', ldap: 'user-group' } as const;
/** Real SIDs are shorter, with at most 15 numbers. */
const MAX_SID_LENGTH = 200;

/** Reads all groups of a catalog. Errors: `BAD_RESPONSE` for a response without a list of identifiable groups. */
export async function readGroupCatalog(catalog: GroupCatalog, call: OperationContext): Promise<JsonObject[]> {
  return extractGroups(catalog, await call.read({ method: 'GET', path: catalogPath(catalog) }));
}

function extractGroups(catalog: GroupCatalog, document: JsonObject): JsonObject[] {
  const list = document[LIST_KEYS[catalog.directory]];
  const groups = Array.isArray(list) ? (list as unknown[]) : undefined;
  if (groups?.every((group): group is JsonObject => isObject(group) && hasGroupIdentity(group, catalog.directory))) return groups;
  const what = groups ? 'has a group without identity (sid, name or dn)' : `has no ${LIST_KEYS[catalog.directory]}`;
  throw new GatewayError(
    'BAD_RESPONSE',
    safeMessage`The catalog of ${catalog.server} ${trusted(what)}. Nothing was changed. Use Replace all groups to set the first list.`,
    { sent: true },
  );
}

/** Replaces the complete list. Errors: `BAD_INPUT` for an empty list, because `clear` exists for that. */
export async function replaceGroupCatalog(catalog: GroupCatalog, groups: JsonObject[], call: OperationContext): Promise<WriteResult> {
  if (groups.length === 0) throw badInput('groups is an empty array. To empty the catalog, use Remove ALL groups. Nothing was sent.');
  return runExclusively(catalog, call, () => putCatalog(catalog, groups, call));
}

export async function clearGroupCatalog(catalog: GroupCatalog, call: OperationContext): Promise<WriteResult> {
  return runExclusively(catalog, call, () => putCatalog(catalog, [], call));
}

/**
 * Adds or removes groups: reads, changes, writes the whole list and reads it back (appliance-api.md, "Group catalog rules" 2). Runs
 * one at a time per catalog, and sends no write without a change. Errors: `APPLIANCE_ERROR` with both lists in `cause` when the list
 * read back differs, for example after another write in between.
 */
export async function changeGroupCatalog(
  catalog: GroupCatalog,
  change: 'add' | 'remove',
  groups: JsonObject[],
  call: OperationContext,
): Promise<WriteResult> {
  return runExclusively(catalog, call, async () => {
    const present = await readGroupCatalog(catalog, call);
    const wanted = change === 'add' ? addGroups(present, groups, catalog) : removeGroups(present, groups, catalog);
    if (wanted.length === present.length) return call.reportUnchanged();
    const result = await putCatalog(catalog, wanted, call);
    call.reportDifference();
    if (!call.dryRun) await assertWritten(catalog, wanted, call);
    return result;
  });
}

/**
 * Makes the catalog have exactly the given groups, in any order. Fields of present groups that are not given stay. Errors: `BAD_INPUT`
 * for an empty list, and those of `ensureOneResource`.
 */
export async function ensureGroupCatalog(catalog: GroupCatalog, groups: JsonObject[], call: OperationContext): Promise<JsonObject[]> {
  if (groups.length === 0) throw badInput('groups is an empty array. To empty the catalog, use Remove ALL groups. Nothing was sent.');
  const key = LIST_KEYS[catalog.directory];
  const body = (document: JsonObject | undefined): JsonObject => {
    if (!document)
      throw new GatewayError(
        'NOT_FOUND',
        safeMessage`${catalog.server} has no catalog of this kind. Check server and directory. Nothing was changed.`,
      );
    const present = extractGroups(catalog, document);
    const known = new GroupIndex(present, catalog.directory);
    const wanted = groups.map((group) => ({ ...known.find(group), ...group }));
    const same = wanted.length === present.length && wanted.every((group) => isPresent(group, known));
    return { [key]: same ? present : wanted };
  };
  const document = await ensureOneResource({ path: catalogPath(catalog), body }, call);
  return call.dryRun ? [] : extractGroups(catalog, document);
}

function isPresent(group: JsonObject, known: GroupIndex): boolean {
  const present = known.find(group);
  return present !== undefined && compareWithDesired('', group, present).diff.length === 0;
}

/** Reads the input as groups. `identityOnly` skips the fields that only a write needs. Errors: `BAD_INPUT` naming the item. */
export function parseGroups(input: GroupCatalog & { groups: unknown }, identityOnly = false): JsonObject[] {
  const items: unknown[] = Array.isArray(input.groups) ? input.groups : [input.groups];
  const groups = items.map((item, index) => {
    const group = isObject(item) ? item : { [detectIdentityKey(String(item), input)]: item };
    const needed = input.directory === 'ldap' ? ['dn'] : identityOnly ? [] : ['name', 'group'];
    for (const key of needed) {
      if (typeof group[key] !== 'string' || group[key] === '')
        throw badInput(safeMessage`groups[${index}] has no ${trusted(key)}. Nothing was sent.`);
    }
    if (!hasGroupIdentity(group, input.directory))
      throw badInput(safeMessage`groups[${index}] has neither sid nor name. Nothing was sent.`);
    return group;
  });
  return uniqueGroups(groups, new GroupIndex([], input.directory));
}

/** Decides which identity of a group a plain text is. */
function detectIdentityKey(text: string, { directory }: GroupCatalog): 'sid' | 'name' | 'dn' {
  if (directory === 'ldap') return 'dn';
  return text.length <= MAX_SID_LENGTH && /^S-1-\d+(-\d+)+$/i.test(text) ? 'sid' : 'name';
}

function catalogPath({ server, directory }: GroupCatalog): string {
  return encodedPath`/api/v1/configuration/authentication/auth-servers/auth-server/${server}/${directory}/server-catalog/groups`;
}

function putCatalog(catalog: GroupCatalog, groups: JsonObject[], call: OperationContext): Promise<WriteResult> {
  return call.write({ method: 'PUT', path: catalogPath(catalog), body: { [LIST_KEYS[catalog.directory]]: groups } });
}

function addGroups(present: JsonObject[], groups: JsonObject[], catalog: GroupCatalog): JsonObject[] {
  const known = new GroupIndex(present, catalog.directory);
  return [...present, ...groups.filter((group) => !known.has(group))];
}

function removeGroups(present: JsonObject[], groups: JsonObject[], catalog: GroupCatalog): JsonObject[] {
  const removed = new GroupIndex(groups, catalog.directory);
  return present.filter((group) => !removed.has(group));
}

/** Removes duplicates and groups that the catalog already has. */
function uniqueGroups(groups: JsonObject[], known: GroupIndex): JsonObject[] {
  return groups.filter((group) => {
    if (known.has(group)) return false;
    known.add(group);
    return true;
  });
}

async function assertWritten(catalog: GroupCatalog, wanted: JsonObject[], call: OperationContext): Promise<void> {
  const found = await readBack(catalog, call);
  const present = new GroupIndex(found, catalog.directory);
  const same = found.length === wanted.length && wanted.every((group) => present.has(group));
  if (same) return;
  throw new GatewayError(
    'APPLIANCE_ERROR',
    safeMessage`The catalog of ${catalog.server} differs from what was written: another client changed it, or the appliance rejected a part. Compare wanted and found in cause.`,
    {
      extra: { changed: true, wanted, found },
    },
  );
}

async function readBack(catalog: GroupCatalog, call: OperationContext): Promise<JsonObject[]> {
  try {
    // The journal may have read it back already.
    const known = await call.cachedRead(catalogPath(catalog));
    return known ? extractGroups(catalog, known) : await readGroupCatalog(catalog, call);
  } catch (thrown) {
    const error = asGatewayError(thrown);
    throw new GatewayError(error.code, safeMessage`The list was written, but reading it back for the check failed: ${error}`, {
      ...error.details,
      extra: { changed: true },
    });
  }
}

/** Serializes read-modify-write cycles of one catalog. */
function runExclusively<T>(catalog: GroupCatalog, call: OperationContext, work: () => Promise<T>): Promise<T> {
  return call.runExclusive(catalogPath(catalog), work, { abortMessage: 'Canceled while it waited for another change of this catalog.' });
}
