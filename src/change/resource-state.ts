import { asGatewayError, GatewayError } from '../model/error';
import { mapConcurrently } from '../model/map-concurrently';
import { safeMessage } from '../model/safe-message';
import type { ErrorCode } from '../model/error-codes';
import { isObject, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT, encodePathSegment } from '../model/path';
import type { Request } from '../model/request';
import { compareWithDesired } from './compare';
import { findNameLists, findUserLists, type NameList } from './name-lists';
import { expandLinkedParts } from './linked-parts';
import { readIfExists } from './if-exists';
import { readLinkPath } from './hyperlinks';

/** Resources by path at one moment. Missing resources are not included. A parent comes before its children. */
export type ResourceState = Readonly<Record<string, JsonObject>>;

/** The resources that a configuration write affects. */
export interface WriteTarget {
  /** Paths that are read before and after the write. */
  readonly paths: readonly string[];
  /** Whether everything below the paths is affected too. */
  readonly deep: boolean;
  /** The resource that contains a written field, because some releases do not return a field alone. */
  readonly owner?: string;
}

/** The affected resources and their state before the write. */
export interface StateBeforeWrite {
  readonly subject: WriteTarget;
  readonly before: ResourceState;
  /** For a POST: the items of the collection; undefined if they could not be read. */
  readonly collection?: CollectionItems | undefined;
}

/** Canonical paths of the items of a collection. */
interface CollectionItems {
  readonly path: string;
  readonly items: ReadonlySet<string>;
}

/** The state after a write. `subject` names the created resource if the appliance stored it under another name. */
export interface StateAfterWrite {
  readonly subject: WriteTarget;
  readonly after: ResourceState;
}

/** Maximum number of deleted resources that an undo can restore. */
const MAX_RESOURCES = 10_000;
/** Keys by which collections identify their items (appliance-api.md). */
export const ITEM_NAME_KEYS = ['name', 'username', 'address'];
/** Error codes after which the write cannot succeed or is no longer wanted. */
const FATAL_CODES = new Set<ErrorCode>([
  'LOGIN_REJECTED',
  'LOGIN_PAUSED',
  'SECOND_FACTOR_REQUIRED',
  'UNAUTHORIZED',
  'TLS',
  'CONNECTION',
  'TIMEOUT',
  'ABORTED',
  'BAD_CONFIG',
]);

/** Returns whether the request writes to the configuration tree. Only such a write can be undone. */
export function isConfigurationWrite({ method, path }: Request): boolean {
  return method !== 'GET' && path.startsWith(`${CONFIGURATION_ROOT}/`);
}

/**
 * Reads the state before a write. Returns undefined if it cannot be read: then the write has no undo. Throws the errors after which a write
 * cannot succeed. `allowCached` accepts reads of the same run.
 */
export async function readStateBefore(
  request: Request,
  call: OperationContext,
  allowCached = false,
): Promise<StateBeforeWrite | undefined> {
  try {
    return await readBaseline(request, call, allowCached);
  } catch (thrown) {
    if (FATAL_CODES.has(asGatewayError(thrown).code)) throw thrown;
    return undefined;
  }
}

async function readBaseline(request: Request, call: OperationContext, allowCached: boolean): Promise<StateBeforeWrite | undefined> {
  const path = request.path.replace(/\/$/, '');
  if (request.method === 'DELETE') return { subject: { paths: [path], deep: true }, before: await readDeep(path, call, allowCached) };
  const body = request.body ?? {};
  // A POST creates something that did not exist: otherwise the appliance refuses it.
  if (request.method === 'POST')
    return {
      subject: { paths: toItemPaths(path, body), deep: true },
      before: {},
      collection: await readCollection(path, call, allowCached),
    };
  const owner = isField(path, body) ? path.slice(0, path.lastIndexOf('/')) : '';
  if (allowCached && call.cachedRead(owner)) {
    const before = await readField(path, owner, call, allowCached);
    if (Object.keys(before).length > 0) return { subject: { paths: [path], deep: false, owner }, before };
  }
  const current = await readIfExists(path, call, allowCached);
  if (!current) return isField(path, body) ? undefined : { subject: { paths: [path], deep: true }, before: {} };
  const [item] = isCollection(current, body) ? toItemPaths(path, body) : [];
  if (item !== undefined) {
    const existing = await readIfExists(item, call, allowCached);
    return { subject: { paths: [item], deep: !existing }, before: existing ? { [item]: existing } : {} };
  }
  const { parts } = await expandLinkedParts(current, body, call, allowCached);
  return { subject: { paths: [path, ...Object.keys(parts)], deep: false }, before: { [path]: current, ...parts } };
}

