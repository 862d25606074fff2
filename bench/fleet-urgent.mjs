// @ts-check
// node bench/fleet-urgent.mjs [--appliances <n>] [--reps <n>]: a user's sessions are ended on all appliances, 50 ms away each, while a backup
// of all is under way: real appliances (simulated ones in a process of their own), two processes of the fleet, the PostgreSQL that comes by
// npm. The same not urgent, behind the backup, for comparison. Written into bench/results/fleet.md, unless there are fewer than 500.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureFleetBuilt } from '../scripts/built.mjs';
import { node24 } from '../scripts/node24.mjs';
import { root } from '../scripts/tools.mjs';

/** @typedef {import('../src/model/coordination.js').Coordination} Coordination */
/** The types are written here, because the dependencies of the second package may not be installed yet. */
/** @typedef {{ coordination: Coordination, start(): Promise<void>, startRun(order: object): Promise<void>, addListener(listener: object): () => void }} Engine */

const require = createRequire(import.meta.url);
const DELAY_MS = 50;
const GOAL_S = 5;
const USER = 'j.doe';
const SECTION = '\n## A user is ended everywhere\n';
const fromDist = (/** @type {string[]} */ ...path) => require(join(root, 'dist', 'compiled', 'src', ...path));

/** Starts appliances with one session of the user each. @param {{ count: number }} options */
async function appliances({ count }) {
  /** @type {typeof import('../src/simulator/index.js')} */
  const { startSimulatedFleet } = fromDist('simulator', 'index.js');
  const fleet = await startSimulatedFleet(count, { delayMs: DELAY_MS, sessions: 20 });
  const left = () => fleet.appliances.filter(({ state }) => state.sessions.findNumbers({ name: USER, prefix: false }).length > 0).length;
  const add = () => fleet.appliances.forEach(({ state }) => state.sessions.add({ 'active-user-name': USER }));
  process.on('message', (what) => {
    if (what === 'add') add();
    process.send?.(left());
  });
  return { entries: fleet.entries, ca: fleet.ca };
}

/** One process of the fleet. @param {{ entries: { name: string, url: string }[], ca: string, url: string }} options */
async function member({ entries, ca, url }) {
  /** @type {{ Engine: new (options: object) => Engine }} */
  const { Engine } = require(join(root, 'fleet', 'dist', 'engine', 'index.js'));
  /** @type {typeof import('../src/index.js')} */
  const { Inventory } = fromDist('index.js');
  /** @type {typeof import('../src/inventory/index.js')} */
  const { GatewayRegistry } = fromDist('inventory', 'index.js');
  /** @type {Engine | undefined} */
  let engine = undefined;
  const shared = () => /** @type {Engine} */ (engine).coordination;
  const gateways = new GatewayRegistry({
    coordination: {
      runExclusive: (...args) => shared().runExclusive(...args),
      get: (...args) => shared().get(...args),
      set: (...args) => shared().set(...args),
      update: (...args) => shared().update(...args),
    },
  });
  const credentials = { default: { username: 'api-admin', password: 'simulator' } };
  const inventory = new Inventory({ defaults: { realm: 'Admin Users', tls: { ca } }, credentials, gateways });
  await inventory.loadEntries(entries);
  const own = new Engine({
    url,
    fleet: { inventory: 'bench', name: '' },
    appliances: {
      findAppliance: (/** @type {string} */ name) => inventory.findAppliance(name),
      listAppliances: () => inventory.appliances,
      getSecret: () => '',
    },
  });
  engine = own;
  await own.start();
  own.addListener({
    name: 'bench',
    report: (/** @type {{ data: { run: string, ok: number } }} */ { data: { run, ok } }) => process.send?.({ run, ok }),
  });
  const items = entries.map(({ name }) => ({ appliance: name }));
  process.on('message', (order) => {
    const usual = { kind: 'operation', items, selection: '*', dryRun: false, urgent: false, withData: false, repeats: true };
    const pace = { canary: 0, ends: [items.length], maxFailures: Infinity, node: 'bench', initiator: {} };
    void own.startRun(Object.assign(usual, pace, order));
  });
  return {};
}

const [, , role, given] = process.argv;
if (role === 'appliances' || role === 'member') {
  process.on('disconnect', () => process.exit());
  process.send?.(await { appliances, member }[role](JSON.parse(given ?? '')));
} else await bench();

