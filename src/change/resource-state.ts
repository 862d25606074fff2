import { asGatewayError, GatewayError } from '../model/error';
import { mapConcurrently } from '../model/map-concurrently';
import { safeMessage } from '../model/safe-message';
import type { ErrorCode } from '../model/error-codes';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT, encodeSegment } from '../model/path';
import type { Request } from '../model/request';
import { findNameLists, findUserLists, type NameList } from './name-lists';
import { readLinkPath, expandLinkedParts } from './linked-parts';
import { readIfExists } from './read-if-exists';

/** Resources by path, as they stood at one moment; none where there was nothing. What is above another one comes before it. */
export type ResourceState = Readonly<Record<string, JsonObject>>;

/** What a write of the configuration tree is about. */
export interface WriteSubject {
  /** Where to look before it, and after it. */
  readonly paths: readonly string[];
  /** All that is below goes or comes with it. */
  readonly deep: boolean;
  /** Where to look for a field whose resource was read: not every release shows a field by itself. */
  readonly owner?: string;
}

/** What a write is about, and what was there before it. */
export interface WriteBaseline {
  readonly subject: WriteSubject;
  readonly before: ResourceState;
}

/** Of more below one resource, nobody will undo that it went. */
const MAX_RESOURCES = 10_000;
/** Keys that items of collections go by (appliance-api.md). */
const ITEM_KEYS = ['name', 'username', 'address'];
/** Without these answers there can be no write either, or nobody wants it any more. */
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

/** Whether a write is one of the configuration tree, which alone can be read before and put back. */
export function isConfigurationWrite({ method, path }: Request): boolean {
  return method !== 'GET' && path.startsWith(`${CONFIGURATION_ROOT}/`);
}

/**
 * What is there before a write, and where; `known`: what the run has just read will do. Undefined where it cannot be read: there is no undo
 * then. Errors: those without which there is no write.
 */
export async function readStateBefore(request: Request, call: OperationContext, allowCached = false): Promise<WriteBaseline | undefined> {
  try {
    return await readBaseline(request, call, allowCached);
  } catch (thrown) {
    if (FATAL_CODES.has(asGatewayError(thrown).code)) throw thrown;
    return undefined;
  }
}

async function readBaseline(request: Request, call: OperationContext, allowCached: boolean): Promise<WriteBaseline | undefined> {
  const path = request.path.replace(/\/$/, '');
  if (request.method === 'DELETE') return { subject: { paths: [path], deep: true }, before: await readDeep(path, call, allowCached) };
  const body = request.body ?? {};
  // What a POST creates was not there: an appliance refuses it otherwise.
  if (request.method === 'POST') return { subject: { paths: toItemPaths(path, body), deep: true }, before: {} };
  const owner = isField(path, body) ? path.slice(0, path.lastIndexOf('/')) : '';
  if (allowCached && call.cachedRead(owner)) {
    const before = await readField(path, owner, call, allowCached);
    if (Object.keys(before).length > 0) return { subject: { paths: [path], deep: false, owner }, before };
  }
  const current = await readIfExists(path, call, allowCached);
  if (!current) return isField(path, body) ? undefined : { subject: { paths: [path], deep: true }, before: {} };
  const [item] = isCollection(current, body) ? toItemPaths(path, body) : [];
  if (item !== undefined) {
    const found = await readIfExists(item, call, allowCached);
    return { subject: { paths: [item], deep: !found }, before: found ? { [item]: found } : {} };
  }
  const { parts } = await expandLinkedParts(current, body, call, allowCached);
  return { subject: { paths: [path, ...Object.keys(parts)], deep: false }, before: { [path]: current, ...parts } };
}

