import type { IncomingHttpHeaders } from 'node:http';
import { type JsonObject, isObject } from './body-shape';
import { type Reply, Refusal } from './reply';
import type { ApplianceState } from './state';
import type { ApiKey } from './state/login';
import type { RequestTarget } from './url';

/** A checked and decoded request. */
export interface ApiRequest {
  state: ApplianceState;
  method: string;
  /** Decoded path segments, `api` first. */
  segments: readonly string[];
  /** What stood for `*` in the route. */
  parameter: string;
  query: RequestTarget['query'];
  /** The JSON body. Empty if the route has no body. */
  body: JsonObject;
  raw: Buffer;
  headers: IncomingHttpHeaders;
  remoteAddress: string;
  /** Absent on the paths that need none. */
  key?: ApiKey;
}

/** `json`: a JSON object is required; `optional`: nothing or a JSON object; `raw`: the area reads the bytes itself. */
type BodyRule = 'none' | 'json' | 'optional' | 'raw';
type RouteHandler = (request: ApiRequest) => Reply | Promise<Reply>;

interface Route {
  handler: RouteHandler;
  query: readonly string[] | 'any';
  body: BodyRule;
  /** Whether the route is served without an API key. */
  isPublic: (state: ApplianceState) => boolean;
}

interface RouteNode {
  readonly children: Map<string, RouteNode>;
  readonly routes: Map<string, Route>;
  /** `**`: this node and everything below it. */
  matchesDescendants: boolean;
}

const createNode = (): RouteNode => ({ children: new Map(), routes: new Map(), matchesDescendants: false });

/** Routes below /api/v1 in a trie of segments: finding one costs a map look-up per segment. `*` is one name, a last `**` is the rest. */
export class Router {
  private readonly root = createNode();

  add(method: string, path: string, handler: RouteHandler, rules: Partial<Omit<Route, 'handler'>> = {}): void {
    let node = this.root;
    for (const segment of path.split('/')) {
      if (segment === '**') {
        node.matchesDescendants = true;
        continue;
      }
      let next = node.children.get(segment);
      if (!next) node.children.set(segment, (next = createNode()));
      node = next;
    }
    node.routes.set(method, { query: [], body: 'none', isPublic: () => false, ...rules, handler });
  }

  /** The routes of a path by method, and the name that stood for `*`; undefined = no such path. */
  find(segments: readonly string[]): { routes: ReadonlyMap<string, Route>; parameter: string } | undefined {
    if (segments[0] !== 'api' || segments[1] !== 'v1') return undefined;
    let node = this.root;
    let parameter = '';
    for (let i = 2; i < segments.length; i++) {
      if (node.matchesDescendants) break;
      const segment = segments[i] ?? '';
      // A literal `*` can only come as %2A and is a name like any other.
      const literal = segment === '*' ? undefined : node.children.get(segment);
      const next = literal ?? node.children.get('*');
      if (!next) return undefined;
      if (!literal) parameter = segment;
      node = next;
    }
    return node.routes.size > 0 ? { routes: node.routes, parameter } : undefined;
  }
}

const JSON_TYPE = /^application\/json\s*(;\s*charset=utf-8\s*)?$/i;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses the body by the rule of the route. Throws 400 if it is "invalid, for example malformed JSON" (section "Errors"). */
export function readBody(rule: BodyRule, raw: Buffer, type: string | undefined): JsonObject {
  if (rule === 'raw') return {};
  if (raw.length === 0) {
    if (rule === 'json') throw new Refusal(400, 'A JSON body is required');
    return {};
  }
  if (rule === 'none') throw new Refusal(400, 'This request takes no body');
  if (!JSON_TYPE.test(type ?? '')) throw new Refusal(400, 'The body must be sent as Content-Type: application/json');
  let body: unknown;
  try {
    body = JSON.parse(utf8.decode(raw));
  } catch {
    throw new Refusal(400, 'The body is not well-formed JSON in UTF-8');
  }
  if (!isObject(body)) throw new Refusal(400, 'The body must be a JSON object');
  return body;
}

export function checkQuery(route: Route, query: RequestTarget['query']): void {
  if (route.query === 'any') return;
  for (const key of query.keys()) if (!route.query.includes(key)) throw new Refusal(400, `Unknown query key ${key}`);
}
