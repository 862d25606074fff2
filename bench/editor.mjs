// @ts-check
// The cost of the editor half: a fresh page with and without the nodes, alternately, and the picker of an appliance with 10,000 users.
//   node bench/editor.mjs [runs] [4|5]
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { chromium } from 'playwright-core';
import { ensureBuilt } from '../scripts/built.mjs';
import { startNodeRed } from '../scripts/demo/node-red.mjs';
import { node24 } from '../scripts/node24.mjs';
import { root } from '../scripts/tools.mjs';

const [runs = 15, version = 5] = process.argv.slice(2).map(Number);
const USERS = 10_000;
const executablePath =
  process.env['CHROMIUM_PATH'] ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!executablePath) throw new Error('There is no Chromium. Install it, or name it in the environment variable CHROMIUM_PATH.');
ensureBuilt();
/** @type {typeof import('../src/simulator/index.js')} */
const { startSimulator } = createRequire(import.meta.url)(`${root}dist/src/simulator/index.js`);

const median = (/** @type {number[]} */ times) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN;
const ms = (/** @type {number} */ time) => `${Math.round(time)} ms`;

const simulator = await startSimulator({ sessions: 10 });
const users = simulator.state.configuration
  .collection('authentication', 'auth-servers', 'auth-server')
  .items.get('System Local')
  ?.collection('local', 'users', 'user');
for (let at = 0; at < USERS; at++) users?.add({ username: `user${at}`, fullname: `User number ${at}` });

const line = /** @type {4 | 5} */ (version);
const work = mkdtempSync(join(tmpdir(), 'gateway-editor-'));
const tab = { id: 'f1', type: 'tab', label: 'Flow' };
const tls = { id: 'tls1', type: 'tls-config', name: 'lab', cert: '', key: '', ca: '', verifyservercert: true };
const appliance = {
  id: 'ap1',
  type: 'gateway-appliance',
  name: 'vpn-1',
  url: simulator.url,
  login: 'realm',
  realm: 'Admin Users',
  tls: 'tls1',
};
const server = { type: 'str', value: 'System Local' };
const node = {
  id: 'n1',
  type: 'gateway-users',
  z: 'f1',
  x: 200,
  y: 100,
  appliance: 'ap1',
  operation: 'disable',
  fields: { server },
  wires: [[]],
};
const common = { version: line, ...(line === 5 && { node: node24() }) };
const start = (/** @type {string} */ name, /** @type {string[]} */ nodesDir, /** @type {unknown[]} */ flows) => {
  const userDir = mkdtempSync(join(work, name));
  const credentials = { ap1: { username: 'api-admin', password: 'simulator' }, tls1: { cadata: simulator.ca } };
  return startNodeRed({ ...common, userDir, nodesDir, flows, credentials });
};
// Both pages have the same flow, because nodes in a flow have a cost too.
const without = await start('without-', [], [tab]);
const withThem = await start('with-', [root], [tab]);
const inUse = await start('in-use-', [root], [tab, tls, { ...appliance, secondFactor: 'none' }, node]);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });

/**
 * Until the flow is drawn, in a browser that has seen nothing yet: by the clock, and what of it the page was busy, which says more where
 * others use the machine too.
 * @param {string} url
 */
async function ready(url) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable');
  const begun = performance.now();
  await page.goto(url);
  await page.waitForFunction("!document.querySelector('#red-ui-loading-progress')?.offsetParent && window.RED?.nodes?.workspace?.('f1')");
  const clock = performance.now() - begun;
  const { metrics } = await session.send('Performance.getMetrics');
  await context.close();
  return { clock, busy: 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN) };
}

try {
  await ready(without.url);
  await ready(withThem.url);
  /** @type {{ without: Awaited<ReturnType<typeof ready>>, with: Awaited<ReturnType<typeof ready>> }[]} */
  const pairs = [];
  for (let run = 0; run < runs; run++) pairs.push({ without: await ready(without.url), with: await ready(withThem.url) });
  for (const [what, key] of /** @type {const} */ ([
    ['is ready in', 'clock'],
    ['was busy for', 'busy'],
  ])) {
    const [bare, full] = [median(pairs.map((pair) => pair.without[key])), median(pairs.map((pair) => pair.with[key]))];
    const more = median(pairs.map((pair) => pair.with[key] - pair.without[key]));
    console.log(
      `Node-RED ${line}, ${runs} pairs: a page ${what} ${ms(bare)} without and ${ms(full)} with the nodes; of the pairs ${ms(more)} more.`,
    );
  }

  const page = await browser.newPage();
  await page.goto(inUse.url);
  await page.waitForFunction("window.RED?.nodes?.node?.('n1')");
  /** @type {number[]} */
  const opened = [];
  for (let run = 0; run < 5; run++) {
    await page.evaluate("RED.editor.edit(RED.nodes.node('n1'))");
    await page.waitForSelector('[data-field="username"] .gateway-default');
    await page.waitForTimeout(600);
    const begun = performance.now();
    await page.click('[data-field="username"] .gateway-default');
    await page.waitForSelector('.gateway-list [role="option"]');
    opened.push(performance.now() - begun);
    await page.evaluate("$('#node-dialog-cancel').click()");
    await page.waitForSelector('.red-ui-tray', { state: 'detached' });
  }
  console.log(`A list of ${USERS} users opens in ${ms(opened[0] ?? NaN)} the first time, and then in ${ms(median(opened.slice(1)))}.`);
} finally {
  await browser.close();
  await without.stop();
  await withThem.stop();
  await inUse.stop();
  await simulator.close();
  rmSync(work, { recursive: true, force: true });
}
process.exit(0);