/** What stands there now. Of a POST, the first of the places at which something stands: that is what it created. */
export async function readCurrentState(
  { paths, deep, owner }: WriteSubject,
  call: OperationContext,
  allowCached = false,
): Promise<ResourceState> {
  if (owner !== undefined) return readField(paths[0] ?? '', owner, call, allowCached);
  if (!deep) return readAll(paths, call, allowCached);
  for (const path of paths) {
    const found = await readDeep(path, call, allowCached);
    if (Object.keys(found).length > 0) return found;
  }
  return {};
}

/** All at once, on all connections. */
async function readAll(paths: readonly string[], call: OperationContext, allowCached = false): Promise<ResourceState> {
  const resources = await mapConcurrently(paths, call.settings.connections, (path) => readIfExists(path, call, allowCached));
  const entries = paths.map((path, index) => [path, resources[index]] as const);
  return Object.fromEntries(entries.filter((entry): entry is readonly [string, JsonObject] => entry[1] !== undefined));
}

/** A resource and all below it that it links to, level by level. Errors: `LIMIT` for more than anybody would put back. */
async function readDeep(root: string, call: OperationContext, allowCached: boolean): Promise<ResourceState> {
  const found: Record<string, JsonObject> = {};
  const seen = new Set([root]);
  for (let level: readonly string[] = [root]; level.length > 0;) {
    const state = await readAll(level, call, allowCached);
    Object.assign(found, state);
    const links = await mapConcurrently(Object.entries(state), call.settings.connections, ([path, resource]) =>
      findLinkedPaths(path, resource, call),
    );
    level = [...new Set(links.flat())].filter((link) => link.startsWith(`${root}/`) && !seen.has(link));
    for (const link of level) seen.add(link);
    if (seen.size > MAX_RESOURCES)
      throw new GatewayError('LIMIT', safeMessage`There are more than ${MAX_RESOURCES} resources below ${root}.`);
  }
  return found;
}

async function findLinkedPaths(path: string, resource: JsonObject, call: OperationContext): Promise<string[]> {
  const items: unknown[] = Object.values(resource).flat();
  const links = items.flatMap((item) => readLinkPath(item) ?? []);
  for (const { paths } of findEntryLists(path, resource)) if (await exists(paths[0] ?? '', call)) links.push(...paths);
  return links;
}

/** Lists that may be collections, though nothing in them is a link. */
export function findEntryLists(path: string, resource: JsonObject): NameList[] {
  return [...findNameLists(path, resource), ...findUserLists(path, resource)];
}

async function exists(path: string, call: OperationContext): Promise<boolean> {
  try {
    return (await readIfExists(path, call)) !== undefined;
  } catch (thrown) {
    const { code } = asGatewayError(thrown);
    if (code === 'INVALID_REQUEST' || code === 'REJECTED') return false;
    throw thrown;
  }
}

/** Where an item of a collection would stand, by what its body has as a key. */
export function toItemPaths(collection: string, body: JsonObject): string[] {
  const names = ITEM_KEYS.map((key) => body[key]).filter((name): name is string => typeof name === 'string' && name !== '');
  return names.map((name) => `${collection}/${encodeSegment(name)}`);
}

function isCollection(current: JsonObject, body: JsonObject): boolean {
  const [key, second] = Object.keys(current);
  return key !== undefined && second === undefined && Array.isArray(current[key]) && !Object.hasOwn(body, key);
}

/** A field by itself, from the resource that it is one of; nothing where it is none, but the link to a resource of its own. */
async function readField(path: string, owner: string, call: OperationContext, allowCached: boolean): Promise<ResourceState> {
  const resource = await readIfExists(owner, call, allowCached);
  const [key, value] = Object.entries(resource ?? {}).find(([name]) => path === `${owner}/${encodeSegment(name)}`) ?? [];
  return key === undefined || typeof value === 'object' ? {} : { [path]: { [key]: value } };
}

/** Whether the path is that of one field, which an appliance takes as `{ field: value }`. */
function isField(path: string, body: JsonObject): boolean {
  const [key, second] = Object.keys(body);
  return key !== undefined && second === undefined && path.endsWith(`/${encodeSegment(key)}`);
}
