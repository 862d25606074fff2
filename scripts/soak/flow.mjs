// @ts-check
// The parts of a soak: eight nodes of this package, an appliance with one fault after another, and a driver that sends and counts.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../tools.mjs';

/**
 * A generator of its own: how the process uses chance otherwise changes nothing.
 * @param {number} seed
 */
export function chanceOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** @type {import('../../src/simulator/index.js').FaultRule[]} */
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

/**
 * From now on the appliance does each of them to one request in so many.
 * @param {import('../../src/simulator/index.js').Simulator} simulator
 * @param {() => number} chance
 * @param {number} rarely
 */
export function misbehave(simulator, chance, rarely) {
  for (const fault of FAULTS)
    simulator.fault({ ...fault, times: Infinity, match: ({ path }) => !path.endsWith('/realm_auth') && chance() < 1 / rarely });
}

/**
 * The folder of the nodes that send and count.
 * @param {string} folder
 */
export function driverIn(folder) {
  const nodesDir = join(folder, 'nodes');
  mkdirSync(nodesDir);
  copyFileSync(join(root, 'scripts', 'soak', 'driver.cjs'), join(nodesDir, 'soak.js'));
  writeFileSync(join(nodesDir, 'soak.html'), '<script>/* never edited */</script>\n');
  return [nodesDir, join(root, 'dist', 'nodes')];
}

/**
 * @param {string} folder
 * @param {{ url: string, ca: string }} appliance
 * @param {object} [settings] of the appliance node
 * @param {object[]} [more] nodes
 */
export function flows(folder, { url, ca }, settings = { timeout: '5' }, more = []) {
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
    // Half of the failures go to the Catch node, half to the second output.
    failures: index % 2 === 0 ? 'catch' : 'output',
    wires: [['sink'], ['sink']],
  }));
  return [
    { id: 'tab', type: 'tab', label: 'soak' },
    { id: 'tls', type: 'tls-config', ca: caFile, cert: '', key: '', verifyservercert: true },
    { id: 'appliance', type: 'gateway-appliance', name: 'vpn', url, login: 'realm', realm: 'Admin Users', tls: 'tls', ...settings },
    { id: 'driver', type: 'soak-driver', z: 'tab', wires: nodes.map(({ id }) => [id]) },
    { id: 'sink', type: 'soak-sink', z: 'tab', wires: [] },
    { id: 'onCatch', type: 'catch', z: 'tab', scope: nodes.map(({ id }) => id), uncaught: false, wires: [['sink']] },
    ...nodes,
    ...more,
  ];
}

/**
 * @typedef {{ outcomes: number, doubled: number, unknown: number, codes: Record<string, number>, logins: number, started: number, open: string[], heap: number }} Counts
 *
 * @param {import('../demo/node-red.mjs').NodeRed} nodeRed
 * @param {object} job
 * @returns {Promise<Counts>}
 */
export function ask({ child, output }, job) {
  return new Promise((resolve, reject) => {
    child.once('message', (/** @type {{ value: any }} */ { value }) => resolve(value));
    child.once('exit', (code) => reject(new Error(`Node-RED ended (${code}) in the middle of it. It printed:\n${output()}`)));
    child.send({ id: 1, job });
  });
}

/**
 * What no run may show.
 * @param {Counts} end
 * @param {import('../demo/node-red.mjs').NodeRed} nodeRed
 */
export function wrongs({ outcomes, started, open, doubled, unknown, codes }, nodeRed) {
  const failed = Object.values(codes).reduce((sum, count) => sum + count, 0) - (codes['done'] ?? 0);
  return [
    outcomes === started ? '' : `${started} messages had ${outcomes} outcomes; without one: ${open.join(', ')}.`,
    doubled === 0 ? '' : `${doubled} messages had a second outcome.`,
    unknown === 0 ? '' : `${unknown} outcomes belong to no message.`,
    failed > 0 ? '' : 'No fault has met a message.',
    /unhandled|uncaught|TypeError/i.test(nodeRed.output()) ? `Node-RED printed:\n${nodeRed.output()}` : '',
  ];
}
