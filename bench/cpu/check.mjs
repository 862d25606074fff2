// @ts-check
// node bench/cpu/check.mjs: CPU per message of nodes and library without a network, as a multiple of a fixed reference. The ratio depends
// little on the machine and its load. It fails when a kind of message costs over 15 % more than limits.json says, in each of three processes.
//   --update           writes limits.json
//   --against <file>   also measures another build (its dist/nodes/gateway.js), in turns
//   --promises         counts the promises per message instead
//   --rounds <n>
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../../scripts/built.mjs';
import { root } from '../../scripts/tools.mjs';
import { createSamples, KINDS, measureRound, startWorker, toRatio } from './measure.mjs';

const TOLERANCE = 1.15;
const WARM_UP_ROUNDS = 50;
/** Each attempt is a new process. Other work only adds CPU, so the least counts. */
const MAX_ATTEMPTS = 3;
const { values: options } = parseArgs({
  options: {
    update: { type: 'boolean', default: false },
    promises: { type: 'boolean', default: false },
    against: { type: 'string' },
    nodes: { type: 'string' },
    rounds: { type: 'string', default: '100' },
  },
});
if (!options.nodes) ensureBuilt();
const limitsFile = join(root, 'bench', 'cpu', 'limits.json');
const builds = [options.nodes ?? join(root, 'dist', 'nodes', 'gateway.js'), ...(options.against ? [options.against] : [])];

/** @type {Record<string, number>} */
const least = {};
const passed = await attempt(1);
if (options.update) writeFileSync(limitsFile, `${JSON.stringify(least, null, 2)}\n`);
process.exitCode = passed || options.update ? 0 : 1;

/**
 * @param {number} number
 * @returns {Promise<boolean>}
 */
async function attempt(number) {
  const contenders = await Promise.all(
    builds.map(async (file) => ({ file: resolve(file), worker: await startWorker(resolve(file)), samples: createSamples() })),
  );
  try {
    if (options.promises) {
      for (const { file, worker } of contenders) await printPromises(file, worker);
      return true;
    }
    for (let round = -WARM_UP_ROUNDS; round < Number(options.rounds); round++) {
      for (const { worker, samples } of contenders) await measureRound(worker, round < 0 ? createSamples() : samples);
    }
    for (const { file, worker, samples } of contenders) printSamples(file, await worker.ask({ what: 'load' }), samples);
  } finally {
    for (const { worker } of contenders) worker.end();
  }
  const excess = judge(contenders[0]?.samples ?? createSamples());
  for (const text of excess) console.error(text);
  if (number < MAX_ATTEMPTS && (excess.length > 0 || options.update)) return attempt(number + 1);
  return excess.length === 0;
}

/**
 * @param {string} file
 * @param {import('./measure.mjs').Worker} worker
 */
async function printPromises(file, worker) {
  const counts = [];
  for (const kind of KINDS) counts.push(`${kind} ${Math.round(await worker.ask({ what: 'promises', kind }))}`);
  console.log(`promises per message, ${file}: ${counts.join(', ')}`);
}

/**
 * @param {string} file
 * @param {number} loadMs
 * @param {import('./measure.mjs').Samples} samples
 */
function printSamples(file, loadMs, samples) {
  console.log(`${file}: loaded with ${loadMs.toFixed(0)} ms of CPU`);
  for (const kind of KINDS) {
    const microseconds = 1000 * Math.min(...samples[kind]);
    console.log(`  ${kind.padEnd(8)} ${toRatio(samples, kind).toFixed(2)} × reference (${microseconds.toFixed(1)} µs)`);
  }
}

/**
 * Returns a line for each kind that costs too much, by the least of all attempts.
 * @param {import('./measure.mjs').Samples} samples
 */
function judge(samples) {
  for (const kind of KINDS) least[kind] = Math.min(least[kind] ?? Infinity, Number(toRatio(samples, kind).toFixed(2)));
  /** @type {Record<string, number>} */
  const limits = JSON.parse(readFileSync(limitsFile, 'utf8'));
  return KINDS.flatMap((kind) => {
    const ratio = (least[kind] ?? NaN) / (limits[kind] ?? NaN);
    return ratio <= TOLERANCE
      ? []
      : [`${kind}: ${least[kind]} × reference, which is ${ratio.toFixed(2)} times the committed ${limits[kind]}.`];
  });
}
