// @ts-check
// node bench/fleet-engine.mjs [--items <n>] measures the cost of the engine of fleet/, on the PostgreSQL from npm. The appliances respond at
// once or after a delay, without a network, so only the engine is measured. Linux only.
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ensureFleetBuilt } from '../scripts/built.mjs';
import { root } from '../scripts/tools.mjs';

const { values: options } = parseArgs({ options: { items: { type: 'string' }, idle: { type: 'string' } } });
const ITEMS = Number(options.items ?? 2000);
const IDLE_S = Number(options.idle ?? 20);
const URGENT = { items: 500, ms: 50 };
const SLOW = { items: 800, ms: 500 };
const TICK_MS = 10;

/** @typedef {(options: { beforeWrite?: () => Promise<void> }) => Promise<unknown>} Work */
/** @typedef {{ start(): Promise<void>, stop(): Promise<void>, startRun(order: object): Promise<void>, addListener(listener: object): () => void }} Engine */

const busy = (loadavg()[0] ?? 0).toFixed(1);
ensureFleetBuilt();
const require = createRequire(import.meta.url);
/** @type {{ Engine: new (options: object) => Engine }} */
const { Engine } = require(join(root, 'fleet', 'dist', 'engine', 'index.js'));
/** @type {{ createEmbeddedPostgres(folder: string): { start(): Promise<string>, stop(): Promise<void> } }} */
const { createEmbeddedPostgres } = require(join(root, 'fleet', 'dist', 'engine', 'npm-postgres.js'));

/** Simulated work of each operation. @type {Record<string, Work>} */
const works = {
  'sessions.list': async () => done(false),
  'config.ensure': async ({ beforeWrite }) => {
    await beforeWrite?.();
    return done(true);
  },
  'backup.run': async () => {
    await wait(SLOW.ms);
    return done(true);
  },
  'sessions.kill-user': async ({ beforeWrite }) => {
    await beforeWrite?.();
    await wait(URGENT.ms);
    return done(true);
  },
};
const done = (/** @type {boolean} */ changed) => ({ data: {}, envelope: { ok: true, changed, requests: 1, retries: 0, logins: 0 } });

/** CPU time of PostgreSQL in ms: the main process and its children. @param {string} folder */
function postgresCpu(folder) {
  const [main = ''] = readFileSync(join(folder, 'gateway-fleet-postgres', 'data', 'postmaster.pid'), 'utf8').split('\n');
  const fields = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [
          [
            pid,
            ...readFileSync(`/proc/${pid}/stat`, 'utf8')
              .replace(/^.*\) /s, '')
              .split(' '),
          ],
        ];
      } catch {
        return [];
      }
    });
  const own = fields.filter(([pid, , parent]) => pid === main || parent === main);
  const ticks = own.map(([pid, ...stat]) => Number(stat[11]) + Number(stat[12]) + (pid === main ? Number(stat[13]) + Number(stat[14]) : 0));
  return ticks.reduce((sum, one) => sum + one, 0) * TICK_MS;
}

let count = 0;

/** @param {Engine} engine @param {string} operation @param {number} items @param {object} [more] */
async function run(engine, operation, items, more = {}) {
  const id = `bench-${count++}`;
  /** @type {Promise<number>} */
  const reported = new Promise((resolve) => {
    const stop = engine.addListener({
      name: id,
      report: () => {
        stop();
        resolve(performance.now());
      },
    });
  });
  const startedAt = performance.now();
  await engine.startRun({
    ...{ id, kind: 'operation', operation, input: {}, selection: '*', dryRun: false, urgent: false, withData: false, repeats: true },
    ...{ canary: 0, ends: [items], maxFailures: Infinity, node: id, initiator: {}, ...more },
    items: Array.from({ length: items }, (_, index) => ({ appliance: `vpn-${index}` })),
  });
  return ((await reported) - startedAt) / 1000;
}

/** @param {string} folder @param {() => Promise<unknown>} work */
async function costs(folder, work) {
  const before = { own: process.cpuUsage(), postgres: postgresCpu(folder), at: performance.now() };
  await work();
  const { user, system } = process.cpuUsage(before.own);
  return { own: (user + system) / 1000, postgres: postgresCpu(folder) - before.postgres, ms: performance.now() - before.at };
}

const folder = mkdtempSync(join(tmpdir(), 'gateway-fleet-engine-'));
chmodSync(folder, 0o711);
const cluster = createEmbeddedPostgres(folder);
try {
  const gateway = (/** @type {string} */ name) => ({
    run: (/** @type {string} */ operation, /** @type {object} */ _input, /** @type {object} */ options) => works[operation]?.(options),
    name,
    closeIdleConnections: () => undefined,
  });
  const engine = new Engine({
    url: await cluster.start(),
    fleet: { inventory: 'bench', name: '' },
    appliances: {
      findAppliance: (/** @type {string} */ name) => ({ name, gateway: () => gateway(name) }),
      listAppliances: () => [],
      getSecret: () => '',
    },
  });
  await engine.start();
  await run(engine, 'sessions.list', 200);
  const read = await costs(folder, () => run(engine, 'sessions.list', ITEMS));
  const write = await costs(folder, () => run(engine, 'config.ensure', ITEMS));
  const idle = await costs(folder, () => wait(IDLE_S * 1000));
  const backup = run(engine, 'backup.run', SLOW.items);
  const urgent = await run(engine, 'sessions.kill-user', URGENT.items, { urgent: true });
  const shared = run(engine, 'sessions.kill-user', URGENT.items);
  const backupTook = await backup;
  const sharedTook = await shared;
  await engine.stop();
  const each = (/** @type {{ own: number, postgres: number, ms: number }} */ { own, postgres, ms }) =>
    `${(own / ITEMS).toFixed(2)} + ${(postgres / ITEMS).toFixed(2)} ms | ${((ITEMS / ms) * 1000).toFixed(0)} a second |`;
  const share = (/** @type {number} */ ms) => ((ms / (IDLE_S * 1000)) * 100).toFixed(1);
  console.log(`\`node bench/fleet-engine.mjs\`, Node.js ${process.versions.node}, one process, ${cpus().length} cores, load ${busy} at the beginning.

| work | CPU of the process + of PostgreSQL | |
|---|---|---|
| a read, each of ${ITEMS} | ${each(read)}
| a write, each of ${ITEMS} | ${each(write)}
| idle | ${share(idle.own)} + ${share(idle.postgres)} % of a core | |
| ${URGENT.items} urgent items of ${URGENT.ms} ms, beside ${SLOW.items} of ${SLOW.ms} ms | | ${urgent.toFixed(1)} s |
| the same, not urgent, behind them | | ${sharedTook.toFixed(1)} s (they took ${backupTook.toFixed(1)} s) |`);
} finally {
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
