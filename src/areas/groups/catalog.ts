import { compareGiven } from '../../change/compare';
import { ensureOne } from '../../change/ensure';
import type { WriteResult } from '../../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../../model/error';
import type { Call } from '../../model/operation';
import { at } from '../../model/path';
import { isObject, type JsonObject } from '../../model/json';
import { hasIdentity, Identities, type Directory } from './identities';
import { ours, sentence } from '../../model/sentence';

/** One group catalogue: of which server, and of which kind. */
export interface Catalog {
  readonly server: string;
  readonly directory: Directory;
}

const LISTS = { ad: 'ad-group', ldap: 'user-group' } as const;
/** Real ones have at most 15 numbers. */
const LONGEST_SID = 200;

/** All groups. Errors: `BAD_RESPONSE` when the answer has no list of groups with identities. */
export async function readCatalog(catalog: Catalog, call: Call): Promise<JsonObject[]> {
  return listOf(catalog, await call.read({ method: 'GET', path: pathOf(catalog) }));
}

function listOf(catalog: Catalog, document: JsonObject): JsonObject[] {
  const list = document[LISTS[catalog.directory]];
  const groups = Array.isArray(list) ? (list as unknown[]) : undefined;
  if (groups?.every((group): group is JsonObject => isObject(group) && hasIdentity(group, catalog.directory))) return groups;
  const what = groups ? 'has a group without identity' : `has no ${LISTS[catalog.directory]}`;
  throw new GatewayError(
    'BAD_RESPONSE',
    sentence`The catalogue of ${catalog.server} ${ours(what)}. Nothing was changed; Replace all groups sets the first list.`,
    { sent: true },
  );
}

/** Makes the groups the whole list. Errors: `BAD_INPUT` for an empty one, which is what clear is for. */
export async function replaceCatalog(catalog: Catalog, groups: JsonObject[], call: Call): Promise<WriteResult> {
  if (groups.length === 0) throw badInput('groups is an empty array. To empty the catalogue, use Remove ALL groups.');
  return alone(catalog, call, () => put(catalog, groups, call));
}

export async function clearCatalog(catalog: Catalog, call: Call): Promise<WriteResult> {
  return alone(catalog, call, () => put(catalog, [], call));
}

/**
 * Adds or removes groups: read, change, write the whole list, read back (appliance-api.md, "Group catalog rules" 2). One at a time
 * per catalogue; sends nothing when nothing changes. Errors: `APPLIANCE_ERROR` with both lists in `cause` when the
 * list is another one afterwards, because somebody else wrote it meanwhile.
 */
export async function changeCatalog(catalog: Catalog, change: 'add' | 'remove', groups: JsonObject[], call: Call): Promise<WriteResult> {
  return alone(catalog, call, async () => {
    const present = await readCatalog(catalog, call);
    const wanted = change === 'add' ? added(present, groups, catalog) : without(present, groups, catalog);
    if (wanted.length === present.length) return call.unchanged();
    const result = await put(catalog, wanted, call);
    if (!call.dryRun) await compare(catalog, wanted, call);
    return result;
  });
}

/**
 * Makes the groups the whole list, whatever their order, and writes only if that is not so; of a group that is there, what is not given
 * stays. Errors: `BAD_INPUT` for an empty list; those of `ensure`.
 */
export async function ensureCatalog(catalog: Catalog, groups: JsonObject[], call: Call): Promise<JsonObject[]> {
  if (groups.length === 0) throw badInput('groups is an empty array. To empty the catalogue, use Remove ALL groups.');
  const key = LISTS[catalog.directory];
  const body = (document: JsonObject | undefined): JsonObject => {
    if (!document)
      throw new GatewayError('NOT_FOUND', sentence`${catalog.server} has no catalogue of this kind. Check server and directory.`);
    const present = listOf(catalog, document);
    const known = new Identities(present, catalog.directory);
    const wanted = groups.map((group) => ({ ...known.find(group), ...group }));
    const same = wanted.length === present.length && wanted.every((group) => isThere(group, known));
    return { [key]: same ? present : wanted };
  };
  const document = await ensureOne({ path: pathOf(catalog), body }, call);
  return call.dryRun ? [] : listOf(catalog, document);
}