async function bench() {
  const { values: options } = parseArgs({ options: { appliances: { type: 'string' }, reps: { type: 'string' } } });
  const count = Number(options.appliances ?? 500);
  const reps = Number(options.reps ?? 3);
  const busy = (loadavg()[0] ?? 0).toFixed(1);
  ensureBuilt();
  ensureFleetBuilt();
  /** @type {{ createEmbeddedPostgres(folder: string): { start(): Promise<string>, stop(): Promise<void> } }} */
  const { createEmbeddedPostgres } = require(join(root, 'fleet', 'dist', 'engine', 'npm-postgres.js'));
  const folder = mkdtempSync(join(tmpdir(), 'gateway-fleet-urgent-'));
  chmodSync(folder, 0o711);
  const cluster = createEmbeddedPostgres(folder);
  /** @type {import('node:child_process').ChildProcess[]} */
  const children = [];
  /** @type {(fault: Error) => void} */
  let died = () => undefined;
  const death = new Promise((_resolve, reject) => void (died = reject));
  const begin = async (/** @type {string} */ kind, /** @type {object} */ what) => {
    const child = fork(fileURLToPath(import.meta.url), [kind, JSON.stringify(what)], { execPath: node24() });
    children.push(child);
    child.once('exit', (code) => died(new Error(`${kind} ended (${code}).`)));
    return { child, value: (await once(child, 'message'))[0] };
  };
  const asked = async (/** @type {import('node:child_process').ChildProcess} */ child, /** @type {string} */ what) => {
    const answer = once(child, 'message');
    child.send(what);
    return Number((await answer)[0]);
  };
  const measure = async () => {
    const fleet = await begin('appliances', { count });
    const whole = { ...fleet.value, url: await cluster.start() };
    const members = [await begin('member', whole), await begin('member', whole)];
    const [first] = members;
    if (!first) return;
    /** @type {Map<string, (ok: number) => void>} */
    const waiting = new Map();
    first.child.on('message', (/** @type {{ run: string, ok: number }} */ { run, ok }) => waiting.get(run)?.(ok));
    const run = async (/** @type {string} */ id, /** @type {object} */ more) => {
      const started = performance.now();
      const ok = await new Promise((resolve) => {
        waiting.set(id, resolve);
        first.child.send({ id, ...more });
      });
      if (ok !== count) throw new Error(`${id}: ${ok} of ${count} were well.`);
      return (performance.now() - started) / 1000;
    };
    const ended = async (/** @type {string} */ name, /** @type {boolean} */ urgent) => {
      await asked(fleet.child, 'add');
      const place = join(folder, name);
      mkdirSync(place);
      const backup = run(`backup ${name}`, { operation: 'backup.run', input: { folder: place } });
      // The running backup fills its queue by then.
      await wait(1000);
      const seconds = await run(name, { operation: 'sessions.kill-user', input: { name: USER }, urgent });
      const left = await asked(fleet.child, 'tell');
      if (left > 0) throw new Error(`${left} appliances have sessions of ${USER} still.`);
      return { seconds, backup: await backup };
    };
    await run('warm', { operation: 'system.info', input: {} });
    const urgent = [];
    for (let rep = 0; rep < reps; rep++) urgent.push(await ended(`urgent-${rep}`, true));
    const behind = await ended('behind', false);
    const median = urgent.map(({ seconds }) => seconds).sort((a, b) => a - b)[reps >> 1] ?? NaN;
    const longest = Math.max(...urgent.map(({ backup }) => backup));
    const text = [
      `${SECTION.trim()}`,
      '',
      `\`node bench/fleet-urgent.mjs\`: ${count} appliances that answer after ${DELAY_MS} ms, two processes, median of ${reps}. At the beginning the machine had a load of ${busy} on ${cpus().length} cores.`,
      '',
      '| work | goal | measured | |',
      '|---|---|---|---|',
      `| end a user on ${count} appliances while a backup of all is under way, urgent: seconds | ≤ ${GOAL_S} | ${median.toFixed(1)} (the backups took up to ${longest.toFixed(1)}) | ${median <= GOAL_S ? '✓' : 'missed'} |`,
      `| the same, not urgent: seconds | | ${behind.seconds.toFixed(1)} | |`,
      '',
    ].join('\n');
    console.log(text);
    if (count < 500) return;
    const file = join(root, 'bench', 'results', 'fleet.md');
    const [before = ''] = readFileSync(file, 'utf8').split(SECTION);
    writeFileSync(file, `${before.trimEnd()}\n\n${text}`);
  };
  try {
    await Promise.race([measure(), death]);
  } finally {
    for (const child of children) child.kill();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
