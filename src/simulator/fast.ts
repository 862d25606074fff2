import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { selfSigned } from './certificate';
import { endable } from './ending';
import { FastTree, textOf } from './fast-tree';
import { isObject, type Json } from './fields';
import { type SimulatorOptions, settle } from './options';
import { encodeSegment } from './url';
import { generateSession } from './people';

/**
 * The appliance of measurements: answers what they need, from bytes made once, over hand-written HTTP/1.1, so that it is never the
 * bottleneck. It checks the credentials of every request and thinks as long as it is told to; whatever else an appliance does,
 * the simulator does.
 */
export interface FastAppliance {
  readonly url: string;
  readonly ca: string;
  /** Live: think time per request in ms, one request of a connection after the other; and how many sessions there are. */
  delayMs: number;
  sessions: number;
  /** How many policies its configuration has, and how long the description of each is. */
  policies: number;
  policyLength: number;
  /** Connections that are open now. */
  readonly open: number;
  /** Since the last `reset`: requests, connections opened, and the most open at a time of those that carried a request. */
  readonly counts: { requests: number; opened: number; used: number; mostUsed: number };
  reset(): void;
  close(): Promise<void>;
}

const PAGE = 200;
/** A key like a real one: 44 characters of base64. */
export const FAST_KEY = `${'fAst+/'.repeat(7)}A=`;

/** What it tells of itself. */
export const FAST_INFORMATION = JSON.stringify({
  'hardware-model': 'PSA-5000',
  'host-name': 'gateway-1',
  'os-name': 'gateway-os',
  'os-version': '22.7R2.8',
  'serial-number': '0332092014100169',
  'software-inventory': { software: { build: '3431', name: 'gateway-os', version: '22.7R2.8' } },
});

const basic = (user: string, password: string): string => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