/** Reads the current state. For a creation, the first path that exists is the created resource. */
export async function readCurrentState(
  { paths, deep, owner }: WriteTarget,
  call: OperationContext,
  allowCached = false,
): Promise<ResourceState> {
  if (owner !== undefined) return readField(paths[0] ?? '', owner, call, allowCached);
  if (!deep) return readAll(paths, call, allowCached);
  for (const path of paths) {
    const state = await readDeep(path, call, allowCached);
    if (Object.keys(state).length > 0) return state;
  }
  return {};
}

/**
 * Reads the state after a write. A creation that is not found under its name is found by comparing the collection with the earlier one.
 * Returns undefined if it is ambiguous which item was created.
 */
export async function readStateAfter(
  { subject, collection }: StateBeforeWrite,
  body: JsonObject,
  call: OperationContext,
): Promise<StateAfterWrite | undefined> {
  const after = await readCurrentState(subject, call);
  if (!collection || Object.keys(after).length > 0) return { subject, after };
  const added = await findAddedItems(collection, call);
  const [single, second] = added.length > 1 ? await filterMatching(added, body, call) : added;
  if (single === undefined) return added.length > 0 ? undefined : { subject, after };
  return second === undefined ? { subject: { paths: [single], deep: true }, after: await readDeep(single, call, true) } : undefined;
}

/** Returns the paths that a POST created: the one with the given name, or else all new items of the collection. */
export async function findCreatedPaths({ subject, collection }: StateBeforeWrite, call: OperationContext): Promise<readonly string[]> {
  for (const path of subject.paths)
    if (!collection?.items.has(canonicalPath(path)) && (await readIfExists(path, call)) !== undefined) return [path];
  return collection ? findAddedItems(collection, call) : [];
}

async function findAddedItems({ path, items }: CollectionItems, call: OperationContext): Promise<string[]> {
  const document = await readIfExists(path, call);
  return document ? listItemPaths(path, document).filter((item) => !items.has(item)) : [];
}

async function filterMatching(paths: readonly string[], body: JsonObject, call: OperationContext): Promise<string[]> {
  const matching: string[] = [];
  for (const path of paths) {
    const item = await readIfExists(path, call);
    if (item && compareWithDesired(path, body, item).diff.length === 0) matching.push(path);
  }
  return matching;
}

/** Reads the items of a collection; undefined if it cannot be read. */
async function readCollection(path: string, call: OperationContext, allowCached: boolean): Promise<CollectionItems | undefined> {
  try {
    const document = await readIfExists(path, call, allowCached);
    return { path, items: new Set(document ? listItemPaths(path, document) : []) };
  } catch (thrown) {
    if (FATAL_CODES.has(asGatewayError(thrown).code)) throw thrown;
    return undefined;
  }
}

/** Lists the canonical paths of the items that a collection links or names. */
function listItemPaths(path: string, document: JsonObject): string[] {
  return Object.values(document).flatMap((value) => {
    if (!Array.isArray(value)) return [];
    return value.flatMap((item: unknown) => {
      const link = readLinkPath(item) ?? (typeof item === 'string' ? `${path}/${encodePathSegment(item)}` : undefined);
      const [itemPath] = link === undefined && isObject(item) ? toItemPaths(path, item) : [link];
      return itemPath?.startsWith(`${path}/`) ? [canonicalPath(itemPath)] : [];
    });
  });
}

