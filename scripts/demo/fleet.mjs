// @ts-check
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureFleetBuilt } from '../built.mjs';
import { node24 } from '../node24.mjs';
import { root } from '../tools.mjs';
import { Cleanups } from './cleanups.mjs';
import { readExample } from './examples.mjs';
import { startNodeRed } from './node-red.mjs';

export const EXAMPLE = 'fleet/examples/Nightly backup of a fleet with a report.json';
/** This appliance is switched off. */
export const OFF = 'vpn-113';
const COUNT = 200;
/** Delay of each response of an appliance. */
const DELAY_MS = 20;

const require = createRequire(import.meta.url);

/** @typedef {Awaited<ReturnType<typeof startFleetDemo>>} FleetDemo */

/**
 * Starts appliances of which one is switched off, the PostgreSQL from npm, and two Node-RED instances with the example of the nightly backup.
 * If one of them fails, it stops all of them.
 * @param {{ onEnd?: (end: () => Promise<void>) => void }} [options] `onEnd` gets the function that stops everything
 */
export async function startFleetDemo({ onEnd } = {}) {
  ensureFleetBuilt();
  const cleanups = new Cleanups();
  const end = () => cleanups.end();
  onEnd?.(end);
  try {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-demo-fleet-'));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
    // PostgreSQL runs as another user where the demo runs as root.
    chmodSync(folder, 0o711);
    const backups = join(folder, 'backups');
    mkdirSync(backups, { mode: 0o700 });
    const [database, appliances] = await Promise.all([startDatabase(folder, cleanups), startAppliances(cleanups)]);
    const flows = setUp({ appliances, backups, folder, database: database.url });
    const begin = async (/** @type {string} */ name, /** @type {number} */ port) => {
      const userDir = join(folder, name);
      mkdirSync(userDir, { mode: 0o700 });
      const nodesDir = [root, join(root, 'fleet')];
      const nodeRed = await startNodeRed({ userDir, version: 5, node: node24(), nodesDir, port, ...flows });
      cleanups.push(() => nodeRed.stop());
      return nodeRed;
    };
    const first = await begin('first', 1880);
    const second = await begin('second', 1881);
    return { appliances, database, backups, first, second, end, ended: () => cleanups.ended };
  } catch (error) {
    await end();
    throw error;
  }
}

/**
 * @param {string} folder
 * @param {Cleanups} cleanups
 */
async function startDatabase(folder, cleanups) {
  // The types are written here, because the dependencies of the second package may not be installed yet.
  /** @type {{ createEmbeddedPostgres(folder: string): { start(): Promise<string>, stop(): Promise<void> } }} */
  const { createEmbeddedPostgres } = require(join(root, 'fleet', 'dist', 'engine', 'npm-postgres.js'));
  /** @type {{ Database: new (url: string, most: number) => { query(sql: string): Promise<Record<string, unknown>[]>, close(): Promise<void> } }} */
  const { Database } = require(join(root, 'fleet', 'dist', 'engine', 'index.js'));
  const cluster = createEmbeddedPostgres(folder);
  cleanups.push(() => cluster.stop());
  const url = await cluster.start();
  const database = new Database(url, 1);
  cleanups.push(() => database.close());
  return { url, query: (/** @type {string} */ sql) => database.query(sql) };
}

/** @param {Cleanups} cleanups */
async function startAppliances(cleanups) {
  /** @type {typeof import('../../src/simulator/index.js')} */
  const { startSimulatedFleet } = require(join(root, 'dist', 'src', 'simulator', 'index.js'));
  const fleet = await startSimulatedFleet(COUNT, { delayMs: DELAY_MS });
  cleanups.push(() => fleet.close());
  await fleet.getAppliance(OFF).close();
  return fleet;
}

/**
 * The example flow with the settings of a new user.
 * @param {{ appliances: import('../../src/simulator/index.js').SimulatedFleet, backups: string, folder: string, database: string }} setup
 */
function setUp({ appliances, backups, folder, database }) {
  const ca = join(folder, 'appliance-ca.pem');
  writeFileSync(ca, appliances.ca);
  const { username, password } = /** @type {(typeof appliances.appliances)[0]} */ (appliances.appliances[0]).state.settings;
  /** @type {Record<string, Record<string, string>>} */
  const credentials = {};
  const flows = readExample(EXAMPLE).map((node) => {
    switch (node.type) {
      case 'tls-config':
        return { ...node, ca };
      case 'gateway-fleet-engine':
        credentials[node.id] = { url: database };
        return node;
      case 'gateway-inventory':
        credentials[node.id] = { username, password };
        return { ...node, list: JSON.stringify(appliances.entries) };
      case 'gateway-fleet-run':
        // A canary of one, to show it.
        return { ...node, canary: 1 };
      case 'inject': {
        const props = /** @type {{ p: string }[]} */ (node['props']);
        return { ...node, props: props.map((prop) => (prop.p === 'folder' ? { ...prop, v: backups } : prop)) };
      }
      default:
        return node;
    }
  });
  return { flows, credentials };
}
