// @ts-check
// Sends messages through the nodes of one build and reports their CPU. The parent process says which kind and how many.
import { createHook } from 'node:async_hooks';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { runReference } from './reference.mjs';
import { stubNetwork } from './stub-network.mjs';
import { loadNodes } from './stub-node-red.mjs';

const IN_FLIGHT = 10;
const nodesFile = process.argv[2] ?? '';
// The journal is in memory where possible: a disk would be measured with it.
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'gateway-cpu-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

stubNetwork(join(dirname(nodesFile), '..', '..'));
const startedLoading = process.cpuUsage();
const runtime = loadNodes(nodesFile, folder);

const appliance = (/** @type {string} */ id, /** @type {object} */ more = {}) =>
  runtime.start(
    { id, type: 'gateway-appliance', name: id, url: 'https://gateway.example', login: 'key', connections: IN_FLIGHT, ...more },
    { apiKey: 'api-key-of-the-guard' },
  );
appliance('plain');
// The first node loads most of the package.
const loadMs = toMs(process.cpuUsage(startedLoading));
appliance('journaled', { journal: join(folder, 'journal') });

const action = (
  /** @type {string} */ type,
  /** @type {string} */ operation,
  /** @type {string} */ applianceId,
  /** @type {object} */ fields = {},
) =>
  runtime.start({
    ...{ id: `${operation}-${applianceId}`, type, operation, operationType: 'op', appliance: applianceId, fields },
    ...{ output: 'payload', failures: 'catch', z: 'tab', wires: [[]] },
  });
const number = (/** @type {number} */ value) => ({ type: 'num', value: String(value) });
let round = 0;
// Writes of one resource would wait for each other in a journal.
const update = () => ({ path: `users/user-roles/user-role/Role ${++round % 100}`, body: { description: `round ${round}` } });

/** @type {Record<string, { node: import('./stub-node-red.mjs').StubNode, payload: () => unknown }>} */
const kinds = {
  read: { node: action('gateway-system', 'info', 'plain'), payload: () => '' },
  kill: { node: action('gateway-sessions', 'kill', 'plain'), payload: () => `sid${String(++round).padStart(40, '0')}` },
  page: { node: action('gateway-sessions', 'list', 'plain', { limit: number(200) }), payload: () => '' },
  update: { node: action('gateway-config', 'update', 'plain'), payload: update },
  journal: { node: action('gateway-config', 'update', 'journaled'), payload: update },
};

/** @param {NodeJS.CpuUsage} usage */
function toMs({ user, system }) {
  return (user + system) / 1000;
}

/**
 * @param {string} kind
 * @param {number} count
 * @param {number} inFlight
 */
function sendMessages(kind, count, inFlight) {
  const { node, payload } = /** @type {NonNullable<typeof kinds[string]>} */ (kinds[kind]);
  return new Promise((resolve, reject) => {
    let sent = 0;
    let open = 0;
    const next = () => {
      if (sent >= count) return open === 0 && resolve(undefined);
      open++;
      /** @type {any} */
      let result;
      node.emit(
        'input',
        { _msgid: `id${sent++}`, payload: payload(), topic: '' },
        (/** @type {object} */ message) => (result = message),
        (/** @type {unknown} */ error) => {
          open--;
          if (error || result?.envelope?.ok !== true) reject(new Error(`${kind} failed: ${JSON.stringify(error)}`));
          else next();
        },
      );
    };
    for (let lane = 0; lane < Math.min(inFlight, count); lane++) next();
  });
}

/** @param {() => Promise<unknown>} work */
async function measureCpu(work) {
  const before = process.cpuUsage();
  await work();
  return toMs(process.cpuUsage(before));
}

/** @param {string} kind */
async function countPromises(kind) {
  let promises = 0;
  const hook = createHook({ init: (_id, type) => void (type === 'PROMISE' && promises++) });
  await sendMessages(kind, 50, 1);
  hook.enable();
  await sendMessages(kind, 100, 1);
  hook.disable();
  return promises / 100;
}

/** @param {{ kind: string, count: number, what: string }} job */
async function perform({ kind, count, what }) {
  if (what === 'promises') return countPromises(kind);
  if (what === 'load') return loadMs;
  return measureCpu(() => (what === 'reference' ? runReference(count) : sendMessages(kind, count, IN_FLIGHT)));
}

process.on('message', (/** @type {any} */ job) =>
  perform(job).then(
    (value) => process.send?.({ value }),
    (error) => process.send?.({ error: String(error?.stack ?? error) }),
  ),
);
process.on('disconnect', () => process.exit());
process.send?.({ value: 'ready' });
