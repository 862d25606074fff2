// @ts-check
// The rows of one exchange per message, against undici used directly and warm.
import { LANES } from './flows.mjs';

/**
 * @typedef {import('./rig.mjs').Rig} Rig
 * @typedef {import('./rows.mjs').Row} Row
 */

/**
 * @param {import('./size.mjs').Size} size
 * @returns {Row[]}
 */
export function messageRows({ ms, warmMs, kills }) {
  const set = { delayMs: 0, sessions: 0 };
  const contenders = (/** @type {object} */ job) => ({
    core: (/** @type {Rig} */ rig) => rig.run('core', set, { ...job, lane: LANES.info, ...coreLane(job) }),
    ours: (/** @type {Rig} */ rig) => rig.run('ours', set, { ...job, ...ownMake(job) }),
    bare: (/** @type {Rig} */ rig) => rig.run('bare', set, { ...job, by: 'bare' }),
  });
  const goals = (/** @type {number} */ rate) => [
    { text: 'messages/s', figure: 'rate', against: 'bare', atLeast: rate },
    { text: 'CPU', figure: 'cpuPer', against: 'bare', atMost: 1 },
    { text: 'CPU', figure: 'cpuPer', against: 'core', atMost: 1 / 18 },
  ];
  const warm = { ms: warmMs, count: 1e9 };
  return [
    {
      id: 'each-read-50',
      title: '0.3 kB reads, 50 in flight, d = 0',
      contenders: contenders({ make: 'plain', lane: LANES.wide, outstanding: 50, ms, warm }),
      goals: goals(1.15),
    },
    {
      id: 'each-read-10',
      title: '0.3 kB reads, 10 in flight, d = 0, against the goals of one exchange per message',
      contenders: contenders({ make: 'plain', lane: LANES.info, outstanding: 10, ms, warm }),
      goals: goals(1.15),
    },
    {
      id: 'each-kill-8',
      title: 'end sessions, a message each, 8 in flight, d = 0',
      contenders: contenders({ make: 'kill', lane: LANES.kill, outstanding: 8, count: kills, warm }),
      goals: goals(1),
    },
  ];
}

/** The core node gets the URL in the message, ours the id of the session. */
const ownMake = (/** @type {any} */ { make }) => (make === 'kill' ? { make: 'end' } : {});
const coreLane = (/** @type {any} */ { make }) => (make === 'kill' ? { lane: LANES.kill } : {});
