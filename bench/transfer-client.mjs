// One transfer in a fresh process: its duration, memory above idle, and the longest block of the event loop.
import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';

const { url, ca, operation, input } = JSON.parse(process.argv[2]);
const load = createRequire(import.meta.url);
const library = process.env.GATEWAY_LIBRARY ?? '../dist/src';
const { Gateway } = load(`${library}/index.js`);

const gateway = new Gateway({ url, realm: 'r', username: 'u', password: 'p', tls: { ca } });
// An idle process has already sent a request to the appliance.
await gateway.run('system.info');
await wait(300);
const idle = process.memoryUsage().rss;
let peak = idle;
let stall = 0;
let turns = 0;
let last = performance.now();
const timer = setInterval(() => {
  const now = performance.now();
  stall = Math.max(stall, now - last - 2);
  last = now;
  // Reading the memory costs 0.2 ms, so only every tenth check reads it.
  if (++turns % 10 === 0) peak = Math.max(peak, process.memoryUsage.rss());
}, 2);
const cpu = process.cpuUsage();
const started = performance.now();
await gateway.run(operation, input);
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(cpu);
clearInterval(timer);
gateway.close();
console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, idle: idle / 2 ** 20, grown: (peak - idle) / 2 ** 20, stall }));
