import { asGatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { isObject, type JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { CONFIGURATION, encodeSegment } from '../model/path';
import type { Request } from '../model/request';
import { isHyperlink } from './compare';
import { readIfThere } from './read';

/** Resources by path, as they stood at one moment; none where there was nothing. What is above another one comes before it. */
export type State = Readonly<Record<string, JsonObject>>;

/** What a write of the configuration tree is about. */
export interface Subject {
  /** Where to look before it, and after it. */
  readonly paths: readonly string[];
  /** All that is below goes or comes with it. */
  readonly deep: boolean;
}

/** What a write is about, and what was there before it. */
export interface Found {
  readonly subject: Subject;
  readonly before: State;
}

/** No appliance has more below one resource that a flow would delete; what is beyond is not read. */
const MOST = 1000;
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

/** What is there before a write, and where. Undefined where it cannot be read: there is no undo then. Errors: those without which there is no write. */
export async function stateBefore(request: Request, call: Call): Promise<Found | undefined> {
  try {
    return await look(request, call);
  } catch (thrown) {
    if (FATAL.has(asGatewayError(thrown).code)) throw thrown;
    return undefined;
  }
}

async function look(request: Request, call: Call): Promise<Found | undefined> {
  const path = request.path.replace(/\/$/, '');
  if (request.method === 'DELETE') return { subject: { paths: [path], deep: true }, before: await readDeep(path, call) };
  const body = request.body ?? {};
  // What a POST creates was not there: an appliance refuses it otherwise.
  if (request.method === 'POST') return { subject: { paths: itemPaths(path, body), deep: true }, before: {} };
  const present = await readIfThere(path, call);
  if (!present) return isField(path, body) ? undefined : { subject: { paths: [path], deep: true }, before: {} };
  const [item] = isCollection(present, body) ? itemPaths(path, body) : [];
  if (item !== undefined) {
    const found = await readIfThere(item, call);
    return { subject: { paths: [item], deep: !found }, before: found ? { [item]: found } : {} };
  }
  // A part of it that has a path of its own, and is written with it.
  const parts = Object.keys(body).flatMap((key) =>
    isHyperlink(present[key]) && !isHyperlink(body[key]) ? [hrefOf(present[key], path)] : [],
  );
  const paths = [path, ...parts.filter((part) => part !== undefined)];
  return { subject: { paths, deep: false }, before: { [path]: present, ...(await readAll(paths.slice(1), call)) } };
}

/** What stands there now. Of a POST, the first of the places at which something stands: that is what it created. */
export async function stateNow({ paths, deep }: Subject, call: Call): Promise<State> {
  if (!deep) return readAll(paths, call);
  for (const path of paths) {
    const found = await readDeep(path, call);
    if (Object.keys(found).length > 0) return found;
  }
  return {};
}

async function readAll(paths: readonly string[], call: Call): Promise<State> {
  const found: Record<string, JsonObject> = {};
  for (const path of paths) {
    const resource = await readIfThere(path, call);
    if (resource) found[path] = resource;
  }
  return found;
}

/** A resource and all below it that it links to. */
export async function readDeep(root: string, call: Call): Promise<State> {
  const found: Record<string, JsonObject> = {};
  const seen = new Set([root]);
  // It grows while it is walked through.
  for (const path of seen) {
    const resource = await readIfThere(path, call);
    if (!resource) continue;
    found[path] = resource;
    for (const link of linksIn(resource, path)) if (link.startsWith(`${root}/`) && seen.size < MOST) seen.add(link);
  }
  return found;
}

function linksIn(resource: JsonObject, path: string): string[] {
  return Object.entries(resource).flatMap(([key, value]) => {
    if (Array.isArray(value)) return value.flatMap((item) => hrefOf(item, path, key) ?? []);
    return hrefOf(value, path) ?? [];
  });
}

/** Where a hyperlink leads, below the address of the interface. An href may carry the path of the base URL. */
function hrefOf(value: unknown, path: string, collection?: string): string | undefined {
  if (!isObject(value)) return undefined;
  const { href } = value;
  if (typeof href === 'string') {
    const start = href.indexOf(`${CONFIGURATION}/`);
    return start < 0 ? undefined : href.slice(start).replace(/\/$/, '');
  }
  // Some releases give names alone.
  const name = Object.keys(value).length === 1 && KEYS.map((key) => value[key]).find((one) => typeof one === 'string' && one !== '');
  return collection !== undefined && typeof name === 'string' ? `${path}/${encodeSegment(collection)}/${encodeSegment(name)}` : undefined;
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

/** Whether the path is that of one field, which an appliance takes as `{ field: value }`. */
function isField(path: string, body: JsonObject): boolean {
  const [key, second] = Object.keys(body);
  return key !== undefined && second === undefined && path.endsWith(`/${encodeSegment(key)}`);
}
