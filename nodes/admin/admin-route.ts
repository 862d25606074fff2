import type { NodeAPI } from 'node-red';
import { isObject, type JsonObject } from '../../src/model/json';

type ExpressHandler = Parameters<NodeAPI['httpAdmin']['post']>[1];
type Request = Parameters<ExpressHandler>[0];
type Response = Parameters<ExpressHandler>[1];

/** Does the work of a route; what it gives is the answer. The signal fires when nobody waits for that any more. */
export type AdminRouteHandler = (body: Readonly<JsonObject>, signal: AbortSignal) => Promise<object>;

/** Each may hold a connection to an appliance for half a minute. */
const DEFAULT_ROUTE_CONCURRENCY = 2;

/** How many of the requests to one route are under way. */
interface RouteLoad {
  running: number;
  readonly concurrency: number;
}

/**
 * A route of the editor that touches an appliance: only for who may change appliance nodes, only from Node-RED's own pages, and only so
 * many at once. A page of another origin must not be able to use the browser of somebody who may: without `adminAuth` that is everybody.
 */
export function registerAdminRoute(red: NodeAPI, path: string, handle: AdminRouteHandler, concurrency = DEFAULT_ROUTE_CONCURRENCY): void {
  const load: RouteLoad = { running: 0, concurrency };
  red.httpAdmin.post(path, red.auth.needsPermission('gateway-appliance.write'), (request, response) => {
    const refusal = findRefusal(request, load);
    if (refusal) sendRefusal(response, ...refusal);
    else void handleRequest(request.body as JsonObject, response, handle, load);
  });
}

/** A route that tells without touching an appliance: for who may see appliance nodes, and for Node-RED's own pages and programs only. */
export function registerAdminReadRoute(red: NodeAPI, path: string, getBody: () => object): void {
  red.httpAdmin.get(path, red.auth.needsPermission('gateway-appliance.read'), (request, response) => {
    if (isSameOrigin(request)) response.set('Cache-Control', 'no-store').json(getBody());
    else sendRefusal(response, ...FOREIGN_ORIGIN);
  });
}

async function handleRequest(body: JsonObject, response: Response, handle: AdminRouteHandler, load: RouteLoad): Promise<void> {
  const disconnect = new AbortController();
  response.on('close', () => disconnect.abort());
  load.running++;
  try {
    response.json(await handle(body, disconnect.signal));
  } catch {
    // Work answers its own faults: of what else there may be nothing is told.
    sendRefusal(response, 500, 'INTERNAL', 'Something is wrong in Node-RED or in this package.');
  } finally {
    load.running--;
  }
}

type Refusal = [status: number, code: string, message: string];
const FOREIGN_ORIGIN: Refusal = [
  403,
  'FORBIDDEN',
  'This came from a page of another address. If Node-RED stands behind a proxy, that has to pass on the header Host.',
];

function findRefusal(request: Request, { running, concurrency }: RouteLoad): Refusal | undefined {
  if (!isJson(request.headers['content-type']))
    return [415, 'BAD_INPUT', 'The body has to be JSON, with the content type application/json.'];
  if (!isSameOrigin(request)) return FOREIGN_ORIGIN;
  if (!isObject(request.body)) return [400, 'BAD_INPUT', 'The body has to be an object.'];
  if (running >= concurrency) return [429, 'LIMIT', `At most ${concurrency} of these run at once. Wait until one has ended.`];
  return undefined;
}

/** Exactly: a form can send a type that merely has the word in it. */
function isJson(type: string | undefined): boolean {
  return type?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/**
 * Whether the request is of this origin, as far as the browser tells; no page can set either header. `Sec-Fetch-Site` comes over HTTPS and
 * from the own machine, and is right behind a proxy that gives another Host. `Origin` comes with every POST. Programs send neither, and
 * have no browser's rights.
 */
function isSameOrigin({ headers }: Request): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host?.toLowerCase());
}

function sendRefusal(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ ok: false, code, message });
}
