// @ts-check
// Another appliance for the measurements, so that no figure hangs on how one server writes its answers: the HTTPS server of Node.js,
// answers in ASCII, made when they are asked for the first time. Told and asked over IPC as bench/appliance.mjs is.
import { createServer } from 'node:https';
import { createRequire } from 'node:module';
import process from 'node:process';
import { loadBenchmarkServer } from './server/load.mjs';

const require = createRequire(import.meta.url);
/** @type {typeof import('../src/simulator/certificate.js')} */
const { selfSigned } = require('../dist/compiled/src/simulator/certificate.js');
const { BENCHMARK_SYSTEM_INFORMATION, BENCHMARK_KEY } = await loadBenchmarkServer();
/** @type {typeof import('../src/simulator/options.js')} */
const { resolveOptions } = require('../dist/compiled/src/simulator/options.js');
/** @type {typeof import('../src/simulator/generated-sessions.js')} */
const { generateSession } = require('../dist/compiled/src/simulator/generated-sessions.js');

const tls = selfSigned(['127.0.0.1']);
const settings = resolveOptions({});
const basic = (/** @type {string} */ text) => `Basic ${Buffer.from(text).toString('base64')}`;
const authorization = basic(`${BENCHMARK_KEY}:`);
const credentials = basic(`${settings.username}:${settings.password}`);
const set = { delayMs: 0, sessions: 0 };
const counts = { requests: 0, opened: 0, used: 0, mostUsed: 0 };
/** @type {Map<string, string>} */
let pages = new Map();

/** @param {URLSearchParams} query */
function page(query) {
  const from = Number(query.get('start') ?? 0);
  const to = Math.min(set.sessions, from + Math.min(200, Number(query.get('number') ?? 200)));
  const records = Array.from({ length: Math.max(0, to - from) }, (_, at) => generateSession(from + at, settings));
  const users = {
    'active-user-records': { 'active-user-record': records },
    'total-matched-record-number': set.sessions,
    'total-returned-record-number': records.length,
    'is-last-record': to >= set.sessions,
    'user-login-permission': true,
  };
  return JSON.stringify({ 'active-users': users }).replace(/[^ -~]/g, '-');
}

/** @type {WeakSet<import('node:net').Socket>} */
let used = new WeakSet();
const server = createServer({ ...tls, noDelay: true, keepAliveTimeout: 75_000 }, (request, response) => {
  counts.requests++;
  if (!used.has(request.socket)) {
    const round = used.add(request.socket);
    counts.mostUsed = Math.max(counts.mostUsed, ++counts.used);
    request.socket.once('close', () => round === used && counts.used--);
  }
  const answer = () => {
    const isLogin = request.url === '/api/v1/realm_auth' && request.headers.authorization === credentials;
    if (isLogin) return void response.setHeader('content-type', 'application/json').end(JSON.stringify({ api_key: BENCHMARK_KEY }));
    if (request.headers.authorization !== authorization) return void response.writeHead(401).end();
    if (request.method === 'DELETE') return void response.writeHead(204).end();
    const url = request.url ?? '';
    let body = BENCHMARK_SYSTEM_INFORMATION;
    if (url.startsWith('/api/v1/system/active-users')) {
      body = pages.get(url) ?? page(new URL(url, 'https://appliance').searchParams);
      pages.set(url, body);
    }
    response.setHeader('content-type', 'application/json');
    response.end(body);
  };
  request.resume();
  if (set.delayMs === 0) answer();
  else setTimeout(answer, set.delayMs);
});
server.on('secureConnection', () => counts.opened++);
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  process.send?.({ id: 0, value: { url: `https://127.0.0.1:${port}`, ca: tls.cert } });
});
process.on('disconnect', () => process.exit());
process.on('message', (/** @type {{ id: number, set?: { delayMs?: number, sessions?: number } }} */ { id, set: given }) => {
  const { user, system } = process.cpuUsage();
  process.send?.({ id, value: { ...counts, cpuSeconds: (user + system) / 1e6 } });
  if (!given) return;
  if (given.sessions !== undefined && given.sessions !== set.sessions) pages = new Map();
  Object.assign(set, given);
  used = new WeakSet();
  Object.assign(counts, { requests: 0, opened: 0, used: 0, mostUsed: 0 });
});
