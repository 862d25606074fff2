import { readFileSync } from 'node:fs';
import type { NodeAPI } from 'node-red';
import { locateBuiltFile } from '../../src/files/package-folder';
import { isObject, type JsonObject } from '../../src/model/json';

type ExpressHandler = Parameters<NodeAPI['httpAdmin']['post']>[1];
export type Request = Parameters<ExpressHandler>[0];
export type AdminRouteResponse = Parameters<ExpressHandler>[1];

/** A route that the editor uses. Node-RED checks the permission before `handle` is called. */
export interface AdminRoute {
  readonly method: 'get' | 'post';
  readonly path: string;
  readonly permission: string;
  readonly handle: (red: NodeAPI, request: Request, response: AdminRouteResponse) => void;
}

/** Handles the request body and returns the response. The signal aborts when the client disconnects; `user` is the person who is logged in. */
type PostHandler = (red: NodeAPI, body: Readonly<JsonObject>, signal: AbortSignal, user: string | undefined) => Promise<object>;

/** Maximum number of requests at the same time, because each can hold a connection to an appliance for half a minute. */
const DEFAULT_ROUTE_CONCURRENCY = 2;

/** Number of running requests of one route. */
interface RouteLoad {
  running: number;
  readonly concurrency: number;
}

/**
 * Creates a POST route that can contact an appliance. It requires permission to edit appliances and a page of the same origin, and limits
 * concurrency. Without `adminAuth` everybody has the permission, so the origin check keeps other pages out.
 */
export function createPostRoute(path: string, handlePost: PostHandler, concurrency = DEFAULT_ROUTE_CONCURRENCY): AdminRoute {
  const load: RouteLoad = { running: 0, concurrency };
  return {
    method: 'post',
    path,
    permission: 'gateway-appliance.write',
    handle: (red, request, response) => {
      const refusal = findRefusal(request, load);
      if (refusal) sendRefusal(response, ...refusal);
      else void respond(response, load, (signal) => handlePost(red, request.body as JsonObject, signal, readUserName(request)));
    },
  };
}

/** Creates a GET route that contacts no appliance. It requires the read permission and a request of the same origin. */
export function createReadRoute(path: string, getBody: (red: NodeAPI) => Promise<object>): AdminRoute {
  const load: RouteLoad = { running: 0, concurrency: Infinity };
  return {
    method: 'get',
    path,
    permission: 'gateway-appliance.read',
    handle: (red, request, response) => {
      if (isSameOrigin(request)) void respond(response.set('Cache-Control', 'no-store'), load, () => getBody(red));
      else sendRefusal(response, ...FOREIGN_ORIGIN);
    },
  };
}

/** Creates a GET route for a script of the editor, a file in `dist/nodes/`. */
export function createScriptRoute(file: string, permission: string): AdminRoute {
  let script: string | undefined;
  return {
    method: 'get',
    path: `/gateway-appliance/${file}`,
    permission,
    handle: (_red, _request, response) => {
      script ??= readFileSync(locateBuiltFile('nodes', file), 'utf8');
      response.type('application/javascript').set('Cache-Control', 'no-cache').send(script);
    },
  };
}

/** Returns the name of the person who is logged in to the editor. */
function readUserName({ user }: Request & { readonly user?: { readonly username?: unknown } | undefined }): string | undefined {
  return typeof user?.username === 'string' && user.username !== '' ? user.username : undefined;
}

async function respond(response: AdminRouteResponse, load: RouteLoad, createBody: (signal: AbortSignal) => Promise<object>): Promise<void> {
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

function sendRefusal(response: AdminRouteResponse, status: number, code: string, message: string): void {
  response.status(status).json({ ok: false, code, message });
}
