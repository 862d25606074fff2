// @ts-check
// node bench/fleet-scale.mjs [--appliances <n>] [--idle <s>]: one read on each of 10,000 appliances by two Node-REDs with the fleet package,
// on the PostgreSQL from npm. It measures the rate, the memory of each Node-RED, the editor routes during the run, the first list of the
// inventory dialog, and what the idle engines cost. Linux only.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ensureFleetBuilt } from '../scripts/built.mjs';
import { startNodeRed } from '../scripts/demo/node-red.mjs';
import { node24 } from '../scripts/node24.mjs';
import { root } from '../scripts/tools.mjs';
import { ask } from './rig.mjs';

/** @typedef {Awaited<ReturnType<typeof startNodeRed>>} NodeRed */
/** @typedef {{ query(text: string, values?: unknown[]): Promise<{ rows: Record<string, any>[] }>, connect(): Promise<void>, end(): Promise<void> }} Client */

const { values: options } = parseArgs({
  options: {
    appliances: { type: 'string', default: '10000' },
    idle: { type: 'string', default: '30' },
    /** Time until the connections to appliances have closed. */
    settle: { type: 'string', default: '100' },
    'in-flight': { type: 'string', default: '16' },
    /** Folder for a CPU profile of each Node-RED. A profile makes the run slower. */
    profile: { type: 'string' },
  },
});
const COUNT = Number(options.appliances);
const IDLE_S = Number(options.idle);
/** Each appliance needs a file for its server and one for its connection, so one process is not enough. */
const APPLIANCE_PROCESSES = 2;
const LARGE_INVENTORY = 50_000;
const ROUTE_INTERVAL_MS = 100;
const TICK_MS = 10;
const MAX_RUN_MS = 300_000;

const require = createRequire(import.meta.url);
ensureFleetBuilt();
/** @type {{ createEmbeddedPostgres(folder: string): { start(): Promise<string>, stop(): Promise<void> } }} */
const { createEmbeddedPostgres } = require(join(root, 'fleet', 'dist', 'engine', 'npm-postgres.js'));
/** @type {{ Client: new (options: object) => Client }} */
const { Client } = createRequire(join(root, 'fleet', 'package.json'))('pg');

const busy = (loadavg()[0] ?? 0).toFixed(1);
const folder = mkdtempSync(join(tmpdir(), 'gateway-fleet-scale-'));
chmodSync(folder, 0o711);
/** @type {(() => unknown)[]} */
const ends = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })];

async function startAppliances() {
  const parts = [];
  for (let part = 0; part < APPLIANCE_PROCESSES; part++) {
    const setup = JSON.stringify({ count: Math.ceil(COUNT / APPLIANCE_PROCESSES), delayMs: 0, sessions: 2 });
    const child = fork(join(root, 'bench', 'fleet-appliances.mjs'), [setup]);
    ends.push(() => child.kill());
    const [{ value }] = /** @type {[{ value: { urls: string[], ca: string } }]} */ (await once(child, 'message'));
    parts.push({ ...value, pid: child.pid ?? 0 });
  }
  return {
    urls: parts.flatMap(({ urls }) => urls).slice(0, COUNT),
    ca: parts.map(({ ca }) => ca).join('\n'),
    pids: parts.map(({ pid }) => pid),
  };
}

/** @param {string[]} urls @param {number} count */
const entries = (urls, count) =>
  Array.from({ length: count }, (_, index) => ({
    name: `vpn-${index}`,
    url: urls[index] ?? `https://vpn-${index}.example.com`,
    tags: [index % 2 ? 'eu' : 'us'],
  }));

/** @param {string} name @param {string} url @param {string} ca @param {string} list */
async function startRed(name, url, ca, list) {
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, ca);
  const node = (/** @type {string} */ id, /** @type {string} */ type, /** @type {object} */ more) => ({
    id,
    type,
    z: 'tab',
    wires: [],
    ...more,
  });
  const red = await startNodeRed({
    userDir: mkdtempSync(join(folder, `${name}-`)),
    version: 5,
    node: node24(),
    nodeArgs: [
      ...['--require', join(root, 'bench', 'fleet-probe.cjs')],
      ...(options.profile ? ['--cpu-prof', `--cpu-prof-dir=${options.profile}`] : []),
    ],
    nodesDir: [root, join(root, 'fleet')],
    credentials: { inv: { username: 'api-admin', password: 'simulator' }, ...(url !== '' && { eng: { url } }) },
    flows: [
      { id: 'tab', type: 'tab', label: 'fleet' },
      { id: 'tls', type: 'tls-config', ca: caFile, cert: '', key: '', verifyservercert: true },
      {
        id: 'inv',
        type: 'gateway-inventory',
        source: 'file',
        file: list,
        defaults: '{"realm":"Admin Users"}',
        tls: 'tls',
        secrets: 'node',
      },
      ...(url === ''
        ? []
        : [
            { id: 'eng', type: 'gateway-fleet-engine', inventory: 'inv', inFlight: options['in-flight'] },
            node('n-in', 'http in', { url: '/run', method: 'get', wires: [['n-run', 'n-ok']] }),
            node('n-ok', 'http response', {}),
            node('n-run', 'gateway-fleet-run', { name: 'all', engine: 'eng', operation: 'system.info', select: '*', fields: {} }),
          ]),
    ],
  });
  ends.push(() => red.stop());
  // Node-RED starts its flows before its server.
  while (!(await fetch(`${red.url}/settings`).catch(() => undefined))) await wait(10);
  return red;
}