function isThere(group: JsonObject, known: Identities): boolean {
  const present = known.find(group);
  return present !== undefined && compareGiven('', group, present).diff.length === 0;
}

/** The input as groups with identity. `remove` needs no more than that; the others need what the interface wants. */
export function groupsOf(input: Catalog & { groups: unknown }, identityOnly = false): JsonObject[] {
  const items: unknown[] = Array.isArray(input.groups) ? input.groups : [input.groups];
  const groups = items.map((item, index) => {
    const group = isObject(item) ? item : { [identityIn(String(item), input)]: item };
    const needed = input.directory === 'ldap' ? ['dn'] : identityOnly ? [] : ['name', 'group'];
    for (const key of needed) {
      if (typeof group[key] !== 'string' || group[key] === '')
        throw badInput(sentence`groups[${index}] has no ${ours(key)}. Nothing was sent.`);
    }
    if (!hasIdentity(group, input.directory)) throw badInput(sentence`groups[${index}] has neither sid nor name. Nothing was sent.`);
    return group;
  });
  return distinct(groups, new Identities([], input.directory));
}

/** What a text alone is of a group. */
function identityIn(text: string, { directory }: Catalog): 'sid' | 'name' | 'dn' {
  if (directory === 'ldap') return 'dn';
  return text.length <= LONGEST_SID && /^S-1-\d+(-\d+)+$/i.test(text) ? 'sid' : 'name';
}

function pathOf({ server, directory }: Catalog): string {
  return at`/api/v1/configuration/authentication/auth-servers/auth-server/${server}/${directory}/server-catalog/groups`;
}

function put(catalog: Catalog, groups: JsonObject[], call: Call): Promise<WriteResult> {
  return call.write({ method: 'PUT', path: pathOf(catalog), body: { [LISTS[catalog.directory]]: groups } });
}

function added(present: JsonObject[], groups: JsonObject[], catalog: Catalog): JsonObject[] {
  const known = new Identities(present, catalog.directory);
  return [...present, ...groups.filter((group) => !known.has(group))];
}

function without(present: JsonObject[], groups: JsonObject[], catalog: Catalog): JsonObject[] {
  const gone = new Identities(groups, catalog.directory);
  return present.filter((group) => !gone.has(group));
}

/** Each once, and none that is known already. */
function distinct(groups: JsonObject[], known: Identities): JsonObject[] {
  return groups.filter((group) => {
    if (known.has(group)) return false;
    known.add(group);
    return true;
  });
}

async function compare(catalog: Catalog, wanted: JsonObject[], call: Call): Promise<void> {
  const found = await readBack(catalog, call);
  const present = new Identities(found, catalog.directory);
  const same = found.length === wanted.length && wanted.every((group) => present.has(group));
  if (same) return;
  throw new GatewayError(
    'APPLIANCE_ERROR',
    sentence`The catalogue of ${catalog.server} is not what was written: somebody else changed it meanwhile, or the appliance refused a part. Both lists are in cause.`,
    {
      extra: { changed: true, wanted, found },
    },
  );
}

async function readBack(catalog: Catalog, call: Call): Promise<JsonObject[]> {
  try {
    // A journal has read it back already.
    const known = await call.known(pathOf(catalog));
    return known ? listOf(catalog, known) : await readCatalog(catalog, call);
  } catch (thrown) {
    const error = asGatewayError(thrown);
    throw new GatewayError(error.code, sentence`The list was written, but could not be read back to check it: ${error}`, {
      ...error.details,
      extra: { changed: true },
    });
  }
}

/** Read-modify-write of one catalogue is one at a time. */
function alone<T>(catalog: Catalog, call: Call, work: () => Promise<T>): Promise<T> {
  return call.exclusive(pathOf(catalog), work, { cancelled: 'Cancelled while it waited for another change of this catalogue.' });
}
