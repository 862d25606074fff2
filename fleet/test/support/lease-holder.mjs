// @ts-check
// node lease-holder.mjs <name> <file> <key> <lease in ms>: takes turns at a key for ever, and tells of each step in the file. The address
// of the database comes by the environment, FLEET_URL. Whoever reads the file sees who was in when, whatever a holder thinks itself.
import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';

const { Database, LeaseCoordination } = createRequire(import.meta.url)('../../dist/engine/index.js');
const STEPS = 12;
const STEP_MS = 8;

const [, , name = '', file = '', key = '', leaseMs = ''] = process.argv;
const coordination = new LeaseCoordination(new Database(process.env['FLEET_URL']), name);
for (let turn = 0; ; turn++) {
  const tell = (/** @type {string} */ what) => appendFileSync(file, `${name} ${turn} ${what}\n`);
  const work = async (/** @type {() => Promise<void>} */ held) => {
    tell('in');
    for (let step = 0; step < STEPS; step++) {
      await pause(STEP_MS);
      // As before each write to an appliance.
      await held();
      tell('write');
    }
    tell('out');
  };
  await coordination
    .runExclusive(key, work, { leaseMs: Number(leaseMs) })
    .catch((/** @type {Error} */ { message }) => tell(`lost ${message}`));
}
