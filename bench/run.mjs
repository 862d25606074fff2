// @ts-check
// npm run bench: the benchmark; USAGE below has the options.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../scripts/built.mjs';
import { describeMeasuredCode, hashMeasuredCode } from '../scripts/docs/performance.mjs';
import { root } from '../scripts/tools.mjs';
import { changeRows } from './change-rows.mjs';
import { chart } from './chart.mjs';
import { messageRows } from './message-rows.mjs';
import { lineOf, markdown, spreadOf } from './report.mjs';
import { startRig } from './rig.mjs';
import { rowsFor } from './rows.mjs';
import { serverRows } from './server-rows.mjs';
import { FULL, QUICK } from './size.mjs';
import { installedMegabytes, measureStart } from './start.mjs';
import { transferRows } from './transfer-rows.mjs';
import { watchRows } from './watch-rows.mjs';

/**
 * @typedef {import('./rows.mjs').Row} Row
 * @typedef {import('./report.mjs').Samples} Samples
 */

/** Starts of Node-RED with and without the nodes, in each repetition. */
const STARTS = 7;

const USAGE = `npm run bench -- [options]
  --quick        less work per row
  --only <ids>   only rows whose id contains one of these parts, separated by commas
  --reps <n>     repetitions
  --lines 4,5    major versions of Node-RED
  --out <folder> where the results go. Default: bench/results; with --quick or --only, a folder for temporary files,
                 because the documentation takes its figures from bench/results
  --verbose      each sample`;

const { values: options } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    reps: { type: 'string' },
    lines: { type: 'string', default: '4,5' },
    out: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});
if (options.help) {
  console.log(USAGE);
  process.exit();
}
ensureBuilt();
const size = options.quick ? QUICK : FULL;
const reps = Number(options.reps ?? size.reps);
const only = options.only?.split(',');
const wanted = (/** @type {string} */ id) => only === undefined || only.some((part) => id.includes(part));
const versions = /** @type {(4 | 5)[]} */ (options.lines.split(',').map(Number));
const rows = [
  ...messageRows(size),
  ...rowsFor(size),
  ...serverRows(size),
  ...transferRows(size),
  ...changeRows(size),
  ...watchRows(size),
].filter(({ id }) => wanted(id));

/**
 * @param {4 | 5} version
 * @param {'fast' | 'plain'} server
 */
async function measure(version, server) {
  const own = rows.filter((row) => (row.versions ?? [4]).includes(version) && (row.server ?? 'fast') === server);
  if (own.length === 0) return [];
  const rig = await startRig(version, server);
  process.once('SIGINT', () => void rig.end().finally(() => process.exit(130)));
  /** @type {Map<Row, Samples>} */
  const samples = new Map(own.map((row) => [row, {}]));
  try {
    // The first round warms up compilers and caches, and does not count.
    for (let rep = options.quick ? 0 : -1; rep < reps; rep++) {
      for (const row of own) {
        const contenders = Object.entries(row.contenders);
        // Each contender is first once, because the order makes a difference.
        const turn = (rep + 1) % contenders.length;
        for (const [contender, run] of [...contenders.slice(turn), ...contenders.slice(0, turn)]) {
          const sample = await run(rig);
          if (options.verbose) console.log(version, row.id, contender, JSON.stringify(sample));
          const taken = /** @type {Samples} */ (samples.get(row));
          if (rep >= 0) taken[contender] = [...(taken[contender] ?? []), sample];
        }
      }
      console.log(`Node-RED ${rig.nodeRed} on Node ${rig.nodeVersion}: ${rep < 0 ? 'warmed up' : `repetition ${rep + 1} of ${reps}`}`);
    }
  } finally {
    await rig.end();
  }
  const runtime = `Node-RED ${rig.nodeRed} on Node ${rig.nodeVersion}.`;
  if (!about.includes(runtime)) about.push(runtime);
  return own.map((row) => ({ ...lineOf(row, version, samples.get(row) ?? {}), samples: samples.get(row) ?? {} }));
}

/** @returns {Promise<ReturnType<typeof lineOf> & { samples: Samples }>} */
async function measureStarts() {
  /** @type {Record<'ours' | 'none', import('./rig.mjs').Sample[]>} */
  const samples = { ours: [], none: [] };
  if (!options.quick) for (const withNodes of [true, false]) await measureStart(withNodes);
  for (let rep = 0; rep < reps; rep++) {
    // One start varies by more than the nodes add to it, so the figure is the median of several alternating starts.
    /** @type {typeof samples} */
    const starts = { ours: [], none: [] };
    for (let start = 0; start < (options.quick ? 1 : STARTS); start++) {
      const turn = /** @type {const} */ (['ours', 'none']);
      for (const which of (rep + start) % 2 === 0 ? turn : turn.toReversed()) starts[which].push(await measureStart(which === 'ours'));
    }
    samples.ours.push(mediansOf(starts.ours));
    samples.none.push(mediansOf(starts.none));
  }
  const more = (/** @type {string} */ text, /** @type {string} */ figure) => ({
    text,
    figure,
    against: 'none',
    atMost: 15,
    value: (/** @type {import('./rig.mjs').Sample} */ ours, /** @type {import('./rig.mjs').Sample} */ none) =>
      (ours[figure] ?? NaN) - (none[figure] ?? NaN),
  });
  const row = { id: 'start', title: 'Node-RED start', contenders: {}, goals: [more('ms more', 'ms'), more('CPU ms more', 'cpuMs')] };
  return { ...lineOf(row, 4, samples), samples };
}

/**
 * @param {import('./rig.mjs').Sample[]} samples
 * @returns {import('./rig.mjs').Sample}
 */
function mediansOf(samples) {
  const figures = Object.keys(samples[0] ?? {});
  return Object.fromEntries(figures.map((figure) => [figure, spreadOf(samples.map((sample) => sample[figure] ?? NaN)).median]));
}

const started = new Date();
const machine = `${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}`;
/** @type {string[]} */
const about = [`\`npm run bench\`, ${started.toISOString().slice(0, 10)}, ${reps} repetitions, ${machine}.`];
// A result without its code is worth nothing later.
const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).stdout.trim() || 'unknown';
about.push(describeMeasuredCode(commit, hashMeasuredCode(root)));
const lines = [];
for (const version of versions) {
  for (const server of /** @type {const} */ (['fast', 'plain'])) lines.push(...(await measure(version, server)));
}
if (wanted('start')) lines.push(await measureStarts());
const megabytes = installedMegabytes();
about.push(`Installed size with runtime dependencies: ${megabytes.toFixed(1)} MB (goal: ≤ 7.5).`);

const isPartial = options.quick || only !== undefined;
const out = resolve(options.out ?? (isPartial ? join(tmpdir(), 'gateway-bench-results') : join(root, 'bench', 'results')));
mkdirSync(out, { recursive: true });
const table = markdown(lines, about);
writeFileSync(join(out, 'results.md'), table);
writeFileSync(join(out, 'results.json'), `${JSON.stringify({ started, machine, reps, megabytes, size, lines }, null, 1)}\n`);
writeFileSync(join(out, 'performance.svg'), chart(lines));
console.log(`\n${table}\nWritten to ${out}`);
