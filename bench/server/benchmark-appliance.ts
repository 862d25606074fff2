import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { selfSigned } from '../../src/simulator/certificate';
import { closeWithConnections } from '../../src/simulator/closable-server';
import { BenchmarkTree, toText } from './benchmark-tree';
import { isObject, type Json } from '../../src/simulator/body-shape';
import { type SimulatorOptions, resolveOptions } from '../../src/simulator/options';
import { encodePathSegment } from '../../src/simulator/url';
import { generateSession } from '../../src/simulator/generated-sessions';

/**
 * The appliance of measurements: answers what they need, from bytes made once, over hand-written HTTP/1.1, so that it is never the
 * bottleneck. It checks the credentials of every request and thinks as long as it is told to; whatever else an appliance does,
 * the simulator does.
 */
export interface BenchmarkAppliance {
  readonly url: string;
  readonly ca: string;
  /** Can change at any time: the delay per request in ms, for one request of a connection after the other, and the number of sessions. */
  delayMs: number;
  sessions: number;
  /** The number of policies in its configuration, and the length of the description of each. */
  policies: number;
  policyLength: number;
  /** Open connections. */
  readonly openConnections: number;
  /** Counts since the last `reset`: requests, opened connections, and the maximum of open connections that carried a request. */
  readonly counts: { requests: number; opened: number; used: number; maxUsed: number };
  reset(): void;
  close(): Promise<void>;
}

const PAGE_RECORDS = 200;
/** A key like a real one: 44 characters of base64. */
export const BENCHMARK_KEY = `${'fAst+/'.repeat(7)}A=`;

/** What it tells of itself. */
export const BENCHMARK_SYSTEM_INFORMATION = JSON.stringify({
  'hardware-model': 'PSA-5000',
  'host-name': 'gateway-1',
  'os-name': 'gateway-os',
  'os-version': '22.7R2.8',
  'serial-number': '0332092014100169',
  'software-inventory': { software: { build: '3431', name: 'gateway-os', version: '22.7R2.8' } },
});

const toBasicHeader = (user: string, password: string): string => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

