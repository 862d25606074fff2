#!/usr/bin/env node
import { runConformanceCommand } from './command';

/** A canceled check removes what it created before the process ends. */
const controller = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort());

void runConformanceCommand(process.argv.slice(2), {
  env: process.env,
  print: (text) => void process.stdout.write(text),
  printError: (text) => void process.stderr.write(text),
  signal: controller.signal,
}).then((code) => {
  process.exitCode = code;
});

// esbuild takes a file without exports for CommonJS.
export {};
