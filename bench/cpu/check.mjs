// @ts-check
// node bench/cpu/check.mjs: CPU per message of nodes and library without a network, as a multiple of a fixed reference. The ratio depends
// little on the machine and its load. It fails when a kind of message costs over 15 % more than limits.json says.
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
import { createSamples, KINDS, measureRound, startWorker, toSpread } from './measure.mjs';

const TOLERANCE = 1.15;
const WARM_UP_ROUNDS = 12;
/** Other work only adds CPU, so a limit that was kept once was kept. */
const MAX_ATTEMPTS = 3;
const { values: options } = parseArgs({
  options: {
    update: { type: 'boolean', default: false },
    promises: { type: 'boolean', default: false },
    against: { type: 'string' },
    nodes: { type: 'string' },
    rounds: { type: 'string', default: '15' },
  },
});
if (!options.nodes) ensureBuilt();
const limitsFile = join(root, 'bench', 'cpu', 'limits.json');
const builds = [options.nodes ?? join(root, 'dist', 'nodes', 'gateway.js'), ...(options.against ? [options.against] : [])];

const passed = await attempt(1);
process.exitCode = passed ? 0 : 1;

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
      for (const { worker, samples } of contenders) await measureRound(worker, KINDS, round < 0 ? createSamples() : samples);
    }
    for (const { file, worker, samples } of contenders) printSamples(file, await worker.ask({ what: 'load' }), samples);
  } finally {
    for (const { worker } of contenders) worker.end();
  }
  const excess = judge(contenders[0]?.samples ?? createSamples());
  if (excess.length === 0) return true;
  for (const text of excess) console.error(text);
  return number < MAX_ATTEMPTS && attempt(number + 1);
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
    const { min, quarter, median, max } = toSpread(samples[kind]);
    const range = `${min.toFixed(2)}–${max.toFixed(2)}`;
    console.log(`  ${kind.padEnd(8)} lower quartile ${quarter.toFixed(2)}, median ${median.toFixed(2)} (${range}) × reference`);
  }
}

/**
 * Returns a line for each kind that costs too much. The lower quartile varies least with the load.
 * @param {import('./measure.mjs').Samples} samples
 */
function judge(samples) {
  const measured = Object.fromEntries(KINDS.map((kind) => [kind, Math.round(toSpread(samples[kind]).quarter * 100) / 100]));
  if (options.update) {
    writeFileSync(limitsFile, `${JSON.stringify(measured, null, 2)}\n`);
    return [];
  }
  /** @type {Record<string, number>} */
  const limits = JSON.parse(readFileSync(limitsFile, 'utf8'));
  return KINDS.flatMap((kind) => {
    const ratio = (measured[kind] ?? NaN) / (limits[kind] ?? NaN);
    if (ratio <= TOLERANCE) return [];
    return [`${kind}: ${measured[kind]} × reference, which is ${ratio.toFixed(2)} times the committed ${limits[kind]}.`];
  });
}
