// @ts-check
// node bench/fleet.mjs [--quick] [--reps <n>] [--no-wait]: one Node-RED and many appliances, against the same drawn with core nodes.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../scripts/built.mjs';
import { startNodeRed } from '../scripts/demo/node-red.mjs';
import { root } from '../scripts/tools.mjs';
import { coreRequest } from './core-request.mjs';
import { ask } from './rig.mjs';

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, reps: { type: 'string' }, 'no-wait': { type: 'boolean', default: false } },
});
ensureBuilt();
const size = options.quick ? { appliances: 40, many: 60, reps: 1 } : { appliances: 500, many: 1000, reps: 5 };
const reps = Number(options.reps ?? size.reps);
/** Other work of the machine makes every figure worse, including ratios. */
const busy = (loadavg()[0] ?? 0).toFixed(1);
const RESULTS = join(root, 'bench', 'results', 'fleet.md');
const DELAY_MS = 20;
const SESSIONS = 200;
const AT_ONCE = 16;
/** Sequential requests take the delay and the cost of an exchange. A prototype needed 1.2 s for 500. */
const ALLOWED = (1.2 * size.appliances) / 500;
const HELD_MS = 90_000;
const PATIENCE_MS = 60_000;

/** @type {(() => unknown)[]} */
const ends = [];
const median = (/** @type {number[]} */ values) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;

/** @param {number} count @param {number} delayMs */
async function startAppliances(count, delayMs) {
  const child = fork(join(root, 'bench', 'fleet-appliances.mjs'), [JSON.stringify({ count, delayMs, sessions: SESSIONS })]);
  ends.push(() => child.kill());
  const [{ value }] = /** @type {[{ value: { urls: string[], ca: string } }]} */ (await once(child, 'message'));
  return { child, ...value };
}

const node = (/** @type {string} */ id, /** @type {string} */ type, /** @type {string[]} */ to, /** @type {object} */ more) => ({
  id,
  type,
  ...{ z: 'tab', x: 1, y: 1 },
  wires: to.length > 0 ? [to] : [],
  ...more,
});
const around = (/** @type {string} */ caFile) => [
  { id: 'tab', type: 'tab', label: 'fleet' },
  { id: 'tls', type: 'tls-config', ca: caFile, cert: '', key: '', verifyservercert: true },
  node('end', 'http response', [], {}),
];
const only = (/** @type {string} */ to) => ({ t: 'set', p: 'payload', pt: 'msg', to, tot: 'jsonata' });

/** @param {string[]} urls @param {string} caFile */
function ownFlows(urls, caFile) {
  const list = JSON.stringify(urls.map((url, index) => ({ name: `vpn-${index}`, url })));
  return {
    credentials: { inv: { username: 'api-admin', password: 'simulator' } },
    flows: [
      ...around(caFile),
      { id: 'inv', type: 'gateway-inventory', source: 'list', list, defaults: '{"realm":"Admin Users"}', tls: 'tls', secrets: 'node' },
      node('in', 'http in', ['run'], { url: '/run', method: 'get' }),
      node('run', 'gateway-sessions', ['count'], {
        operation: 'list',
        operationType: 'op',
        inventory: 'inv',
        select: '*',
        atOnce: AT_ONCE,
        output: 'payload',
        fields: {},
      }),
      node('count', 'change', ['end'], {
        rules: [only('{ "ok": payload.ok, "records": $count(payload.results[0].data) * payload.total }')],
      }),
    ],
  };
}

