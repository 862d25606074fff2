// @ts-check
// npm run soak -- --hour: an hour in the life of a Node-RED, in a minute. Its clocks and timers run sixty times as fast (fast-time.cjs), and
// the keys of the appliance end after ten of its minutes: messages come in bursts, and in the quiet between them keys die, connections
// become idle, pauses after failed logins end, while a watch looks once a minute. Loops that stop, or that run wild, show here.
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { startNodeRed } from '../demo/node-red.mjs';
import { root } from '../tools.mjs';
import { ask, chanceOf, driverIn, flows, misbehave, wrongs } from './flow.mjs';

const FACTOR = 60;
const MINUTES = 60;
const KEYS_LAST_MINUTES = 10;
/** Maximum of immediate repeats of a failed check. */
const TRIES = 4;
/** A simulated minute is a second. */
const SECOND_MS = 60_000 / FACTOR;
/** In real time. A busy machine takes longer for network requests. */
const PATIENCE_MS = 60_000;

/** @param {() => boolean | Promise<boolean>} holds */
async function until(holds) {
  for (const end = Date.now() + PATIENCE_MS; !(await holds()) && Date.now() < end;) await wait(100);
  return await holds();
}

/**
 * @param {string} folder
 * @param {typeof import('../../src/simulator/index.js').startSimulator} startSimulator
 * @param {{ seed: number, verbose: boolean }} options
 * @returns {Promise<string[]>} what was wrong
 */
export async function hour(folder, startSimulator, { seed, verbose }) {
  const simulator = await startSimulator({ sessions: 30, journalLimit: 100, keyLifetimeMs: KEYS_LAST_MINUTES * SECOND_MS });
  let looks = 0;
  // Sends no requests. Only the watch reads the health.
  simulator.fault({ times: Infinity, match: ({ path }) => path.includes('healthcheck') && (looks++, false) });
  const watch = { id: 'watch', type: 'gateway-watch', z: 'tab', appliance: 'appliance', watch: 'health', every: '60', wires: [[]] };
  const nodeRed = await startNodeRed({
    userDir: folder,
    version: 4,
    nodeArgs: ['--expose-gc', '--require', join(root, 'scripts', 'soak', 'fast-time.cjs')],
    env: { GATEWAY_SOAK_FACTOR: String(FACTOR) },
    nodesDir: driverIn(folder),
    // Ten real seconds, because network requests are not faster.
    flows: flows(folder, simulator, { timeout: '600' }, [watch]),
    credentials: { appliance: { username: 'api-admin', password: 'simulator' } },
  });
  try {
    misbehave(simulator, chanceOf(seed), 100);
    const begun = process.hrtime.bigint();
    const end = await ask(nodeRed, { minutes: MINUTES, atOnce: 20, seed });
    simulator.clearFaults();
    const minutes = (Number(process.hrtime.bigint() - begun) / 1e9 / 60) * FACTOR;
    const most = Math.ceil(minutes + 1) * TRIES;
    const told = looks;
    console.log(`${minutes.toFixed(0)} minutes in ${(minutes / FACTOR).toFixed(1)}: ${end.started} messages ${JSON.stringify(end.codes)}`);
    console.log(`${told} looks of the watch, ${simulator.logins} logins, ${simulator.totalConnections} connections`);
    if (verbose) console.log(nodeRed.output());
    const idle = await until(() => simulator.openConnections <= 1);
    // The faults are over, so the watch checks again, with a new key if necessary.
    simulator.fault({ times: Infinity, match: ({ path }) => path.includes('healthcheck') && (looks++, false) });
    const before = looks;
    const looksOn = await until(() => looks >= before + 2);
    // Time runs faster here, so a busy machine may not connect in time. Such a login does not reach the appliance.
    const { CONNECTION = 0, TIMEOUT = 0 } = /** @type {Record<string, number>} */ (end.codes);
    let logins = 0;
    const counted = await until(async () => {
      const { appliances } = await (await fetch(`${nodeRed.url}/gateway-appliance/counters`)).json();
      logins = appliances[0].counters.logins;
      return logins >= simulator.logins && logins <= simulator.logins + CONNECTION + TIMEOUT;
    });
    return [
      ...wrongs(end, nodeRed),
      told <= most ? '' : `The watch looked ${told} times in ${minutes.toFixed(0)} minutes: once a minute was asked for.`,
      looksOn ? '' : 'The watch has stopped looking.',
      idle ? '' : `${simulator.openConnections} connections are still open long after the last message.`,
      simulator.logins > 1 ? '' : 'No key has ended.',
      counted ? '' : `The appliance saw ${simulator.logins} logins, the counters report ${logins}.`,
    ];
  } finally {
    await nodeRed.stop();
    await simulator.close();
  }
}