/** @param {number} pid */
const statOf = (pid) =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
/** CPU time of a process in ms. @param {number} pid */
const cpuOf = (pid) => (Number(statOf(pid)[11]) + Number(statOf(pid)[12])) * TICK_MS;
/** @param {number} pid @param {string} name */
const memoryOf = (pid, name) =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** CPU time of PostgreSQL in ms: the main process, and its children with those that have ended. */
function postgresCpu() {
  const [main = ''] = readFileSync(join(folder, 'gateway-fleet-postgres', 'data', 'postmaster.pid'), 'utf8').split('\n');
  const own = statOf(Number(main));
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return statOf(Number(pid))[1] === main ? [cpuOf(Number(pid))] : [];
      } catch {
        return [];
      }
    });
  return children.reduce((sum, one) => sum + one, 0) + own.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
}

/** @param {number[]} values @param {number} share */
const percentile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;

/** @param {NodeRed} red @param {string} path @param {object} [body] */
async function timed(red, path, body) {
  const started = performance.now();
  const response = await fetch(
    red.url + path,
    body ? { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {},
  );
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 200)}`);
  return { ms: performance.now() - started, text };
}

/** The list that the inventory dialog asks for. @param {NodeRed} red */
async function timeFirstList(red) {
  const { ms, text } = await timed(red, '/gateway-inventory/list', { id: 'inv', select: '*', search: '' });
  return { ms, total: /** @type {{ total: number }} */ (JSON.parse(text)).total };
}

/** @param {NodeRed[]} reds @param {Client} client @param {() => Promise<unknown>} work */
async function costs(reds, client, work) {
  const read = async () => {
    const { rows } = await client.query(
      `SELECT xact_commit + xact_rollback AS transactions, active_time FROM pg_stat_database WHERE datname = 'postgres'`,
    );
    return { at: performance.now(), postgres: postgresCpu(), reds: reds.map(({ pid = 0 }) => cpuOf(pid)), ...rows[0] };
  };
  /** @type {any} */
  const before = await read();
  await work();
  // The statistics of a session are published after a second at the latest.
  await wait(1100);
  /** @type {any} */
  const after = await read();
  return {
    ms: after.at - before.at,
    postgres: after.postgres - before.postgres,
    reds: after.reds.map((/** @type {number} */ cpu, /** @type {number} */ index) => cpu - before.reds[index]),
    transactions: Number(after.transactions) - Number(before.transactions),
    activeMs: Number(after.active_time) - Number(before.active_time),
  };
}

/** @type {[string, string, string][]} */
const table = [];
const row = (/** @type {string} */ what, /** @type {string} */ goal, /** @type {string} */ measured) => {
  table.push([what, goal, measured]);
  console.log(`${what}: ${measured}${goal === '' ? '' : ` (goal ${goal})`}`);
};

try {
  const cluster = createEmbeddedPostgres(folder);
  const url = await cluster.start();
  ends.push(() => cluster.stop());
  const { urls, ca } = await startAppliances();
  const list = join(folder, 'inventory.json');
  writeFileSync(list, JSON.stringify(entries(urls, COUNT)));
  const reds = [await startRed('one', url, ca, list), await startRed('two', url, ca, list)];
  const [first] = reds;
  if (!first) throw new Error('No Node-RED.');
  const client = new Client({ connectionString: url });
  await client.connect();
  ends.push(() => client.end());
  const opened = await timeFirstList(first);
  row(`first list of the inventory dialog, ${opened.total} appliances: ms`, '≤ 500', opened.ms.toFixed(0));
  await wait(3000);
  row('memory of each Node-RED before the run: MB', '', reds.map(({ pid = 0 }) => memoryOf(pid, 'VmRSS').toFixed(0)).join(', '));

  /** @type {number[]} */
  const routeMs = [];
  let isRunning = true;
  const watchRoutes = async (/** @type {NodeRed} */ red) => {
    while (isRunning) {
      for (const [path, body] of /** @type {[string, object?][]} */ ([
        ['/settings'],
        ['/gateway-inventory/list', { id: 'inv', search: 'vpn-99' }],
      ])) {
        routeMs.push((await timed(red, path, body)).ms);
        await wait(ROUTE_INTERVAL_MS);
      }
    }
  };
  let seconds = NaN;
  /** @type {number[]} */
  let delays = [];
  const cost = await costs(reds, client, async () => {
    await Promise.all(reds.map(({ child }) => ask(child, { probe: 'begin' })));
    const watching = Promise.allSettled(reds.map(watchRoutes));
    const started = performance.now();
    await timed(first, '/run');
    for (;;) {
      const { rows } = await client.query(`SELECT id, state, failed FROM gateway_fleet.run`);
      if (rows[0]?.['state'] === 'done') break;
      if (performance.now() - started > MAX_RUN_MS) throw new Error(`The run did not end. Node-RED printed:\n${first.output()}`);
      await wait(100);
    }
    seconds = (performance.now() - started) / 1000;
    isRunning = false;
    delays = await Promise.all(reds.map(async ({ child }) => (await ask(child, { probe: 'end' })).p99));
    await watching;
  });
  const { rows: outcomes } = await client.query(
    `SELECT holder, state, count(*)::int AS count, sum(logins)::int AS logins FROM gateway_fleet.item GROUP BY 1, 2 ORDER BY 1`,
  );
  row(`${COUNT} reads, two Node-REDs: seconds`, '≤ 60', `${seconds.toFixed(1)} (${(COUNT / seconds).toFixed(0)} a second)`);
  row('items of each Node-RED', '', outcomes.map(({ state, count }) => `${count} ${state}`).join(', '));
  row('most memory of each Node-RED: MB', '≤ 450', reds.map(({ pid = 0 }) => memoryOf(pid, 'VmHWM').toFixed(0)).join(', '));
  row(`editor routes during the run (${routeMs.length} requests), p99: ms`, '≤ 100', percentile(routeMs, 0.99).toFixed(0));
  row('event-loop delay of each Node-RED during the run, p99: ms', '', delays.map((delay) => delay.toFixed(0)).join(', '));
  row(
    'CPU for each item, both Node-REDs + PostgreSQL: ms',
    '',
    `${(cost.reds.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0) / COUNT).toFixed(2)} + ${(cost.postgres / COUNT).toFixed(2)}`,
  );
  row('transactions for each item', '', (cost.transactions / COUNT).toFixed(1));
  row('active time of PostgreSQL for each item: ms', '', (cost.activeMs / COUNT).toFixed(2));

  await wait(Number(options.settle) * 1000);
  row(
    'memory of each Node-RED after its connections closed: MB',
    '',
    reds.map(({ pid = 0 }) => memoryOf(pid, 'VmRSS').toFixed(0)).join(', '),
  );
  const { rows: before } = await client.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'gateway-fleet'`,
  );
  const idle = await costs(reds, client, () => wait(IDLE_S * 1000));
  // One statement of the measurement itself.
  row('idle, each engine: transactions a second', '≤ 2', ((idle.transactions - 1) / reds.length / (idle.ms / 1000)).toFixed(2));
  row(
    'idle, each engine: share of a core, Node-RED',
    '≤ 1 %',
    idle.reds.map((/** @type {number} */ cpu) => `${((cpu / idle.ms) * 100).toFixed(2)} %`).join(', '),
  );
  row('idle, each engine: share of a core, PostgreSQL', '', `${((idle.postgres / reds.length / idle.ms) * 100).toFixed(2)} %`);
  row('idle, connections of each engine', '≤ 4', ((before[0]?.['count'] ?? NaN) / reds.length).toFixed(1));

  const large = join(folder, 'large.json');
  writeFileSync(large, JSON.stringify(entries([], LARGE_INVENTORY)));
  const third = await startRed('three', '', ca, large);
  const largeList = await timeFirstList(third);
  row(`first list of the inventory dialog, ${largeList.total} appliances: ms`, '≤ 2000', largeList.ms.toFixed(0));
  await wait(5000);
  const idleFrom = cpuOf(third.pid ?? 0);
  await wait(IDLE_S * 1000);
  row('idle, a Node-RED without an engine: share of a core', '', `${((cpuOf(third.pid ?? 0) - idleFrom) / IDLE_S / 10).toFixed(2)} %`);
  console.log(
    `\n\`node bench/fleet-scale.mjs\`, Node.js 24, Node-RED 5, ${cpus().length} cores, load ${busy} at the beginning.\n\n| work | goal | measured |\n|---|---|---|`,
  );
  for (const [what, goal, measured] of table) console.log(`| ${what} | ${goal} | ${measured} |`);
} finally {
  for (const end of ends.reverse()) await end();
}