/** Split, request, join. @param {string[]} urls @param {string} caFile */
function coreFlows(urls, caFile) {
  const authorization = `Basic ${Buffer.from(`${'fAst+/'.repeat(7)}A=:`).toString('base64')}`;
  const pages = urls.map((url) => `${url}/api/v1/system/active-users?number=200&start=0`);
  return {
    credentials: {},
    flows: [
      ...around(caFile),
      node('in', 'http in', ['urls'], { url: '/run', method: 'get' }),
      node('urls', 'change', ['split'], { rules: [{ t: 'set', p: 'payload', pt: 'msg', to: JSON.stringify(pages), tot: 'json' }] }),
      node('split', 'split', ['url'], { arraySplt: 1, arraySpltType: 'len' }),
      node('url', 'change', ['request'], { rules: [{ t: 'set', p: 'url', pt: 'msg', to: 'payload', tot: 'msg' }] }),
      node('request', 'http request', ['join'], coreRequest(authorization)),
      node('join', 'join', ['count'], { mode: 'auto' }),
      node('count', 'change', ['end'], {
        rules: [
          only(
            `{ "ok": $count(payload), "records": $count(payload[0].'active-users'.'active-user-records'.'active-user-record') * $count(payload) }`,
          ),
        ],
      }),
    ],
  };
}

/** @param {ReturnType<typeof ownFlows> | ReturnType<typeof coreFlows>} flows */
async function startFlow(flows) {
  const userDir = mkdtempSync(join(tmpdir(), 'gateway-fleet-'));
  ends.push(() => rmSync(userDir, { recursive: true, force: true, maxRetries: 5 }));
  const nodeArgs = ['--require', join(root, 'bench', 'fleet-probe.cjs')];
  const red = await startNodeRed({ userDir, version: 4, nodeArgs, nodesDir: [join(root, 'dist', 'nodes')], ...flows });
  ends.push(() => red.stop());
  return red;
}

/** One run of all appliances. @param {Awaited<ReturnType<typeof startFlow>>} red */
async function once500(red) {
  const before = await ask(red.child, { probe: 'begin' });
  const started = performance.now();
  const response = await fetch(`${red.url}/run`, { signal: AbortSignal.timeout(PATIENCE_MS) }).catch((error) => {
    throw new Error(`No answer. Node-RED has printed: ${red.output()}`, { cause: error });
  });
  /** @type {{ ok: number, records: number }} */
  const { ok, records } = /** @type {any} */ (await response.json());
  const seconds = (performance.now() - started) / 1000;
  const after = await ask(red.child, { probe: 'end' });
  return { ok, records, seconds, cpu: after.cpuSeconds - before.cpuSeconds, p99: after.p99, rss: after.rss / 2 ** 20 };
}

/** @typedef {Awaited<ReturnType<typeof once500>>} Sample */

/** @type {[string, string, string, boolean | undefined][]} */
const table = [];
/** Without `met`, there is no goal: `goal` says what is possible. */
const row = (
  /** @type {string} */ what,
  /** @type {string} */ goal,
  /** @type {string} */ measured,
  /** @type {boolean | undefined} */ met = undefined,
) => {
  table.push([what, goal, measured, met]);
  console.log(`${met === false ? 'MISSED' : 'ok    '} ${what}: ${measured} (${goal})`);
};

