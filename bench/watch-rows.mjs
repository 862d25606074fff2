// @ts-check
// The cost of a check in addition to the list that it reads.
import { LANES } from './flows.mjs';

/**
 * @typedef {import('./rig.mjs').Rig} Rig
 * @typedef {import('./rows.mjs').Row} Row
 * @typedef {import('./size.mjs').Size} Size
 */

/**
 * @param {Size} size
 * @returns {Row[]}
 */
export function watchRows({ watchedSessions: sessions }) {
  const looks = (/** @type {number} */ lane) => (/** @type {Rig} */ rig) =>
    rig.run('ours', { sessions }, { make: 'list', lane, count: 20, outstanding: 1, warm: { count: 10 } });
  return [
    {
      id: 'watch',
      title: `a check of ${sessions.toLocaleString('en')} watched sessions`,
      versions: [4, 5],
      contenders: { ours: looks(LANES.watch), list: looks(LANES.list) },
      goals: [{ text: 'CPU', figure: 'cpuPer', against: 'list', atMost: 1.3, versions: [4, 5] }],
    },
  ];
}
