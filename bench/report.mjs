// @ts-check
// Computes medians, ratios and the table from samples.

/**
 * @typedef {import('./rig.mjs').Sample} Sample
 * @typedef {import('./rows.mjs').Row} Row
 * @typedef {import('./rows.mjs').Goal} Goal
 * @typedef {Record<string, Sample[]>} Samples by contender, in the order of the repetitions
 * @typedef {{ median: number, min: number, max: number }} Spread
 * @typedef {{ text: string, goal: string, against: string, quantity: boolean, spread: Spread, met: boolean }} Result
 * @typedef {{ id: string, title: string, version: 4 | 5, results: Result[], medians: Record<string, Record<string, Spread>> }} Line
 */

/**
 * @param {number[]} values
 * @returns {Spread}
 */
export function spreadOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
  return { median: median ?? NaN, min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN };
}

/**
 * One row of the table: every goal as the median of the ratios within a repetition.
 * @param {Row} row
 * @param {4 | 5} version
 * @param {Samples} samples
 * @returns {Line}
 */
export function lineOf(row, version, samples) {
  const repetitions = samples['ours']?.length ?? 0;
  const at = (/** @type {number} */ index) =>
    Object.fromEntries(Object.entries(samples).map(([contender, all]) => [contender, all[index] ?? {}]));
  const results = row.goals
    .filter(({ versions = [4] }) => versions.includes(version))
    .map((goal) => {
      const values = Array.from({ length: repetitions }, (_, index) => ratio(goal, at(index)));
      const spread = spreadOf(values);
      const met = spread.median >= (goal.atLeast ?? -Infinity) && spread.median <= (goal.atMost ?? Infinity);
      // A figure that may be a multiple of the other, or some milliseconds more, is not a ratio below one.
      const quantity = (goal.atMost ?? 0) > 2;
      return { text: goal.text, goal: words(goal), against: goal.against, quantity, spread, met };
    });
  const medians = Object.fromEntries(
    Object.entries(samples).map(([contender, all]) => {
      const figures = Object.keys(all[0] ?? {});
      return [contender, Object.fromEntries(figures.map((figure) => [figure, spreadOf(all.map((sample) => sample[figure] ?? NaN))]))];
    }),
  );
  return { id: row.id, title: row.title, version, results, medians };
}

/**
 * @param {Goal} goal
 * @param {Record<string, Sample>} all
 */
function ratio({ figure, against, value }, all) {
  const ours = all['ours'] ?? {};
  const other = all[against] ?? {};
  return value ? value(ours, other, all) : (ours[figure] ?? NaN) / (other[figure] ?? NaN);
}

/** @param {Goal} goal */
function words({ atLeast, atMost }) {
  return atLeast !== undefined ? `≥ ${number(atLeast)}` : `≤ ${number(atMost ?? NaN)}`;
}

/**
 * A ratio below one half reads better upside down.
 * @param {number} value
 */
export function number(value) {
  if (value > 0 && value < 0.5) return `1/${short(1 / value)}`;
  return short(value);
}

/** @param {number} value */
function short(value) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  return size >= 1000
    ? Math.round(value).toLocaleString('en')
    : size >= 100
      ? value.toFixed(0)
      : size >= 10
        ? value.toFixed(1)
        : value.toFixed(2);
}

/**
 * @param {Spread | undefined} spread
 * @param {(value: number) => string} [format]
 */
function withSpread(spread, format = short) {
  return spread ? `${format(spread.median)} (${[spread.min, spread.max].map(format).join('–')})` : '–';
}

/**
 * @param {Line[]} lines
 * @param {string[]} about how and on what it was measured
 */
export function markdown(lines, about) {
  const out = ['# Measured', '', ...about, '', '## Ratios', ''];
  out.push('Each is the median of the ratios within one repetition, with their minimum and maximum.', '');
  out.push('| Node-RED | work | figure | against | goal | measured | |', '|---|---|---|---|---|---|---|');
  for (const { version, title, results } of lines) {
    for (const { text, goal, against, quantity, spread, met } of results) {
      out.push(
        `| ${version} | ${title} | ${text} | ${against} | ${goal} | ${withSpread(spread, quantity ? short : number)} | ${met ? '✓' : 'missed'} |`,
      );
    }
  }
  out.push('', '## Medians', '', 'A record, message or page each; the whole Node-RED process counts.', '');
  out.push(
    '| Node-RED | work | by | per second | CPU µs | seconds | p50 ms | p99 ms | most sockets | opened | peak RSS MiB | stall ms | others’ cores |',
  );
  out.push(`|${'---|'.repeat(13)}`);
  const columns = ['rate', 'cpuPer', 'seconds', 'p50', 'p99', 'sockets', 'opened', 'rssPeak', 'stall', 'others'];
  for (const { version, title, medians } of lines) {
    for (const [contender, figures] of Object.entries(medians)) {
      if (!figures['seconds']) continue;
      const cells = columns.map((column) => {
        const spread = figures[column];
        if (!spread) return '–';
        return column === 'rate' || column === 'cpuPer' ? withSpread(spread) : short(spread.median);
      });
      out.push(`| ${version} | ${title} | ${contender} | ${cells.join(' | ')} |`);
    }
  }
  return `${out.join('\n')}\n`;
}