function toHttpResponse(status: string, body: string): Buffer {
  return Buffer.from(`HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

const TREE = '/api/v1/configuration';
const WRITTEN = toHttpResponse('200 OK', '{"result":{"info":[{"message":"The operation succeeded without warning or error!"}]}}');
const NO_CONTENT = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n');
const NOT_FOUND = toHttpResponse('404 Not Found', '{"result":{"errors":[{"message":"not found"}]}}');
const UNAUTHORIZED = toHttpResponse('401 Unauthorized', '{"result":{"errors":[{"message":"not authorized"}]}}');
// 0.3 kB with its head, as the interface gives it.
const INFORMATION = toHttpResponse('200 OK', BENCHMARK_SYSTEM_INFORMATION);

/** Responses that are created once. */
interface SharedPages {
  readonly texts: string[];
  readonly pages: Map<string, Buffer>;
}

const MAX_CACHED_PAGES = 2000;
const createSharedPages = (): SharedPages => ({ texts: [], pages: new Map() });

/** Several appliances in one process. They share their certificate and their sessions. */
export function startBenchmarkFleet(count: number, options: SimulatorOptions = {}): Promise<BenchmarkAppliance[]> {
  const shared = createSharedPages();
  const tls = options.tls ?? selfSigned();
  return Promise.all(Array.from({ length: count }, () => startBenchmarkAppliance({ ...options, tls }, shared)));
}

/** Starts an appliance. It supports the options sessions, delayMs, host, port, realm, username, password and tls. */
export async function startBenchmarkAppliance(
  options: SimulatorOptions = {},
  shared: SharedPages = createSharedPages(),
): Promise<BenchmarkAppliance> {
  const settings = resolveOptions(options);
  const tls = settings.tls ?? selfSigned();
  const { texts } = shared;
  const record = (index: number): string => (texts[index] ??= JSON.stringify(generateSession(index, settings)));

  function getPage(target: string): Buffer {
    const query = `${appliance.sessions} ${target}`;
    let found = shared.pages.get(query);
    if (!found) {
      const from = Number(/start=(\d+)/.exec(target)?.[1] ?? 0);
      const size = Math.min(PAGE_RECORDS, Number(/number=(\d+)/.exec(target)?.[1] ?? PAGE_RECORDS));
      const to = Math.min(from + size, appliance.sessions);
      const records = Array.from({ length: Math.max(0, to - from) }, (_, at) => record(from + at));
      const totals = `"total-matched-record-number":${appliance.sessions},"total-returned-record-number":${records.length}`;
      const last = `"is-last-record":${to >= appliance.sessions},"user-login-permission":true`;
      found = toHttpResponse(
        '200 OK',
        `{"active-users":{"active-user-records":{"active-user-record":[${records.join()}]},${totals},${last}}}`,
      );
      if (shared.pages.size >= MAX_CACHED_PAGES) shared.pages.clear();
      shared.pages.set(query, found);
    }
    return found;
  }

  const credentials = toBasicHeader(settings.username, settings.password);
  const key = toBasicHeader(BENCHMARK_KEY, '');
  const login = toHttpResponse('200 OK', JSON.stringify({ api_key: BENCHMARK_KEY }));

  const tree = new BenchmarkTree();

  /** A request of the configuration. A POST names its resource in the body. */
  function handleConfiguration(method: string, target: string, body: string): Buffer {
    const path = target.replace(/\/$/, '');
    if (method === 'GET') {
      tree.policyCount = appliance.policies;
      tree.descriptionLength = appliance.policyLength;
      const found = tree.get(path);
      return found ? toHttpResponse('200 OK', JSON.stringify(found)) : NOT_FOUND;
    }
    if (method === 'DELETE') return tree.remove(path) ? NO_CONTENT : NOT_FOUND;
    const parsed = JSON.parse(Buffer.from(body, 'latin1').toString('utf8')) as Json;
    const fields = isObject(parsed) ? parsed : {};
    return tree.put(method === 'POST' ? `${path}/${encodePathSegment(toText(fields.name))}` : path, fields) ? WRITTEN : NOT_FOUND;
  }

  function reply(method: string, target: string, authorization: string, body: string): Buffer {
    if (target === '/api/v1/realm_auth') return authorization === credentials ? login : UNAUTHORIZED;
    if (authorization !== key) return UNAUTHORIZED;
    if (target.startsWith(TREE)) return handleConfiguration(method, target, body);
    if (method === 'DELETE') return target.startsWith('/api/v1/system/active-users/session/') ? NO_CONTENT : NOT_FOUND;
    if (target.startsWith('/api/v1/system/active-users')) return getPage(target);
    return target === '/api/v1/system/system-information' ? INFORMATION : NOT_FOUND;
  }

  const server = createServer({ ...tls, noDelay: true }, (socket) => {
    const { counts } = appliance;
    let round = -1;
    counts.opened++;
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      if (round === rounds) counts.used--;
    });
    serveRequests(socket, (head, body) => {
      counts.requests++;
      if (round !== rounds) counts.maxUsed = Math.max(counts.maxUsed, ++counts.used);
      round = rounds;
      const [method = '', target = ''] = head.split(' ', 2);
      const authorization = /\r\nauthorization: ([^\r]*)/i.exec(head)?.[1] ?? '';
      const bytes = reply(method, target, authorization, body);
      if (appliance.delayMs === 0) {
        socket.write(bytes);
        return undefined;
      }
      return new Promise((done) => setTimeout(() => done(void socket.write(bytes)), appliance.delayMs));
    });
  });
  const sockets = new Set<TLSSocket>();
  let rounds = 0;
  const appliance = {
    url: '',
    ca: tls.cert,
    delayMs: settings.delayMs,
    sessions: settings.sessions,
    policies: settings.variants.largeTree,
    policyLength: 0,
    get openConnections() {
      return sockets.size;
    },
    counts: { requests: 0, opened: 0, used: 0, maxUsed: 0 },
    reset: () => {
      rounds++;
      Object.assign(appliance.counts, { requests: 0, opened: 0, used: 0, maxUsed: 0 });
    },
    close: closeWithConnections(server),
  };
  server.listen(settings.port, settings.host);
  await once(server, 'listening');
  appliance.url = `https://${settings.host}:${(server.address() as AddressInfo).port}`;
  return appliance;
}

/** A longer body is not a resource and is skipped. */
const MAX_BODY_BYTES = 1 << 16;

/** Parses the requests of one connection, one after the other. */
function serveRequests(socket: TLSSocket, serve: (head: string, body: string) => Promise<void> | undefined): void {
  let rest = '';
  let bytesToSkip = 0;
  let isBusy = false;
  const work = (): void => {
    while (!isBusy) {
      const skipped = Math.min(bytesToSkip, rest.length);
      bytesToSkip -= skipped;
      rest = rest.slice(skipped);
      const end = bytesToSkip > 0 ? -1 : rest.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = rest.slice(0, end);
      const start = end + 4;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const taken = length <= MAX_BODY_BYTES ? length : 0;
      if (rest.length < start + taken) return;
      const content = rest.slice(start, start + taken);
      rest = rest.slice(start + taken);
      bytesToSkip = length - taken;
      const thinking = serve(head, content);
      if (!thinking) continue;
      isBusy = true;
      void thinking.then(() => {
        isBusy = false;
        work();
      });
    }
  };
  socket.on('data', (chunk: Buffer) => {
    rest += chunk.toString('latin1');
    work();
  });
}
