// Preloaded into the Node-RED of a simulated hour: its clocks run many times as fast and its timers are as much shorter, both by the same
// factor, those of libraries too. What waits for the network waits in real time, so time limits are given room.
'use strict';
const promises = require('node:timers/promises');
const timers = require('node:timers');
const { promisify } = require('node:util');

const FACTOR = Number(process.env.GATEWAY_SOAK_FACTOR);

const RealDate = Date;
const begun = RealDate.now();
const fast = () => Math.floor(begun + (RealDate.now() - begun) * FACTOR);
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, self) => Reflect.construct(target, args.length === 0 ? [fast()] : args, self),
  apply: () => new RealDate(fast()).toString(),
  get: (target, key) => (key === 'now' ? fast : Reflect.get(target, key)),
});

const now = performance.now.bind(performance);
performance.now = () => now() * FACTOR;

for (const name of ['setTimeout', 'setInterval']) {
  const real = globalThis[name];
  const shorter = (work, ms, ...rest) => real(work, (ms ?? 0) / FACTOR, ...rest);
  const wait = promises[name];
  promises[name] = (ms, ...rest) => wait((ms ?? 0) / FACTOR, ...rest);
  if (real[promisify.custom]) shorter[promisify.custom] = promises[name];
  globalThis[name] = timers[name] = shorter;
}
