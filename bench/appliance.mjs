// @ts-check
// The appliance of the measurements, in a separate process. IPC messages set its delay and request its counts.
import process from 'node:process';
import { loadBenchmarkServer } from './server/load.mjs';

const { startBenchmarkAppliance } = await loadBenchmarkServer();

const appliance = await startBenchmarkAppliance();
process.on('disconnect', () => process.exit());
process.on('message', (/** @type {{ id: number, set?: { delayMs?: number, sessions?: number, policies?: number } }} */ { id, set }) => {
  const { requests, opened, maxUsed: mostUsed } = appliance.counts;
  const { user, system } = process.cpuUsage();
  process.send?.({ id, value: { requests, opened, mostUsed, cpuSeconds: (user + system) / 1e6 } });
  if (!set) return;
  Object.assign(appliance, set);
  appliance.reset();
});
process.send?.({ id: 0, value: { url: appliance.url, ca: appliance.ca } });
