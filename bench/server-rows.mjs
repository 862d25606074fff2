// @ts-check
// The same small reads, kills and a list that people have, against both servers, without think time and with 5 ms: the range in which
// a figure lies, whatever the appliance.
import { LANES } from './flows.mjs';
import { byItem } from './rows.mjs';

/**
 * @typedef {import('./rig.mjs').Rig} Rig
 * @typedef {import('./rows.mjs').Row} Row
 */

/** A script for a list by hand, with a number of parallel pages. */
const BY_HAND = 4;

/**
 * @param {import('./size.mjs').Size} size
 * @returns {Row[]}
 */
export function serverRows(size) {
  const servers = /** @type {const} */ (['fast', 'plain']);
  const reads = [0, 5].flatMap((delayMs) => [
    // The rows of the fast server are in rows.mjs.
    smallReads(size, delayMs, 'plain'),
    ...servers.map((server) => someList(size, delayMs, server)),
  ]);
  return [...reads, killing(size)];
}

/**
 * @param {import('./size.mjs').Size} size
 * @param {number} delayMs
 * @param {'fast' | 'plain'} server
 * @returns {Row}
 */
function smallReads(size, delayMs, server) {
  const job = { make: 'plain', lane: LANES.info, outstanding: 10, ms: size.ms, warm: { ms: size.warmMs } };
  const set = { delayMs, sessions: size.someSessions };
  return {
    id: `small-${server}-d${delayMs}`,
    title: `0.3 kB reads, 10 in flight, ${titleOf(server, delayMs)}`,
    server,
    contenders: {
      core: (/** @type {Rig} */ rig) => rig.run('core', set, job),
      ours: (/** @type {Rig} */ rig) => rig.run('ours', set, job),
      bare: (/** @type {Rig} */ rig) => rig.run('bare', set, { ...job, by: 'bare' }),
    },
    goals: [
      delayMs === 0
        ? { text: 'messages/s', figure: 'rate', against: 'core', atLeast: 10 }
        : { text: 'messages/s', figure: 'rate', against: 'core', atLeast: 0.95 },
      { text: 'CPU', figure: 'cpuPer', against: 'core', atMost: 1 / 4 },
      { text: 'CPU', figure: 'cpuPer', against: 'bare', atMost: 1.3 },
    ],
  };
}

/**
 * @param {import('./size.mjs').Size} size
 * @param {number} delayMs
 * @param {'fast' | 'plain'} server
 * @returns {Row}
 */
function someList(size, delayMs, server) {
  const set = { delayMs, sessions: size.someSessions };
  const warm = { ms: size.warmMs, count: 1e9 };
  const pages = size.someSessions / 200;
  const list = { make: 'list', lane: LANES.list, count: 1, outstanding: 1, expect: size.someSessions, warm };
  return {
    id: `some-${server}-d${delayMs}`,
    title: `list of ${size.someSessions.toLocaleString('en')} sessions, ${titleOf(server, delayMs)}`,
    server,
    contenders: {
      core: async (/** @type {Rig} */ rig) => byItem(await rig.run('core', set, list), size.someSessions),
      ours: async (/** @type {Rig} */ rig) => byItem(await rig.run('ours', set, list), size.someSessions),
      bare: async (/** @type {Rig} */ rig) => {
        const job = { by: 'bare', make: 'page', count: pages, pages, outstanding: BY_HAND, keep: true, warm };
        return byItem(await rig.run('bare', set, job), size.someSessions);
      },
    },
    goals: [
      { text: 'rate', figure: 'rate', against: 'core', atLeast: delayMs === 0 ? 1.8 : 3 },
      { text: 'rate', figure: 'rate', against: 'bare', atLeast: 0.9 },
    ],
  };
}

/**
 * @param {import('./size.mjs').Size} size
 * @returns {Row}
 */
function killing({ kills, warmMs }) {
  const set = { delayMs: 0, sessions: 0 };
  const one = (/** @type {number} */ outstanding) => ({
    make: 'kill',
    lane: LANES.kill,
    count: kills,
    outstanding,
    warm: { ms: warmMs, count: 1e9 },
  });
  return {
    id: 'kill-plain-d0',
    title: `end ${kills.toLocaleString('en')} sessions, 8 connections, ${titleOf('plain', 0)}`,
    server: 'plain',
    contenders: {
      core: (/** @type {Rig} */ rig) => rig.run('core', set, one(1)),
      ours: async (/** @type {Rig} */ rig) =>
        byItem(await rig.run('ours', set, { ...one(1), make: 'ids', ids: kills, count: 1, expect: kills }), kills),
      bare: (/** @type {Rig} */ rig) => rig.run('bare', set, { ...one(8), by: 'bare' }),
    },
    goals: [
      { text: 'rate', figure: 'rate', against: 'core', atLeast: 8 },
      { text: 'rate', figure: 'rate', against: 'bare', atLeast: 0.9 },
    ],
  };
}

function titleOf(/** @type {'fast' | 'plain'} */ server, /** @type {number} */ delayMs) {
  return `d = ${delayMs === 0 ? '0' : `${delayMs} ms`}${server === 'plain' ? ', another server' : ''}`;
}
