// @ts-check
// Starts an appliance and Node-RED with the example flows: `npm run demo`. With --check, it tests them and ends. With --fleet two
// hundred appliances and two Node-REDs, of which one is killed in the middle of a backup.
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { ensureBuilt } from './built.mjs';
import { checkWebhook } from './demo/check.mjs';
import { examplesThatRun, needsDashboard } from './demo/dashboard.mjs';
import { startFleetDemo } from './demo/fleet.mjs';
import { reviewNight, spendNight } from './demo/fleet-night.mjs';
import { CODE, startDemo, TOKEN, USER } from './demo/start.mjs';
import { runsNodeRed5 } from './node24.mjs';

/** @type {(() => Promise<void>) | undefined} */
let end;

/** @param {import('./demo/start.mjs').Demo} running @param {string[]} examples */
function describe({ simulator, second, appliances, folder, nodeRed }, examples) {
  const names = examples.map((name) => `             - ${name.replace('.json', '')}`);
  const dashboard = examples.some(needsDashboard) ? `\nDashboard    ${nodeRed.url}/dashboard` : '';
  return `
Appliance    a simulator at ${simulator.url}
             ${simulator.state.sessions.count} sessions, 3 of them of ${USER}; the flows verify its certificate
             ${new Set(appliances.values()).size - 1} more for the backups and the licenses; and one at ${second?.url}, which asks for a code: ${CODE}
Backups      in ${folder}; they go when this ends
Node-RED     ${nodeRed.version}, reachable from this machine only, without a password, with these flows:
${names.join('\n')}

Editor       ${nodeRed.url}/    opens with "Start here": four buttons${dashboard}
Code         ${nodeRed.url}/gateway-login, for the example "Log in with a code"

This ends the sessions of ${USER} and tells which:

curl -X POST ${nodeRed.url}/end-sessions -H 'X-Webhook-Token: ${TOKEN}' -H 'Content-Type: application/json' -d '{"user":"${USER}"}'
`;
}

/** @param {import('./demo/start.mjs').Demo} running */
async function check(running) {
  const faults = await checkWebhook({ ...running, token: TOKEN, user: USER });
  if (faults.length === 0) {
    console.log(`The demo works (${(performance.now() / 1000).toFixed(1)} s).`);
    return 0;
  }
  console.log(`The demo does NOT work:\n- ${faults.join('\n- ')}\n\nNode-RED printed:\n${running.nodeRed.output()}`);
  return 1;
}

async function main() {
  ensureBuilt();
  const checking = process.argv.includes('--check');
  const names = examplesThatRun();
  const running = await startDemo({
    names,
    // Sessions that end automatically would count as ended by the flow.
    lively: !checking,
    guide: true,
    nodeRed: { version: runsNodeRed5() ? 5 : 4, port: 1880 },
    onEnd: (given) => (end = given),
  });
  console.log(describe(running, names));
  if (checking) return check(running);
  return untilEnded(running.nodeRed, running.ended);
}

/** @param {import('./demo/node-red.mjs').NodeRed} nodeRed @param {() => boolean} ended */
async function untilEnded(nodeRed, ended) {
  console.log('Ctrl-C ends everything.');
  await nodeRed.exited;
  // Ctrl-C also reaches Node-RED. Wait for the handler of the demo before this counts as a fault.
  await new Promise((resolve) => setTimeout(resolve, 200));
  if (ended()) return 0;
  console.error(`Node-RED has ended by itself. It printed:\n${nodeRed.output()}`);
  return 1;
}

async function fleet() {
  const running = await startFleetDemo({ onEnd: (given) => (end = given) });
  const { appliances, backups, first, second } = running;
  console.log(`
Appliances   ${appliances.entries.length} simulated ones, of which one is switched off
Database     a PostgreSQL that came by npm
Node-RED     two of ${first.version}: the first at ${first.url}/, the second at ${second.url}/, both with the same flow
Backups      in ${backups}; they go when this ends
`);
  const { words, faults } = await reviewNight(running, await spendNight(running, (line) => console.log(line)));
  console.log(`\n${words.join('\n')}\n`);
  if (faults.length > 0) {
    console.log(`The demo does NOT work:\n- ${faults.join('\n- ')}\n\nThe second Node-RED printed:\n${second.output()}`);
    return 1;
  }
  if (!process.argv.includes('--check')) return untilEnded(second, running.ended);
  console.log(`The demo works (${(performance.now() / 1000).toFixed(1)} s).`);
  return 0;
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => void (end?.() ?? Promise.resolve()).then(() => process.exit(0)));
}
let code = 1;
try {
  code = await (process.argv.includes('--fleet') ? fleet() : main());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
} finally {
  await end?.();
}
process.exit(code);
