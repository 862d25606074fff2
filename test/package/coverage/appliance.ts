import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rows, type Row } from './rows';

// The rows of the generic tree take any path: a row that shows its path is meant before them.
const specificFirst = [...rows].sort((a, b) => Number(a.path.includes('<...>')) - Number(b.path.includes('<...>')));

/** One request that came in, and the row of the interface that it is; no row = the interface does not offer it. */
export interface Seen {
  readonly request: string;
  readonly body: string;
  readonly row: Row | undefined;
}

/** The result of `startRowAppliance`. */
export interface RowAppliance {
  readonly url: string;
  readonly seen: Seen[];
  /** Writes answer with this status; undefined = the first that their row lists. What was put before is forgotten. */
  answerWith(status: number | undefined): void;
  /** Rejects writes with this status and these `result.errors`. */
  refuseWith(status: number, words: string): void;
  close(): Promise<void>;
}

/**
 * An appliance that knows nothing but the rows of appliance-api.md: it answers what a row shows and records what came. Written
 * apart from client and simulator, so that a mistake of theirs cannot cancel itself out here.
 */
export async function startRowAppliance(): Promise<RowAppliance> {
  const seen: Seen[] = [];
  /** What was put into the configuration stands there from then on, by path. */
  const kept = new Map<string, string>();
  let wanted: number | undefined;
  let refusal: string | undefined;
  const server = createServer((request, response) => void serve(request, response));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const row = specificFirst.find((candidate) => matches(candidate, request, body));
    const isLogin = row?.operations[0]?.startsWith('login.') ?? false;
    seen.push({ request: `${request.method} ${request.url}`, body, row });
    if (!row) return void response.writeHead(400).end('{"result":{"errors":[{"message":"no such row"}]}}');
    const isWrite = !isLogin && row.method !== 'GET';
    const status = isWrite && wanted !== undefined ? wanted : (row.statuses[0] ?? 200);
    // One realm asks for a second step, the others log in at once.
    const answer = isLogin && !body.includes('Second Factor') ? { api_key: 'key' } : row.answer;
    const refused = isWrite && refusal !== undefined ? { result: { errors: [{ message: refusal }] } } : (answer ?? { result: {} });
    const path = request.url ?? '';
    const isKept = path.startsWith('/api/v1/configuration/');
    if (isKept && request.method === 'PUT' && status < 300) kept.set(path, body);
    const present = isKept && request.method === 'GET' ? kept.get(path) : undefined;
    if (present !== undefined) return void response.writeHead(200, { 'content-type': 'application/json' }).end(present);
    if (row.content && status < 300) return void response.writeHead(status, { 'content-type': row.content.type }).end(row.content.text);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(status === 204 ? undefined : JSON.stringify(refused));
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    answerWith: (status) => {
      kept.clear();
      wanted = status;
      refusal = undefined;
    },
    refuseWith: (status, words) => {
      kept.clear();
      wanted = status;
      refusal = words;
    },
    close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve()))),
  };
}

function matches(row: Row, request: IncomingMessage, body: string): boolean {
  const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s);
  if (row.method !== request.method || !pathPattern(row.path).test(path)) return false;
  if (row.query ? !row.query.test(query) && query !== '' : query !== '') return false;
  // The row of all sessions and the row of one page differ in nothing but the query.
  if (row.query?.source === '^all$' && query !== 'all') return false;
  return bodyMatches(row, request.headers['content-type'], body);
}

function bodyMatches(row: Row, type: string | undefined, body: string): boolean {
  if (row.parts) return partsMatch(row.parts, type, body);
  if (row.textType !== undefined) return type === row.textType && /^[A-Za-z0-9+/\s]+=*\s*$/.test(body);
  if (!row.body) return body === '';
  if (type !== 'application/json') return false;
  const parsed: unknown = JSON.parse(body);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return false;
  const given = parsed as Record<string, unknown>;
  if (Object.entries(row.fixed ?? {}).some(([key, value]) => given[key] !== value)) return false;
  if (row.body.keys === 'any') return true;
  const { keys, needed = 0 } = row.body;
  return Object.keys(given).every((key) => keys.includes(key)) && keys.slice(0, needed).every((key) => key in given);
}

/** A form as RFC 7578 has it: parts between the boundary of the type, each with a name, and nothing after the last. */
function partsMatch({ names, needed }: NonNullable<Row['parts']>, type: string | undefined, body: string): boolean {
  const [, boundary] = /^multipart\/form-data; boundary=([\w-]+)$/.exec(type ?? '') ?? [];
  const [before, ...parts] = body.split(new RegExp(`\\r?\\n?--${boundary}`));
  if (boundary === undefined || before !== '' || parts.pop()?.trim() !== '--') return false;
  const given = parts.map((part) => /^\r\nContent-Disposition: form-data; name="(\w+)"/.exec(part)?.[1] ?? '');
  return given.every((name) => names.includes(name)) && names.slice(0, needed).every((name) => given.includes(name));
}

/** `<name>` is one segment in which nothing stands literally but what may; `<...>` is a whole path. */
function pathPattern(path: string): RegExp {
  const literal = path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const segment = '(?:[A-Za-z0-9_~-]|%[0-9A-F]{2})(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*';
  // A free request keeps the characters that RFC 3986 allows in a segment, for example in a MAC address.
  const freeSegment = "(?:[A-Za-z0-9._~:@!$&'()*+,;=-]|%[0-9A-F]{2})+";
  return new RegExp(`^${literal.replace(/<\\\.\\\.\\\.>/g, `${freeSegment}(?:/${freeSegment})*/?`).replace(/<\w+>/g, segment)}$`);
}
