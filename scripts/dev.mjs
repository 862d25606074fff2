// @ts-check
// npm run dev: starts the demo, and builds and restarts it whenever a source file changes.
import { spawn, spawnSync } from 'node:child_process';
import { watch } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { root } from './tools.mjs';

const SOURCES = ['src', 'nodes', 'icons', 'examples', 'scripts'];
/** Editors write a file in several steps. */
const QUIET_MS = 300;

/** @type {import('node:child_process').ChildProcess | undefined} */
let demo;

function startDemo() {
  const child = spawn(process.execPath, [join(root, 'scripts', 'demo.mjs')], { cwd: root, stdio: 'inherit' });
  demo = child;
}

/** @returns {Promise<void>} */
async function stopDemo() {
  const child = demo;
  demo = undefined;
  if (!child || child.exitCode !== null) return;
  await new Promise((resolve) => {
    child.once('exit', resolve);
    child.kill('SIGTERM');
  });
}

/** Keeps the running demo when the sources do not compile. */
async function rebuild() {
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { cwd: root, stdio: 'inherit' });
  if (status !== 0) return;
  await stopDemo();
  startDemo();
}

/** @type {NodeJS.Timeout | undefined} */
let timer;
let working = Promise.resolve();
for (const folder of SOURCES) {
  watch(join(root, folder), { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => (working = working.then(rebuild)), QUIET_MS);
  });
}

process.once('SIGINT', () => void stopDemo().then(() => process.exit(0)));
process.once('SIGTERM', () => void stopDemo().then(() => process.exit(0)));
startDemo();
