// @ts-check
// The picture of the README: the speed relative to the core node, on a logarithmic scale.

import { spreadOf } from './report.mjs';

/** @typedef {import('./report.mjs').Line & { samples: import('./report.mjs').Samples }} Line */

/** Rows of the chart: the compared figures, and whether a higher figure is better. */
const BARS = [
  { id: 'small-d0', label: 'small reads, 10 at a time', figure: 'rate', unit: 'messages a second' },
  { id: 'small-d5-10', label: 'small reads, 5 ms each, 10 at a time', figure: 'cpuPer', unit: 'less CPU' },
  { id: 'page-d5', label: 'pages of 200 sessions, 5 ms each', figure: 'cpuPer', unit: 'less CPU' },
  { id: 'list-d0', label: 'list of 100,000 sessions, one message', figure: 'seconds', unit: 'less time' },
  { id: 'list-pages-d0', label: 'the same, a message a page', figure: 'seconds', unit: 'less time' },
  { id: 'list-d20', label: 'list of 100,000 sessions, 20 ms a page', figure: 'seconds', unit: 'less time' },
  { id: 'kill-d5', label: 'end 2,000 sessions, 5 ms each', figure: 'seconds', unit: 'less time' },
  { id: 'export', label: 'export of 1 GiB to a file', figure: 'seconds', unit: 'less time' },
  { id: 'import', label: 'import of 1 GiB from a file', figure: 'seconds', unit: 'less time' },
];
const WIDTH = 860;
const LEFT = 290;
const ROW = 34;
const RIGHT = 190;

/**
 * @param {Line[]} lines
 * @returns {string}
 */
export function chart(lines) {
  const bars = BARS.flatMap(({ id, label, figure, unit }) => {
    const { ours = [], core = [] } = lines.find((one) => one.id === id && one.version === 4)?.samples ?? {};
    // The median of the ratios within a repetition, as in the table.
    const ratios = ours.map((sample, index) => (sample[figure] ?? NaN) / (core[index]?.[figure] ?? NaN));
    const { median } = spreadOf(ratios);
    return Number.isFinite(median) ? [{ label, times: figure === 'rate' ? median : 1 / median, unit }] : [];
  });
  const most = Math.max(10, ...bars.map(({ times }) => times));
  const x = (/** @type {number} */ times) => LEFT + (Math.log10(Math.max(times, 1)) / Math.log10(most)) * (WIDTH - LEFT - RIGHT);
  const height = 74 + bars.length * ROW;
  const grid = [1, 2, 5, 10, 20, 50, 100].filter((times) => times <= most);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="16" y="26" font-size="16" font-weight="600" fill="#222">These nodes against the core http request node (= 1)</text>`,
    ...grid.flatMap((times) => [
      `<line x1="${x(times).toFixed(1)}" x2="${x(times).toFixed(1)}" y1="44" y2="${height - 28}" stroke="#ddd"/>`,
      `<text x="${x(times).toFixed(1)}" y="${height - 12}" text-anchor="middle" fill="#666">${times} ×</text>`,
    ]),
    ...bars.flatMap(({ label, times, unit }, index) => {
      const y = 48 + index * ROW;
      return [
        `<text x="${LEFT - 12}" y="${y + 17}" text-anchor="end" fill="#222">${label}</text>`,
        `<rect x="${LEFT}" y="${y}" width="${Math.max(1, x(times) - LEFT).toFixed(1)}" height="24" rx="2" fill="#2f7d8c"/>`,
        `<text x="${(x(times) + 8).toFixed(1)}" y="${y + 17}" fill="#222">${times.toFixed(1)} × ${unit}</text>`,
      ];
    }),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}
