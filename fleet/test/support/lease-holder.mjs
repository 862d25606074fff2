// @ts-check
// node lease-holder.mjs <name> <file> <key> <lease in ms>: acquires a lease again and again and appends each step to the file. FLEET_URL is
// the address of the database. The file shows which process worked when, independently of what a holder believes.
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
      // The same check runs before each write to an appliance.
      await held();
      tell('write');
    }
    tell('out');
  };
  await coordination
    .runExclusive(key, work, { leaseMs: Number(leaseMs) })
    .catch((/** @type {Error} */ { message }) => tell(`lost ${message}`));
}