function answer(status: string, body: string): Buffer {
  return Buffer.from(`HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

const TREE = '/api/v1/configuration';
const WRITTEN = answer('200 OK', '{"result":{"info":[{"message":"The operation succeeded without warning or error!"}]}}');
const NO_CONTENT = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n');
const NOT_FOUND = answer('404 Not Found', '{"result":{"errors":[{"message":"not found"}]}}');
const UNAUTHORIZED = answer('401 Unauthorized', '{"result":{"errors":[{"message":"not authorized"}]}}');
// 0.3 kB with its head, as the interface gives it.
const INFORMATION = answer('200 OK', FAST_INFORMATION);

/** Answers that are made once. */
interface SharedPages {
  readonly texts: string[];
  readonly pages: Map<string, Buffer>;
}

const MOST_PAGES = 2000;
const sharedPages = (): SharedPages => ({ texts: [], pages: new Map() });

/** So many in one process, which share their certificate and their sessions. */
export function startFastFleet(count: number, options: SimulatorOptions = {}): Promise<FastAppliance[]> {
  const shared = sharedPages();
  const tls = options.tls ?? selfSigned();
  return Promise.all(Array.from({ length: count }, () => startFastAppliance({ ...options, tls }, shared)));
}

/** Starts one; of the options it knows sessions, delayMs, host, port, realm, username, password and tls. */
export async function startFastAppliance(options: SimulatorOptions = {}, shared: SharedPages = sharedPages()): Promise<FastAppliance> {
  const settings = settle(options);
  const tls = settings.tls ?? selfSigned();
  const { texts } = shared;
  const record = (index: number): string => (texts[index] ??= JSON.stringify(generateSession(index, settings)));

  function page(target: string): Buffer {
    const query = `${fast.sessions} ${target}`;
    let found = shared.pages.get(query);
    if (!found) {
      const from = Number(/start=(\d+)/.exec(target)?.[1] ?? 0);
      const size = Math.min(PAGE, Number(/number=(\d+)/.exec(target)?.[1] ?? PAGE));
      const to = Math.min(from + size, fast.sessions);
      const records = Array.from({ length: Math.max(0, to - from) }, (_, at) => record(from + at));
      const totals = `"total-matched-record-number":${fast.sessions},"total-returned-record-number":${records.length}`;
      const last = `"is-last-record":${to >= fast.sessions},"user-login-permission":true`;
      found = answer('200 OK', `{"active-users":{"active-user-records":{"active-user-record":[${records.join()}]},${totals},${last}}}`);
      if (shared.pages.size >= MOST_PAGES) shared.pages.clear();
      shared.pages.set(query, found);
    }
    return found;
  }

  const credentials = basic(settings.username, settings.password);
  const key = basic(FAST_KEY, '');
  const login = answer('200 OK', JSON.stringify({ api_key: FAST_KEY }));

  const tree = new FastTree();

  /** Of the configuration. A POST names its resource in the body. */
  function configure(method: string, target: string, body: string): Buffer {
    const place = target.replace(/\/$/, '');
    if (method === 'GET') {
      tree.policies = fast.policies;
      tree.length = fast.policyLength;
      const found = tree.get(place);
      return found ? answer('200 OK', JSON.stringify(found)) : NOT_FOUND;
    }
    if (method === 'DELETE') return tree.remove(place) ? NO_CONTENT : NOT_FOUND;
    const sent = JSON.parse(Buffer.from(body, 'latin1').toString('utf8')) as Json;
    const given = isObject(sent) ? sent : {};
    return tree.put(method === 'POST' ? `${place}/${encodeSegment(textOf(given.name))}` : place, given) ? WRITTEN : NOT_FOUND;
  }

  function reply(method: string, target: string, authorization: string, body: string): Buffer {
    if (target === '/api/v1/realm_auth') return authorization === credentials ? login : UNAUTHORIZED;
    if (authorization !== key) return UNAUTHORIZED;
    if (target.startsWith(TREE)) return configure(method, target, body);
    if (method === 'DELETE') return target.startsWith('/api/v1/system/active-users/session/') ? NO_CONTENT : NOT_FOUND;
    if (target.startsWith('/api/v1/system/active-users')) return page(target);
    return target === '/api/v1/system/system-information' ? INFORMATION : NOT_FOUND;
  }

  const server = createServer({ ...tls, noDelay: true }, (socket) => {
    const { counts } = fast;
    let round = -1;
    counts.opened++;
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      if (round === rounds) counts.used--;
    });
    listen(socket, (head, body) => {
      counts.requests++;
      if (round !== rounds) counts.mostUsed = Math.max(counts.mostUsed, ++counts.used);
      round = rounds;
      const [method = '', target = ''] = head.split(' ', 2);
      const authorization = /\r\nauthorization: ([^\r]*)/i.exec(head)?.[1] ?? '';
      const bytes = reply(method, target, authorization, body);
      if (fast.delayMs === 0) {
        socket.write(bytes);
        return undefined;
      }
      return new Promise((done) => setTimeout(() => done(void socket.write(bytes)), fast.delayMs));
    });
  });
  const sockets = new Set<TLSSocket>();
  let rounds = 0;
  const fast = {
    url: '',
    ca: tls.cert,
    delayMs: settings.delayMs,
    sessions: settings.sessions,
    policies: settings.variants.largeTree,
    policyLength: 0,
    get open() {
      return sockets.size;
    },
    counts: { requests: 0, opened: 0, used: 0, mostUsed: 0 },
    reset: () => {
      rounds++;
      Object.assign(fast.counts, { requests: 0, opened: 0, used: 0, mostUsed: 0 });
    },
    close: endable(server),
  };
  server.listen(settings.port, settings.host);
  await once(server, 'listening');
  fast.url = `https://${settings.host}:${(server.address() as AddressInfo).port}`;
  return fast;
}

/** A body that is longer is no resource: it is passed over, however long it is. */
const LONGEST_BODY = 1 << 16;

/** Takes the requests of one connection apart, one after the other. */
function listen(socket: TLSSocket, serve: (head: string, body: string) => Promise<void> | undefined): void {
  let rest = '';
  let body = 0;
  let busy = false;
  const work = (): void => {
    while (!busy) {
      const skipped = Math.min(body, rest.length);
      body -= skipped;
      rest = rest.slice(skipped);
      const end = body > 0 ? -1 : rest.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = rest.slice(0, end);
      const start = end + 4;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const taken = length <= LONGEST_BODY ? length : 0;
      if (rest.length < start + taken) return;
      const content = rest.slice(start, start + taken);
      rest = rest.slice(start + taken);
      body = length - taken;
      const thinking = serve(head, content);
      if (!thinking) continue;
      busy = true;
      void thinking.then(() => {
        busy = false;
        work();
      });
    }
  };
  socket.on('data', (chunk: Buffer) => {
    rest += chunk.toString('latin1');
    work();
  });
}
