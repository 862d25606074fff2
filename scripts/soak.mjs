// @ts-check
// npm run soak [-- --messages 100000] [-- --seed 1]: messages through eight of our nodes in a real Node-RED, while the appliance does one
// thing wrong after another, the same for the same seed. Every message has to have one outcome, and nothing may grow.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { ensureBuilt } from './built.mjs';
import { startNodeRed } from './demo/node-red.mjs';
import { root } from './tools.mjs';

const { values: options } = parseArgs({
  options: {
    messages: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
});
const messages = Number(options.messages);
const seed = Number(options.seed);
/** Under way at a time. */
const AT_ONCE = 40;
/** More than the heap after the first tenth may have. */
const GROWTH = 1.1;
/** One fault in so many requests, of each kind. */
const RARELY = 400;

ensureBuilt();
/** @type {typeof import('../src/simulator/index.js')} */
const { startSimulator } = createRequire(import.meta.url)('../dist/src/simulator/index.js');

/** A generator of its own: how the process uses chance otherwise changes nothing. */
let state = seed >>> 0;
const chance = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};

/** @type {import('../src/simulator/index.js').FaultRule[]} */
const FAULTS = [
  { status: 401 },
  { status: 403, body: '' },
  { status: 403 },
  { status: 429, headers: { 'retry-after': '1' } },
  { status: 500 },
  { status: 503, headers: { 'retry-after': '1' } },
  { status: 302, headers: { location: 'https://127.0.0.1:1/' } },
  { body: '<html>Sign in</html>' },
  { body: '{"half":' },
  { cut: 'before-headers' },
  { cut: 'headers' },
  { cut: 'half' },
  { truncate: 'half' },
  { delayMs: 100 },
];

/** @param {string} folder @param {{ url: string, ca: string }} appliance */
function flows(folder, { url, ca }) {
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, ca);
  const local = { type: 'str', value: 'System Local' };
  /** @type {[string, string, object][]} */
  const kinds = [
    ['sessions', 'list', {}],
    ['system', 'info', {}],
    ['license', 'lease-info', {}],
    ['config', 'get', {}],
    ['config', 'ensure', {}],
    ['users', 'ensure', { server: local }],
    ['groups', 'add', { server: { type: 'str', value: 'Corp AD' }, directory: { type: 'str', value: 'ad' } }],
    ['request', 'get', {}],
  ];
  const nodes = kinds.map(([area, operation, fields], index) => ({
    id: `node${index}`,
    type: `gateway-${area}`,
    z: 'tab',
    appliance: 'appliance',
    operation,
    fields,
    // Half of them to the catch node, half to their second output.
    failures: index % 2 === 0 ? 'catch' : 'output',
    wires: [['sink'], ['sink']],
  }));
  return [
    { id: 'tab', type: 'tab', label: 'soak' },
    { id: 'tls', type: 'tls-config', ca: caFile, cert: '', key: '', verifyservercert: true },
    { id: 'appliance', type: 'gateway-appliance', name: 'vpn', url, login: 'realm', realm: 'Admin Users', tls: 'tls', timeout: '5' },
    { id: 'driver', type: 'soak-driver', z: 'tab', wires: nodes.map(({ id }) => [id]) },
    { id: 'sink', type: 'soak-sink', z: 'tab', wires: [] },
    { id: 'onCatch', type: 'catch', z: 'tab', scope: null, uncaught: false, wires: [['sink']] },
    ...nodes,
  ];
}

/**
 * @param {import('./demo/node-red.mjs').NodeRed} nodeRed
 * @param {object} job
 * @returns {Promise<{ outcomes: number, doubled: number, unknown: number, codes: Record<string, number>, logins: number, started: number, open: string[], heap: number }>}
 */
function ask({ child, output }, job) {
  return new Promise((resolve, reject) => {
    child.once('message', (/** @type {{ value: any }} */ { value }) => resolve(value));
    child.once('exit', (code) => reject(new Error(`Node-RED ended (${code}) in the middle of it. It printed:\n${output()}`)));
    child.send({ id: 1, job });
  });
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-soak-'));
  const simulator = await startSimulator({ sessions: 30, journalLimit: 100 });
  const nodesDir = join(folder, 'nodes');
  mkdirSync(nodesDir);
  copyFileSync(join(root, 'scripts', 'soak', 'driver.cjs'), join(nodesDir, 'soak.js'));
  writeFileSync(join(nodesDir, 'soak.html'), '<script>/* never edited */</script>\n');
  const nodeRed = await startNodeRed({
    userDir: folder,
    version: 4,
    nodeArgs: ['--expose-gc'],
    nodesDir: [nodesDir, join(root, 'dist', 'nodes')],
    flows: flows(folder, simulator),
    credentials: { appliance: { username: 'api-admin', password: 'simulator' } },
  });
  try {
    for (const fault of FAULTS)
      simulator.fault({ ...fault, times: Infinity, match: ({ path }) => !path.endsWith('/realm_auth') && chance() < 1 / RARELY });
    const started = performance.now();
    const warm = await ask(nodeRed, { messages: Math.ceil(messages / 10), atOnce: AT_ONCE, seed });
    const end = await ask(nodeRed, { messages: messages - Math.ceil(messages / 10), atOnce: AT_ONCE });
    simulator.clearFaults();
    const seconds = (performance.now() - started) / 1000;
    const failed = Object.values(end.codes).reduce((sum, count) => sum + count, 0) - (end.codes['done'] ?? 0);
    const growth = end.heap / warm.heap;
    console.log(`${end.started} messages, seed ${seed}, ${seconds.toFixed(0)} s: ${JSON.stringify(end.codes)}`);
    console.log(
      `${simulator.logins} logins; heap ${warm.heap.toFixed(1)} MiB after a tenth, ${end.heap.toFixed(1)} MiB at the end (${growth.toFixed(2)})`,
    );
    const faults = [
      end.outcomes === end.started ? '' : `${end.started} messages had ${end.outcomes} outcomes; without one: ${end.open.join(', ')}.`,
      end.doubled === 0 ? '' : `${end.doubled} messages had a second outcome.`,
      end.unknown === 0 ? '' : `${end.unknown} outcomes belong to no message.`,
      // The appliance counts what was sent, the envelopes what a message had to wait for: each is in one of them.
      end.logins === simulator.logins ? '' : `The appliance saw ${simulator.logins} logins, the envelopes tell of ${end.logins}.`,
      growth <= GROWTH ? '' : `The heap grew by ${Math.round((growth - 1) * 100)} %, more than ${Math.round((GROWTH - 1) * 100)} %.`,
      failed > 0 ? '' : 'No fault has met a message.',
      /unhandled|uncaught|TypeError/i.test(nodeRed.output()) ? `Node-RED printed:\n${nodeRed.output()}` : '',
    ].filter((fault) => fault !== '');
    if (options.verbose) console.log(nodeRed.output());
    for (const fault of faults) console.error(fault);
    return faults.length === 0 ? 0 : 1;
  } finally {
    await nodeRed.stop();
    await simulator.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

process.exit(await main());
