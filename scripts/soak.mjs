// @ts-check
// npm run soak [-- --messages 100000] [-- --seed 1]: messages through eight of our nodes in a real Node-RED, while the appliance does one
// thing wrong after another, the same for the same seed. Every message has to have one outcome, and nothing may grow.
// npm run soak -- --hour: an hour in a minute, see scripts/soak/hour.mjs.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { ensureBuilt } from './built.mjs';
import { startNodeRed } from './demo/node-red.mjs';
import { ask, chanceOf, driverIn, flows, misbehave, wrongs } from './soak/flow.mjs';
import { hour } from './soak/hour.mjs';

const { values: options } = parseArgs({
  options: {
    messages: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    hour: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});
const messages = Number(options.messages);
const seed = Number(options.seed);
/** Under way at a time. */
const AT_ONCE = 40;
/** The allowed growth of the heap after the first tenth. */
const GROWTH = 1.1;
/** One fault of each kind in this many requests. */
const RARELY = 400;

ensureBuilt();
/** @type {typeof import('../src/simulator/index.js')} */
const { startSimulator } = createRequire(import.meta.url)('../dist/src/simulator/index.js');

/** @param {string} folder @returns {Promise<string[]>} what was wrong */
async function soak(folder) {
  const simulator = await startSimulator({ sessions: 30, journalLimit: 100 });
  const nodeRed = await startNodeRed({
    userDir: folder,
    version: 4,
    nodeArgs: ['--expose-gc'],
    nodesDir: driverIn(folder),
    flows: flows(folder, simulator),
    credentials: { appliance: { username: 'api-admin', password: 'simulator' } },
  });
  try {
    misbehave(simulator, chanceOf(seed), RARELY);
    const started = performance.now();
    const warm = await ask(nodeRed, { messages: Math.ceil(messages / 10), atOnce: AT_ONCE, seed });
    const end = await ask(nodeRed, { messages: messages - Math.ceil(messages / 10), atOnce: AT_ONCE });
    simulator.clearFaults();
    const seconds = (performance.now() - started) / 1000;
    const growth = end.heap / warm.heap;
    console.log(`${end.started} messages, seed ${seed}, ${seconds.toFixed(0)} s: ${JSON.stringify(end.codes)}`);
    console.log(
      `${simulator.logins} logins; heap ${warm.heap.toFixed(1)} MiB after a tenth, ${end.heap.toFixed(1)} MiB at the end (${growth.toFixed(2)})`,
    );
    if (options.verbose) console.log(nodeRed.output());
    return [
      ...wrongs(end, nodeRed),
      // The appliance counts sent requests, and the envelopes count requests that a message waited for. Each request is in one of them.
      end.logins === simulator.logins ? '' : `The appliance saw ${simulator.logins} logins, the envelopes tell of ${end.logins}.`,
      growth <= GROWTH ? '' : `The heap grew by ${Math.round((growth - 1) * 100)} %, more than ${Math.round((GROWTH - 1) * 100)} %.`,
    ];
  } finally {
    await nodeRed.stop();
    await simulator.close();
  }
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-soak-'));
  try {
    const found = await (options.hour ? hour(folder, startSimulator, { seed, verbose: options.verbose }) : soak(folder));
    const faults = found.filter((fault) => fault !== '');
    for (const fault of faults) console.error(fault);
    return faults.length === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

process.exit(await main());
