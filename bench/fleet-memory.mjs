// @ts-check
// Measures the memory of an inventory, unused and after one use. Run it with --expose-gc. It gets addresses and reports bytes.
import { createRequire } from 'node:module';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';

/** @type {typeof import('../src/index.js')} */
const { Inventory, runOnMany } = createRequire(import.meta.url)('../dist/src/index.js');

const { urls, ca } = JSON.parse(process.argv[2] ?? '{}');
const credentials = { default: { username: 'api-admin', password: 'simulator' } };
const settings = { defaults: { realm: 'Admin Users', tls: { ca } }, credentials };
const entries = urls.map((/** @type {string} */ url, /** @type {number} */ index) => ({ name: `vpn-${index}`, url, tags: ['eu'] }));

async function settled() {
  for (let turn = 0; turn < 4; turn++) {
    /** @type {() => void} */ (globalThis.gc)();
    await wait(50);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, held: heapUsed + external };
}

// Load modules before the measurement, because they are not a cost of an appliance.
const warm = new Inventory(settings);
await warm.loadEntries(entries.slice(0, 1));
await runOnMany(warm.appliances, 'sessions.list', {});
const before = await settled();
const inventory = new Inventory(settings);
const started = performance.now();
await inventory.loadEntries(entries);
const readMs = performance.now() - started;
const unused = await settled();
const { data } = await runOnMany(inventory.appliances, 'sessions.list', {}, { withData: false });
const used = await settled();
const bytes = (/** @type {typeof before} */ now, /** @type {typeof before} */ then) => ({
  rss: now.rss - then.rss,
  held: now.held - then.held,
});
process.send?.({ id: 0, value: { readMs, ok: data.ok, unused: bytes(unused, before), used: bytes(used, unused) } });
// Keep the process alive, so that the benchmark can see it close idle sockets.
process.on('disconnect', () => process.exit());
setInterval(() => undefined, 1000);
