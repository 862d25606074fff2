// @ts-check
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../tools.mjs';

/** The measured files: the library without the simulator. */
const isMeasured = (/** @type {string} */ path) => /^src\/.*\.ts$/.test(path) && !path.startsWith('src/simulator/');

const git = (/** @type {string[]} */ ...args) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

/** Every measured file. */
export function allFiles() {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .filter(isMeasured)
    .sort();
}

/** The base of this change: its branch point, or the previous commit on the main branch. Undefined if the history is missing. */
function base() {
  const tries = [() => git('merge-base', 'origin/main', 'HEAD'), () => git('merge-base', 'main', 'HEAD'), () => git('rev-parse', 'HEAD~1')];
  const head = git('rev-parse', 'HEAD');
  for (const one of tries) {
    try {
      const commit = one();
      if (commit !== head) return commit;
    } catch {
      // The branch or its history is missing.
    }
  }
  return undefined;
}

/**
 * The lines that were added or changed since then, those of the working tree too; the smallest changes first.
 * @returns {{ file: string, lines: number, ranges: string[] }[] | undefined}
 */
export function changes() {
  const from = base();
  if (from === undefined) return undefined;
  const names = git('diff', '--name-only', '--diff-filter=d', from, '--', 'src').split('\n').filter(isMeasured);
  return names
    .map((file) => {
      const hunks = [...git('diff', '-U0', from, '--', file).matchAll(/^@@ .*? \+(\d+)(?:,(\d+))? @@/gm)]
        .map(([, first, count]) => ({ first: Number(first), count: Number(count ?? 1) }))
        .filter(({ count }) => count > 0);
      return {
        file,
        lines: hunks.reduce((sum, { count }) => sum + count, 0),
        ranges: hunks.map(({ first, count }) => `${file}:${first}-${first + count - 1}`),
      };
    })
    .filter(({ lines }) => lines > 0)
    .sort((one, other) => one.lines - other.lines);
}