/** Encodes each segment in one way, so that paths from links and from names can be compared. */
function canonicalPath(path: string): string {
  try {
    return path
      .split('/')
      .map((segment) => encodePathSegment(decodeURIComponent(segment)))
      .join('/');
  } catch {
    return path;
  }
}

/** Reads the resources at all paths in parallel. */
async function readAll(paths: readonly string[], call: OperationContext, allowCached = false): Promise<ResourceState> {
  const resources = await mapConcurrently(paths, call.settings.connections, (path) => readIfExists(path, call, allowCached));
  const entries = paths.map((path, index) => [path, resources[index]] as const);
  return Object.fromEntries(entries.filter((entry): entry is readonly [string, JsonObject] => entry[1] !== undefined));
}

/** Reads a resource and, level by level, everything below it that it links to. Throws `LIMIT` for more than 10,000 resources. */
async function readDeep(root: string, call: OperationContext, allowCached: boolean): Promise<ResourceState> {
  const resources: Record<string, JsonObject> = {};
  const seen = new Set([root]);
  for (let level: readonly string[] = [root]; level.length > 0;) {
    const state = await readAll(level, call, allowCached);
    Object.assign(resources, state);
    const links = await mapConcurrently(Object.entries(state), call.settings.connections, ([path, resource]) =>
      findLinkedPaths(path, resource, call),
    );
    level = [...new Set(links.flat())].filter((link) => link.startsWith(`${root}/`) && !seen.has(link));
    for (const link of level) seen.add(link);
    if (seen.size > MAX_RESOURCES)
      throw new GatewayError('LIMIT', safeMessage`There are more than ${MAX_RESOURCES} resources below ${root}.`);
  }
  return resources;
}

/** Lists the paths that a resource links or names. */
export async function findLinkedPaths(path: string, resource: JsonObject, call: OperationContext): Promise<string[]> {
  const items: unknown[] = Object.values(resource).flat();
  const links = items.flatMap((item) => readLinkPath(item) ?? []);
  for (const { paths } of findEntryLists(path, resource)) if (await resourceExists(paths[0] ?? '', call)) links.push(...paths);
  return links;
}

/** Finds lists that contain no links but may still be collections. */
export function findEntryLists(path: string, resource: JsonObject): NameList[] {
  return [...findNameLists(path, resource), ...findUserLists(path, resource)];
}

/** Returns whether a path leads to a resource. A refused request means that it does not. */
export async function resourceExists(path: string, call: OperationContext): Promise<boolean> {
  try {
    return (await readIfExists(path, call)) !== undefined;
  } catch (thrown) {
    const { code } = asGatewayError(thrown);
    if (code === 'INVALID_REQUEST' || code === 'REJECTED') return false;
    throw thrown;
  }
}

/** Returns the possible paths of a collection's item, by the keys in its body. */
export function toItemPaths(collection: string, body: JsonObject): string[] {
  const names = ITEM_NAME_KEYS.map((key) => body[key]).filter((name): name is string => typeof name === 'string' && name !== '');
  return names.map((name) => `${collection}/${encodePathSegment(name)}`);
}

function isCollection(current: JsonObject, body: JsonObject): boolean {
  const [key, second] = Object.keys(current);
  return key !== undefined && second === undefined && Array.isArray(current[key]) && !Object.hasOwn(body, key);
}

/** Reads one field from the resource that contains it. Returns nothing if the field is a link to a separate resource. */
async function readField(path: string, owner: string, call: OperationContext, allowCached: boolean): Promise<ResourceState> {
  const resource = await readIfExists(owner, call, allowCached);
  const [key, value] = Object.entries(resource ?? {}).find(([name]) => path === `${owner}/${encodePathSegment(name)}`) ?? [];
  return key === undefined || typeof value === 'object' ? {} : { [path]: { [key]: value } };
}

/** Returns whether the path is that of a single field, which an appliance takes as `{ field: value }`. */
function isField(path: string, body: JsonObject): boolean {
  const [key, second] = Object.keys(body);
  return key !== undefined && second === undefined && path.endsWith(`/${encodePathSegment(key)}`);
}
