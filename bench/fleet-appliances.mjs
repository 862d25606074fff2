// @ts-check
// Runs many appliances in a separate process. It gets their number as an argument and reports their counts over IPC.
import process from 'node:process';
import { loadBenchmarkServer } from './server/load.mjs';

const { startBenchmarkFleet } = await loadBenchmarkServer();

const { count, delayMs, sessions } = JSON.parse(process.argv[2] ?? '{}');
const fleet = await startBenchmarkFleet(count, { delayMs, sessions });
process.on('disconnect', () => process.exit());
process.on('message', (/** @type {{ id: number, reset?: boolean }} */ { id, reset }) => {
  const sum = (/** @type {(one: import('./server/benchmark-appliance.js').BenchmarkAppliance) => number} */ of) =>
    fleet.reduce((all, one) => all + of(one), 0);
  process.send?.({
    id,
    value: {
      requests: sum(({ counts }) => counts.requests),
      opened: sum(({ counts }) => counts.opened),
      open: sum(({ openConnections }) => openConnections),
    },
  });
  if (reset) for (const one of fleet) one.reset();
});
process.send?.({ id: 0, value: { urls: fleet.map(({ url }) => url), ca: fleet[0]?.ca } });
