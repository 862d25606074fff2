// @ts-check
// node bench/cpu/check.mjs: CPU per message of nodes and library without a network, as a multiple of a fixed reference. The ratio does not
// depend on the machine or its load. It fails when a kind of message costs over 15 % more than limits.json says.
//   --update           writes limits.json
//   --against <file>   also measures another build (its dist/nodes/gateway.js), in turns
//   --promises         counts the promises per message instead
//   --rounds <n>
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { root } from '../../scripts/tools.mjs';
import { createSamples, KINDS, measureRound, startWorker, toSpread } from './measure.mjs';

const TOLERANCE = 1.15;
const WARM_UP_ROUNDS = 12;
const { values: options } = parseArgs({
  options: {
    update: { type: 'boolean', default: false },
    promises: { type: 'boolean', default: false },
    against: { type: 'string' },
    nodes: { type: 'string', default: join(root, 'dist', 'nodes', 'gateway.js') },
    rounds: { type: 'string', default: '15' },
  },
});
const limitsFile = join(root, 'bench', 'cpu', 'limits.json');
const builds = [options.nodes, ...(options.against ? [options.against] : [])].map((file) => resolve(file));
const contenders = await Promise.all(builds.map(async (file) => ({ file, worker: await startWorker(file), samples: createSamples() })));

if (options.promises) {
  for (const { file, worker } of contenders) {
    const counts = [];
    for (const kind of KINDS) counts.push(`${kind} ${await worker.ask({ what: 'promises', kind })}`);
    console.log(`promises per message, ${file}: ${counts.join(', ')}`);
  }
} else {
  for (let round = -WARM_UP_ROUNDS; round < Number(options.rounds); round++) {
    for (const { worker, samples } of contenders) await measureRound(worker, KINDS, round < 0 ? createSamples() : samples);
  }
  for (const { file, worker, samples } of contenders) {
    console.log(`${file}: loaded with ${(await worker.ask({ what: 'load' })).toFixed(0)} ms of CPU`);
    for (const kind of KINDS) {
      const { min, median, max } = toSpread(samples[kind]);
      console.log(`  ${kind.padEnd(8)} ${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)}) × reference`);
    }
  }
  judge(contenders[0]?.samples ?? createSamples());
}
for (const { worker } of contenders) worker.end();

/** @param {import('./measure.mjs').Samples} samples */
function judge(samples) {
  const measured = Object.fromEntries(KINDS.map((kind) => [kind, Math.round(toSpread(samples[kind]).median * 100) / 100]));
  if (options.update) return writeFileSync(limitsFile, `${JSON.stringify(measured, null, 2)}\n`);
  /** @type {Record<string, number>} */
  const limits = JSON.parse(readFileSync(limitsFile, 'utf8'));
  for (const kind of KINDS) {
    const ratio = (measured[kind] ?? NaN) / (limits[kind] ?? NaN);
    if (ratio <= TOLERANCE) continue;
    console.error(`${kind}: ${measured[kind]} × reference, which is ${ratio.toFixed(2)} times the committed ${limits[kind]}.`);
    process.exitCode = 1;
  }
}
