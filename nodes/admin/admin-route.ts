import type { NodeAPI } from 'node-red';
import { isObject, type JsonObject } from '../../src/model/json';

type ExpressHandler = Parameters<NodeAPI['httpAdmin']['post']>[1];
type Request = Parameters<ExpressHandler>[0];
type Response = Parameters<ExpressHandler>[1];

/** Handles the request body and returns the response. The signal aborts when the client disconnects; `user` is the person who is logged in. */
export type AdminRouteHandler = (body: Readonly<JsonObject>, signal: AbortSignal, user: string | undefined) => Promise<object>;

/** Maximum number of requests at the same time, because each can hold a connection to an appliance for half a minute. */
const DEFAULT_ROUTE_CONCURRENCY = 2;

/** Number of running requests of one route. */
interface RouteLoad {
  running: number;
  readonly concurrency: number;
}

/**
 * Registers a POST route that contacts an appliance. It requires permission to edit appliances and a page of the same origin, and limits
 * concurrency. Without `adminAuth` everybody has the permission, so the origin check keeps other pages out.
 */
export function registerAdminRoute(red: NodeAPI, path: string, handle: AdminRouteHandler, concurrency = DEFAULT_ROUTE_CONCURRENCY): void {
  const load: RouteLoad = { running: 0, concurrency };
  red.httpAdmin.post(path, red.auth.needsPermission('gateway-appliance.write'), (request, response) => {
    const refusal = findRefusal(request, load);
    if (refusal) sendRefusal(response, ...refusal);
    else void respond(response, load, (signal) => handle(request.body as JsonObject, signal, readUserName(request)));
  });
}

/** Registers a GET route that contacts no appliance. It requires the read permission and a request of the same origin. */
export function registerAdminReadRoute(red: NodeAPI, path: string, getBody: () => Promise<object>): void {
  const load: RouteLoad = { running: 0, concurrency: Infinity };
  red.httpAdmin.get(path, red.auth.needsPermission('gateway-appliance.read'), (request, response) => {
    if (isSameOrigin(request)) void respond(response.set('Cache-Control', 'no-store'), load, getBody);
    else sendRefusal(response, ...FOREIGN_ORIGIN);
  });
}

/** Returns the name of the person who is logged in to the editor. */
function readUserName({ user }: Request & { readonly user?: { readonly username?: unknown } | undefined }): string | undefined {
  return typeof user?.username === 'string' && user.username !== '' ? user.username : undefined;
}

async function respond(response: Response, load: RouteLoad, createBody: (signal: AbortSignal) => Promise<object>): Promise<void> {
  const disconnect = new AbortController();
  response.on('close', () => disconnect.abort());
  load.running++;
  try {
    response.json(await createBody(disconnect.signal));
  } catch {
    // Handlers report their own errors. Details of any other error are not sent.
    sendRefusal(response, 500, 'INTERNAL', 'An internal error occurred in Node-RED or in this package.');
  } finally {
    load.running--;
  }
}

type Refusal = [status: number, code: string, message: string];
const FOREIGN_ORIGIN: Refusal = [
  403,
  'FORBIDDEN',
  'The request came from a page of another origin. If Node-RED is behind a proxy, the proxy must forward the Host header.',
];

function findRefusal(request: Request, { running, concurrency }: RouteLoad): Refusal | undefined {
  if (!isJson(request.headers['content-type'])) return [415, 'BAD_INPUT', 'The body must be JSON with the content type application/json.'];
  if (!isSameOrigin(request)) return FOREIGN_ORIGIN;
  if (!isObject(request.body)) return [400, 'BAD_INPUT', 'The body must be an object.'];
  if (running >= concurrency) return [429, 'LIMIT', `At most ${concurrency} of these requests run at once. Wait until one has ended.`];
  return undefined;
}

/** Compares the whole content type, because a form can send a type that contains the word JSON. */
function isJson(type: string | undefined): boolean {
  return type?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/**
 * Whether the browser reports the same origin; no page can set these headers. `Sec-Fetch-Site` works behind a proxy that changes `Host`,
 * but only over HTTPS or on localhost. Every POST has `Origin`. Programs send neither and cannot misuse a browser session.
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
