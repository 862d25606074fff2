import type { NodeAPI } from 'node-red';
import { isObject, type JsonObject } from '../src/model/json';

type Handler = Parameters<NodeAPI['httpAdmin']['post']>[1];
type Request = Parameters<Handler>[0];
type Response = Parameters<Handler>[1];

/** Does the work of a route; what it gives is the answer. The signal fires when nobody waits for that any more. */
export type Work = (body: Readonly<JsonObject>, signal: AbortSignal) => Promise<object>;

/** Each may hold a connection to an appliance for half a minute. */
const AT_ONCE = 2;

/** How many of the requests to one route are under way. */
interface Load {
  running: number;
  readonly most: number;
}

/**
 * A route of the editor that touches an appliance: only for who may change appliance nodes, only from Node-RED's own pages, and only so
 * many at once. A page of another origin must not be able to use the browser of somebody who may: without `adminAuth` that is everybody.
 */
export function adminRoute(red: NodeAPI, path: string, work: Work, most = AT_ONCE): void {
  const load: Load = { running: 0, most };
  red.httpAdmin.post(path, red.auth.needsPermission('gateway-appliance.write'), (request, response) => {
    const refusal = refusalOf(request, load);
    if (refusal) refuse(response, ...refusal);
    else void answer(request.body as JsonObject, response, work, load);
  });
}

/** A route that tells without touching an appliance: for who may see appliance nodes, and for Node-RED's own pages and programs only. */
export function adminRead(red: NodeAPI, path: string, tell: () => object): void {
  red.httpAdmin.get(path, red.auth.needsPermission('gateway-appliance.read'), (request, response) => {
    if (isOwn(request)) response.set('Cache-Control', 'no-store').json(tell());
    else refuse(response, ...FOREIGN);
  });
}

async function answer(body: JsonObject, response: Response, work: Work, load: Load): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  load.running++;
  try {
    response.json(await work(body, gone.signal));
  } catch {
    // Work answers its own faults: of what else there may be nothing is told.
    refuse(response, 500, 'INTERNAL', 'Something is wrong in Node-RED or in this package.');
  } finally {
    load.running--;
  }
}

type Refusal = [status: number, code: string, message: string];
const FOREIGN: Refusal = [
  403,
  'FORBIDDEN',
  'This came from a page of another address. If Node-RED stands behind a proxy, that has to pass on the header Host.',
];

function refusalOf(request: Request, { running, most }: Load): Refusal | undefined {
  if (!isJson(request.headers['content-type']))
    return [415, 'BAD_INPUT', 'The body has to be JSON, with the content type application/json.'];
  if (!isOwn(request)) return FOREIGN;
  if (!isObject(request.body)) return [400, 'BAD_INPUT', 'The body has to be an object.'];
  if (running >= most) return [429, 'LIMIT', `At most ${most} of these run at once. Wait until one has ended.`];
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
function isOwn({ headers }: Request): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host?.toLowerCase());
}

function refuse(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ ok: false, code, message });
}
