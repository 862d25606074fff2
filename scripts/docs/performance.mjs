// @ts-check
// The figures of docs/internals/performance.md are those of the last full benchmark, as long as the measured code is unchanged.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** Code whose change makes figures old. The dialogs are not measured. */
const MEASURED = ['src/run', 'src/http', 'nodes'];
const NOT_MEASURED = /^nodes\/(editor|locales)\//;
const START = '<!-- figures: written by the build from bench/results/results.md -->';
const END = '<!-- end of figures -->';

/**
 * Identifies the code that the benchmark measures.
 * @param {string} root
 */
export function hashMeasuredCode(root) {
  const hash = createHash('sha256');
  const files = MEASURED.flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/')),
  );
  for (const file of files.filter((name) => !NOT_MEASURED.test(name)).sort())
    hash.update(`${file}\n${readFileSync(join(root, file), 'utf8').replaceAll('\r\n', '\n')}\n`);
  return hash.digest('hex').slice(0, 16);
}

/**
 * The line of results.md that names what was measured.
 * @param {string} commit @param {string} code
 */
export function describeMeasuredCode(commit, code) {
  return `Measured at commit \`${commit}\`, code \`${code}\`.`;
}

/**
 * The page with the figures of the results.
 * @param {string} page @param {string} results text of results.md @param {string} code the hash of the present code
 */
export function withFigures(page, results, code) {
  const start = page.indexOf(START);
  const end = page.indexOf(END);
  if (start < 0 || end < start) throw new Error('performance.md has no place for the figures.');
  return `${page.slice(0, start)}${START}\n\n${createFigures(results, code)}\n\n${page.slice(end)}`;
}

/**
 * @param {string} results
 * @param {string} code
 */
function createFigures(results, code) {
  const date = /\b\d{4}-\d\d-\d\d\b/.exec(results)?.[0] ?? 'an unknown day';
  const measured = /^Measured at commit `(\w+)`, code `(\w+)`\.$/m.exec(results);
  if (measured?.[2] !== code)
    return `The last full run is of ${date}. The measured code (\`src/run\`, \`src/http\` or \`nodes/\`) has changed since, so its figures are **older than the code** and are not repeated here. They are in [results.md](../../bench/results/results.md). \`npm run bench\` measures again.`;
  const [, ratios = ''] = /## Ratios\n\n([\s\S]*?)\n## Medians/.exec(results) ?? [];
  return `Measured on ${date} at commit \`${measured[1]}\`. ${ratios.trim()}`;
}

/**
 * @param {string} root
 * @returns {string | undefined} the page as it must be
 */
export function createPerformancePage(root) {
  const page = join(root, 'docs', 'internals', 'performance.md');
  const results = join(root, 'bench', 'results', 'results.md');
  if (!existsSync(page) || !existsSync(results)) return undefined;
  return withFigures(readFileSync(page, 'utf8'), readFileSync(results, 'utf8'), hashMeasuredCode(root));
}