try {
  const { urls, ca, child } = await startAppliances(size.appliances, DELAY_MS);
  const folder = mkdtempSync(join(tmpdir(), 'gateway-fleet-'));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, ca);
  const reds = { ours: await startFlow(ownFlows(urls, caFile)), core: await startFlow(coreFlows(urls, caFile)) };
  /** @type {Record<'ours' | 'core', Sample[]>} */
  const samples = { ours: [], core: [] };
  for (const kind of /** @type {const} */ (['ours', 'core'])) for (let turn = 0; turn < 2; turn++) await once500(reds[kind]);
  for (let rep = 0; rep < reps; rep++) {
    for (const kind of rep % 2 === 0 ? /** @type {const} */ (['ours', 'core']) : /** @type {const} */ (['core', 'ours'])) {
      await ask(child, { reset: true });
      const sample = await once500(reds[kind]);
      if (sample.ok !== size.appliances || sample.records !== size.appliances * SESSIONS)
        throw new Error(`${kind}: ${JSON.stringify(sample)}`);
      samples[kind].push(sample);
    }
  }
  const of = (/** @type {'ours' | 'core'} */ kind, /** @type {keyof Sample} */ figure) =>
    median(samples[kind].map((sample) => sample[figure]));
  const ratios = (/** @type {keyof Sample} */ figure) =>
    median(samples.ours.map((sample, rep) => (samples.core[rep]?.[figure] ?? NaN) / sample[figure]));
  const work = `${SESSIONS} sessions of ${size.appliances} appliances, ${DELAY_MS} ms, ${AT_ONCE} at once`;
  row(`${work}: seconds`, `≤ ${(1.5 * ALLOWED).toFixed(2)}`, of('ours', 'seconds').toFixed(2), of('ours', 'seconds') <= 1.5 * ALLOWED);
  row(`${work}: event loop p99, ms`, '≤ 40', of('ours', 'p99').toFixed(1), of('ours', 'p99') <= 40);
  // The delays of the appliances alone take this long, at this concurrency.
  const delaySeconds = (size.appliances * DELAY_MS) / AT_ONCE / 1000;
  const possible = (of('core', 'seconds') / delaySeconds).toFixed(1);
  row('the same, rate against split, http request, join', `${possible} is possible`, ratios('seconds').toFixed(2));
  row('the same, CPU against those', '≤ 1/4', `1/${ratios('cpu').toFixed(2)}`, ratios('cpu') >= 4);
  for (const kind of /** @type {const} */ (['ours', 'core']))
    console.log(
      `       ${kind}: ${of(kind, 'seconds').toFixed(2)} s, ${of(kind, 'cpu').toFixed(2)} s of CPU, p99 ${of(kind, 'p99').toFixed(0)} ms, ${of(kind, 'rss').toFixed(0)} MiB`,
    );
  for (const red of Object.values(reds)) await red.stop();
  child.kill();

  const many = await startAppliances(size.many, 0);
  const memory = fork(join(root, 'bench', 'fleet-memory.mjs'), [JSON.stringify({ urls: many.urls, ca: many.ca })], {
    execArgv: ['--expose-gc'],
  });
  ends.push(() => memory.kill());
  const [{ value }] = await once(memory, 'message');
  if (value.ok !== size.many) throw new Error(`${value.ok} of ${size.many} were well.`);
  const unusedMb = value.unused.held / 1e6;
  const usedKb = value.used.rss / size.many / 1e3;
  row(
    `${size.many} appliances in an inventory, unused: MB`,
    '≤ 20',
    `${unusedMb.toFixed(1)} (read in ${value.readMs.toFixed(0)} ms)`,
    unusedMb <= 20,
  );
  row(
    'each used once: kB (resident)',
    '≤ 200',
    `${usedKb.toFixed(0)} (held ${(value.used.held / size.many / 1e3).toFixed(0)})`,
    usedKb <= 200,
  );
  const { open } = await ask(many.child, {});
  if (!options['no-wait']) {
    const started = performance.now();
    let left = open;
    while (left > 0 && performance.now() - started < HELD_MS) {
      await wait(1000);
      left = (await ask(many.child, {})).open;
    }
    row(
      `sockets given back, of ${open}`,
      `all within ${HELD_MS / 1000} s`,
      `${open - left} after ${((performance.now() - started) / 1000).toFixed(0)} s`,
      left === 0,
    );
  }
  if (!options.quick) writeFileSync(RESULTS, report());
} finally {
  for (const end of ends.reverse()) await end();
}

/** @param {boolean | undefined} met */
function toMark(met) {
  if (met === undefined) return '';
  return met ? '✓' : 'missed';
}

function report() {
  const lines = table.map(([what, goal, measured, met]) => `| ${what} | ${goal} | ${measured} | ${toMark(met)} |`);
  // It ends with the figures of `fleet-urgent.mjs`.
  const [, ...others] = readFileSync(RESULTS, 'utf8').split('\n## ');
  return [
    '# Fleet',
    '',
    `\`node bench/fleet.mjs\`, Node-RED 4.1, median of ${reps} repetitions that take turns. At the beginning the machine had a load of ${busy} on ${cpus().length} cores.`,
    '',
    '| work | goal | measured | |',
    '|---|---|---|---|',
    ...lines,
    '',
    ...others.map((section) => `## ${section}`),
  ].join('\n');
}
