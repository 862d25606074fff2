// Loaded into the measured Node-RED. It reports the CPU time and the event-loop delay of the process over IPC.
'use strict';

const { monitorEventLoopDelay } = require('node:perf_hooks');

const delay = monitorEventLoopDelay({ resolution: 5 });
process.on('message', ({ id, probe }) => {
  if (probe === undefined) return;
  const { user, system } = process.cpuUsage();
  process.send({ id, value: { cpuSeconds: (user + system) / 1e6, p99: delay.percentile(99) / 1e6, rss: process.memoryUsage.rss() } });
  // Its timer would use CPU in an idle process.
  delay.disable();
  if (probe !== 'begin') return;
  delay.enable();
  delay.reset();
});
