// One transfer in a fresh process: how long, how much memory above idle, and the longest time that the event loop did not turn.
import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';

const { url, ca, operation, input } = JSON.parse(process.argv[2]);
const load = createRequire(import.meta.url);
const library = process.env.GATEWAY_LIBRARY ?? '../dist/src';
const { Gateway } = load(`${library}/gateway.js`);

const gateway = new Gateway({ url, realm: 'r', username: 'u', password: 'p', tls: { ca } });
// Idle is a process that has talked to the appliance already.
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
  // Asking for the size costs 0.2 ms; ten times in between, only the clock is looked at.
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
