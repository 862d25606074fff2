import { asGatewayError, GatewayError } from '../model/error';
import { inParallel } from '../model/in-parallel';
import { sentence } from '../model/sentence';
import type { ErrorCode } from '../model/error-codes';
import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { CONFIGURATION, encodeSegment } from '../model/path';
import type { Request } from '../model/request';
import { namesIn, usersIn, type Names } from './entries';
import { hrefOf, withParts } from './parts';
import { readIfThere } from './read';

/** Resources by path, as they stood at one moment; none where there was nothing. What is above another one comes before it. */
export type State = Readonly<Record<string, JsonObject>>;

/** What a write of the configuration tree is about. */
export interface Subject {
  /** Where to look before it, and after it. */
  readonly paths: readonly string[];
  /** All that is below goes or comes with it. */
  readonly deep: boolean;
  /** Where to look for a field whose resource was read: not every release shows a field by itself. */
  readonly owner?: string;
}

/** What a write is about, and what was there before it. */
export interface Found {
  readonly subject: Subject;
  readonly before: State;
}

/** Of more below one resource, nobody will undo that it went. */
const MOST = 10_000;
/** Keys that items of collections go by (appliance-api.md). */
const KEYS = ['name', 'username', 'address'];
/** Without these answers there can be no write either, or nobody wants it any more. */
const FATAL = new Set<ErrorCode>([
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
export function isTracked({ method, path }: Request): boolean {
  return method !== 'GET' && path.startsWith(`${CONFIGURATION}/`);
}

/**
 * What is there before a write, and where; `known`: what the run has just read will do. Undefined where it cannot be read: there is no undo
 * then. Errors: those without which there is no write.
 */
export async function stateBefore(request: Request, call: Call, known = false): Promise<Found | undefined> {
  try {
    return await look(request, call, known);
  } catch (thrown) {
    if (FATAL.has(asGatewayError(thrown).code)) throw thrown;
    return undefined;
  }
}

async function look(request: Request, call: Call, known: boolean): Promise<Found | undefined> {
  const path = request.path.replace(/\/$/, '');
  if (request.method === 'DELETE') return { subject: { paths: [path], deep: true }, before: await readDeep(path, call, known) };
  const body = request.body ?? {};
  // What a POST creates was not there: an appliance refuses it otherwise.
  if (request.method === 'POST') return { subject: { paths: itemPaths(path, body), deep: true }, before: {} };
  const owner = isField(path, body) ? path.slice(0, path.lastIndexOf('/')) : '';
  if (known && call.known(owner)) {
    const before = await fieldNow(path, owner, call, known);
    if (Object.keys(before).length > 0) return { subject: { paths: [path], deep: false, owner }, before };
  }
  const present = await readIfThere(path, call, known);
  if (!present) return isField(path, body) ? undefined : { subject: { paths: [path], deep: true }, before: {} };
  const [item] = isCollection(present, body) ? itemPaths(path, body) : [];
  if (item !== undefined) {
    const found = await readIfThere(item, call, known);
    return { subject: { paths: [item], deep: !found }, before: found ? { [item]: found } : {} };
  }
  const { parts } = await withParts(present, body, call, known);
  return { subject: { paths: [path, ...Object.keys(parts)], deep: false }, before: { [path]: present, ...parts } };
}

/** What stands there now. Of a POST, the first of the places at which something stands: that is what it created. */
export async function stateNow({ paths, deep, owner }: Subject, call: Call, known = false): Promise<State> {
  if (owner !== undefined) return fieldNow(paths[0] ?? '', owner, call, known);
  if (!deep) return readAll(paths, call, known);
  for (const path of paths) {
    const found = await readDeep(path, call, known);
    if (Object.keys(found).length > 0) return found;
  }
  return {};
}

/** All at once, on all connections. */
async function readAll(paths: readonly string[], call: Call, known = false): Promise<State> {
  const resources = await inParallel(paths, call.settings.connections, (path) => readIfThere(path, call, known));
  const there = paths.map((path, index) => [path, resources[index]] as const);
  return Object.fromEntries(there.filter((one): one is readonly [string, JsonObject] => one[1] !== undefined));
}

/** A resource and all below it that it links to, level by level. Errors: `LIMIT` for more than anybody would put back. */
async function readDeep(root: string, call: Call, known: boolean): Promise<State> {
  const found: Record<string, JsonObject> = {};
  const seen = new Set([root]);
  for (let level: readonly string[] = [root]; level.length > 0;) {
    const state = await readAll(level, call, known);
    Object.assign(found, state);
    const links = await inParallel(Object.entries(state), call.settings.connections, ([path, resource]) => linksIn(path, resource, call));
    level = [...new Set(links.flat())].filter((link) => link.startsWith(`${root}/`) && !seen.has(link));
    for (const link of level) seen.add(link);
    if (seen.size > MOST) throw new GatewayError('LIMIT', sentence`There are more than ${MOST} resources below ${root}.`);
  }
  return found;
}

async function linksIn(path: string, resource: JsonObject, call: Call): Promise<string[]> {
  const items: unknown[] = Object.values(resource).flat();
  const links = items.flatMap((item) => hrefOf(item) ?? []);
  for (const { places } of entriesIn(path, resource)) if (await isThere(places[0] ?? '', call)) links.push(...places);
  return links;
}

/** Lists that may be collections, though nothing in them is a link. */
export function entriesIn(path: string, resource: JsonObject): Names[] {
  return [...namesIn(path, resource), ...usersIn(path, resource)];
}

async function isThere(path: string, call: Call): Promise<boolean> {
  try {
    return (await readIfThere(path, call)) !== undefined;
  } catch (thrown) {
    const { code } = asGatewayError(thrown);
    if (code === 'INVALID_REQUEST' || code === 'REJECTED') return false;
    throw thrown;
  }
}

/** Where an item of a collection would stand, by what its body has as a key. */
export function itemPaths(collection: string, body: JsonObject): string[] {
  const names = KEYS.map((key) => body[key]).filter((name): name is string => typeof name === 'string' && name !== '');
  return names.map((name) => `${collection}/${encodeSegment(name)}`);
}

function isCollection(present: JsonObject, body: JsonObject): boolean {
  const [key, second] = Object.keys(present);
  return key !== undefined && second === undefined && Array.isArray(present[key]) && !Object.hasOwn(body, key);
}

/** A field by itself, from the resource that it is one of; nothing where it is none, but the link to a resource of its own. */
async function fieldNow(path: string, owner: string, call: Call, known: boolean): Promise<State> {
  const resource = await readIfThere(owner, call, known);
  const [key, value] = Object.entries(resource ?? {}).find(([name]) => path === `${owner}/${encodeSegment(name)}`) ?? [];
  return key === undefined || typeof value === 'object' ? {} : { [path]: { [key]: value } };
}

/** Whether the path is that of one field, which an appliance takes as `{ field: value }`. */
function isField(path: string, body: JsonObject): boolean {
  const [key, second] = Object.keys(body);
  return key !== undefined && second === undefined && path.endsWith(`/${encodeSegment(key)}`);
}
