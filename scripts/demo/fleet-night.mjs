// @ts-check
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { watchDebug } from './debug.mjs';
import { readExample } from './examples.mjs';
import { EXAMPLE, OFF } from './fleet.mjs';

/** @import { FleetDemo } from './fleet.mjs' */

/** Number of backups at which the first Node-RED is killed. */
const KILLED_AT = 60;
const PATIENCE_MS = 180_000;

/**
 * Starts the backup in one Node-RED and kills that in the middle. The other one continues and reports.
 * @param {FleetDemo} demo
 * @param {(line: string) => void} tell
 */
export async function spendNight({ appliances, backups, first, second }, tell) {
  const since = performance.now();
  const now = () => `${((performance.now() - since) / 1000).toFixed(1).padStart(6)} s  `;
  const debug = await watchDebug(second);
  try {
    await press(first.url);
    tell(`${now()}"Every night at 2" is pressed in the first Node-RED.`);
    while (backedUp(backups).size < KILLED_AT) {
      if (performance.now() - since > PATIENCE_MS) throw new Error(`There are ${backedUp(backups).size} backups.\n${first.output()}`);
      await pause(50);
    }
    const done = backedUp(backups).size;
    first.child.kill('SIGKILL');
    await first.exited;
    tell(`${now()}${done} of ${appliances.entries.length} are backed up. The first Node-RED is killed (kill -9).`);
    /** @type {{ topic: string, text: string }} */
    const mail = await debug.next('Mail', PATIENCE_MS);
    tell(`${now()}The second one reports.`);
    const more = debug.shown.filter(({ name }) => name === 'Mail').length;
    return { mail, reports: 1 + more };
  } finally {
    debug.close();
  }
}

/** @param {string} url */
async function press(url) {
  const button = readExample(EXAMPLE).find(({ type }) => type === 'inject');
  const { status } = await fetch(`${url}/inject/${button?.id}`, { method: 'POST' });
  if (status !== 200) throw new Error(`The button could not be pressed (${status}).`);
}

/** Complete backups by appliance. A backup with a manifest is complete. @param {string} folder */
function backedUp(folder) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const file of readdirSync(folder)) {
    const name = file.split('_')[0] ?? '';
    if (/Z\.json$/.test(file)) found.set(name, [...(found.get(name) ?? []), file.replace(/\.json$/, '')]);
  }
  return found;
}

/**
 * Compares the tables, the folder and the report, and gives a text and a list of errors.
 * @param {FleetDemo} demo
 * @param {Awaited<ReturnType<typeof spendNight>>} night
 */
export async function reviewNight({ appliances, database, backups }, { mail, reports }) {
  const items = await database.query('SELECT appliance, state, holder, attempt FROM gateway_fleet.item');
  const of = (/** @type {string} */ state) => items.filter((item) => item['state'] === state).length;
  const all = appliances.entries.length;
  const wanted = appliances.entries.map(({ name }) => name).filter((name) => name !== OFF);
  const found = backedUp(backups);
  const missing = wanted.filter((name) => !found.get(name)?.some((backup) => isWhole(join(backups, `${backup}.xml.gz`))));
  const claimedTwice = items.filter(({ attempt }) => Number(attempt) > 1).length;
  const twice = [...found.values()].filter((list) => list.length > 1).length;
  const workers = new Set(items.map(({ holder }) => holder)).size;
  const words = [
    `The report, sent once, by the Node-RED that did not start the run:\n\n  ${mail.topic}\n  ${mail.text.trim().replaceAll('\n', '\n  ')}\n`,
    `In the tables:     ${of('ok')} of ${all} ok, ${of('failed')} failed, ${of('unknown')} unknown, ${of('skipped')} not started; ${workers} Node-REDs worked on them`,
    `In the folder:     complete backups of ${wanted.length - missing.length} appliances`,
    `In flight then:    ${claimedTwice} were started again by the second; ${twice} of them have two backups, because a backup may be made twice`,
  ];
  /** @type {string[]} */
  const faults = [];
  const expect = (/** @type {boolean} */ right, /** @type {string} */ fault) => {
    if (!right) faults.push(fault);
  };
  expect(items.length === all && of('ok') === all - 1 && of('failed') === 1, `All except ${OFF} should be ok, and that one failed.`);
  expect(missing.length === 0, `There is no complete backup of ${missing.join(', ')}.`);
  expect(workers === 2, `${workers} Node-REDs have worked, not two.`);
  expect(reports === 1, `There are ${reports} reports.`);
  expect(mail.text.includes(OFF), `The report does not name ${OFF}, which is switched off.`);
  expect(claimedTwice > 0, 'Nothing was in flight when the first Node-RED died, so the demo proves nothing.');
  return { words, faults };
}

/** @param {string} file */
function isWhole(file) {
  try {
    return /<\/configuration>\s*$/.test(gunzipSync(readFileSync(file)).toString());
  } catch {
    return false;
  }
}
