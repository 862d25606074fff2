// @ts-check
// npm run mutate [-- --files src/a.ts,src/b.ts | --changed] [-- --minutes 3] [-- --verbose]: mistakes are put into the library one by one;
// a test has to notice each of them. Files are measured one after the other, each with the tests of scripts/mutation/tests.mjs.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { allFiles, changes } from './mutation/ranges.mjs';
import { testsOf } from './mutation/tests.mjs';
import { root } from './tools.mjs';

const { values: options } = parseArgs({
  options: {
    files: { type: 'string' },
    changed: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    concurrency: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
});

/** The required score of a file, in percent. A single survivor is not a failure, because a small change has few mutants. */
const ENOUGH = 90;
const until = options.minutes ? Date.now() + Number(options.minutes) * 60_000 : Infinity;
const RESULTS = join(root, 'node_modules', '.cache', 'mutation');

/**
 * @typedef {{ line: number, column: number }} Place
 * @typedef {object} Mutant as Stryker reports it
 * @property {string} status
 * @property {string} mutatorName
 * @property {string} [replacement]
 * @property {{ start: Place, end: Place }} location
 * @property {string[]} [coveredBy]
 * @property {number} [testsCompleted]
 */

/** The remaining work: a file, with its changed lines if not all of them changed. */
function jobs() {
  if (options.files) return options.files.split(',').map((file) => ({ file, ranges: [file] }));
  if (!options.changed) return allFiles().map((file) => ({ file, ranges: [file] }));
  const found = changes();
  if (!found) console.log('There is no earlier commit to compare with: nothing is measured.');
  return found ?? [];
}

const STRYKER = join(root, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');

/**
 * Undefined where the time was up.
 * @param {string} file
 * @param {string[]} ranges
 * @param {string[]} [more] arguments
 * @returns {Promise<Mutant[] | undefined>}
 */
async function run(file, ranges, more = []) {
  const report = join(RESULTS, `${file.replaceAll('/', '-')}.json`);
  rmSync(report, { force: true });
  const args = [STRYKER, 'run', '--mutate', ranges.join(','), '--concurrency', options.concurrency, ...more];
  const env = { ...process.env, GATEWAY_MUTATION_TESTS: testsOf(file).join(','), GATEWAY_MUTATION_REPORT: report };
  const temporary = ['--tempDirName', `.stryker-tmp/${process.pid}`];
  const child = spawn(process.execPath, [...args, ...temporary], {
    cwd: root,
    env,
    stdio: options.verbose ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  });
  /** @type {string[]} */
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece) => printed.push(String(piece)));
  const timer = Number.isFinite(until) ? setTimeout(() => child.kill('SIGINT'), Math.max(0, until - Date.now())) : undefined;
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  if (!existsSync(report)) {
    if (Date.now() >= until) return undefined;
    // Lines with only types and comments.
    if (code === 0) return [];
    throw new Error(`Stryker ended (${code}) at ${file}:\n${printed.join('')}`);
  }
  const { files } = /** @type {{ files: Record<string, { mutants: Mutant[] }> }} */ (JSON.parse(readFileSync(report, 'utf8')));
  return Object.values(files).flatMap(({ mutants }) => mutants);
}

/** None of its tests was run. The end of the previous run can affect this one, because a run ends at the first failing test. */
const isUnjudged = (/** @type {Mutant} */ { status, testsCompleted, coveredBy = [] }) =>
  status === 'Survived' && testsCompleted === 0 && coveredBy.length > 0;

/**
 * One file. Undefined where the time was up.
 * @param {{ file: string, ranges: string[] }} job
 * @returns {Promise<Mutant[] | undefined>}
 */
async function measured({ file, ranges }) {
  const mutants = await run(file, ranges);
  const again = mutants?.filter(isUnjudged) ?? [];
  if (!mutants || again.length === 0) return mutants;
  const key = (/** @type {Mutant} */ { location: { start, end }, mutatorName, replacement }) =>
    JSON.stringify([start, end, mutatorName, replacement]);
  const places = again.map(({ location: { start, end } }) => `${file}:${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`);
  const judged = await run(file, [...new Set(places)], ['--disableBail']);
  const verdicts = new Map(judged?.map((mutant) => [key(mutant), mutant]));
  return judged && mutants.map((mutant) => (isUnjudged(mutant) ? (verdicts.get(key(mutant)) ?? mutant) : mutant));
}

/** @param {string} file @param {Mutant[]} mutants */
function judged(file, mutants) {
  const counted = mutants.filter(({ status }) => /^(?:Killed|Timeout|Survived|NoCoverage)$/.test(status));
  const alive = counted.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  const score = counted.length === 0 ? 100 : (100 * (counted.length - alive.length)) / counted.length;
  console.log(`${file}: ${score.toFixed(1)} % of ${counted.length}`);
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  for (const { mutatorName, replacement, location } of alive) {
    const { line } = location.start;
    console.log(`  ${line} ${mutatorName}: ${(lines[line - 1] ?? '').trim()}\n      → ${(replacement ?? '').split('\n')[0]}`);
  }
  return score >= ENOUGH || alive.length <= 1;
}

mkdirSync(RESULTS, { recursive: true });
/** @type {string[]} */
const weak = [];
/** @type {string[]} */
const left = [];
for (const job of jobs()) {
  const mutants = Date.now() < until ? await measured(job) : undefined;
  if (!mutants) left.push(job.file);
  else if (!judged(job.file, mutants)) weak.push(job.file);
}
rmSync(join(root, '.stryker-tmp', String(process.pid)), { recursive: true, force: true, maxRetries: 5 });
if (left.length > 0) console.log(`Not measured, since ${options.minutes} minutes were over: ${left.join(', ')}`);
if (weak.length > 0) console.error(`Below ${ENOUGH} %: ${weak.join(', ')}`);
process.exit(weak.length === 0 ? 0 : 1);
