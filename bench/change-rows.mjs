// @ts-check
// The rows of writes: the cost of ensure and of a journal, and snapshots of a large configuration.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LANES } from './flows.mjs';

/**
 * @typedef {import('./rig.mjs').Rig} Rig
 * @typedef {import('./rig.mjs').Sample} Sample
 * @typedef {import('./rows.mjs').Row} Row
 * @typedef {import('./rows.mjs').Goal} Goal
 * @typedef {{ make: string, lane: number }[] | undefined} Mix kinds of messages that take turns, each with its lane
 */

const CONNECTIONS = 8;
const AT_ONCE = 100;
const SNAPSHOT_MS = 5;
/** The kinds of messages that a flow sends one after the other. */
const MIXED = ['update', 'create', 'delete', 'ensure', 'kill'];

/**
 * @param {import('./size.mjs').Size} size
 * @returns {Row[]}
 */
export function changeRows({ writes, policies }) {
  const set = (delayMs = 0) => ({ delayMs, sessions: 0, policies: 0 });

  /** Sends `count` writes, a hundred at a time. `round` gives each write another value. */
  let round = 0;
  const written = async (
    /** @type {Rig} */ rig,
    /** @type {string} */ make,
    /** @type {number} */ lane,
    delayMs = 0,
    /** @type {Mix} */ mix = undefined,
  ) => {
    const job = { make: makerOf(make), lane, count: writes, outstanding: Math.min(AT_ONCE, writes), round: ++round, mix };
    // A resource must exist before it can be deleted.
    if (make === 'delete' || mix)
      await rig.run('ours', set(), { ...job, mix: undefined, make: 'update', name: 'Gone', lane: LANES.update });
    const sample = await rig.run('ours', set(delayMs), job);
    return { ...sample, requestsPer: (sample['requests'] ?? NaN) / writes };
  };

  const journalled = (/** @type {string} */ make, /** @type {string} */ what, /** @type {number} */ delayMs) => ({
    id: `journal-${make}-d${delayMs}`,
    title: `${what}, ${AT_ONCE} at once, with a journal, d = ${delayMs === 0 ? '0' : `${delayMs} ms`}`,
    contenders: {
      ours: (/** @type {Rig} */ rig) => written(rig, make, laneOf(`${make}Journal`), delayMs),
      plain: (/** @type {Rig} */ rig) => written(rig, make, laneOf(make), delayMs),
    },
    goals: [{ text: 'time', figure: 'seconds', against: 'plain', atMost: 2 }],
  });

  const mixed = (/** @type {Rig} */ rig, /** @type {number} */ delayMs, suffix = '') =>
    written(
      rig,
      'mixed',
      NaN,
      delayMs,
      MIXED.map((make) => ({ make: makerOf(make), lane: laneOf(`${make}${suffix}`) })),
    );

  /** @type {string | undefined} */
  let folder;
  const snapshot = async (/** @type {Rig} */ rig, /** @type {'take' | 'compare'} */ what, fresh = false) => {
    if (folder === undefined || fresh) folder = newFolder(rig);
    const lane = what === 'take' ? LANES.take : LANES.compare;
    const sample = await rig.run(
      'ours',
      { delayMs: SNAPSHOT_MS, sessions: 0, policies },
      { make: 'snapshot', lane, folder, count: 1, outstanding: 1 },
    );
    const { rssPeak = NaN, rssBefore = NaN, seconds = NaN, requests = NaN } = sample;
    return { ...sample, grown: rssPeak - rssBefore, allowed: seconds / ((requests * SNAPSHOT_MS) / 1000 / CONNECTIONS) };
  };
  const resources = policies.toLocaleString('en');

  return [
    {
      id: 'write',
      title: 'a write without ensure, journal, approval or lock-out guard',
      contenders: { ours: (rig) => written(rig, 'update', LANES.update) },
      goals: [requestsEach('write', 1)],
    },
    {
      id: 'ensure-equal',
      title: 'an ensure of what is so already',
      contenders: {
        // The state after the previous round.
        ours: async (rig) => {
          await written(rig, 'update', LANES.update);
          round--;
          return written(rig, 'update', LANES.ensure);
        },
      },
      goals: [requestsEach('ensure', 1)],
    },
    {
      id: 'journal-mixed-d5',
      title: `all of these in turn, ${AT_ONCE} at once, with a journal, d = 5 ms`,
      contenders: { ours: (rig) => mixed(rig, 5, 'Journal'), plain: (rig) => mixed(rig, 5) },
      goals: [{ text: 'time', figure: 'seconds', against: 'plain', atMost: 2 }],
    },
    ...[0, 5].flatMap((delayMs) => [
      journalled('kill', 'sessions ended', delayMs),
      journalled('create', 'resources created', delayMs),
      journalled('delete', 'resources deleted', delayMs),
      journalled('ensure', 'ensures that write', delayMs),
      journalled('update', 'resources updated', delayMs),
    ]),
    {
      id: 'snapshot',
      title: `snapshot of ${resources} resources into a folder, ${SNAPSHOT_MS} ms each, ${CONNECTIONS} connections`,
      contenders: { ours: (rig) => snapshot(rig, 'take', true) },
      goals: takingGoals(),
    },
    {
      id: 'snapshot-again',
      title: 'the same once more, nothing changed',
      contenders: { ours: (rig) => snapshot(rig, 'take') },
      goals: takingGoals(),
    },
    {
      id: 'snapshot-compare',
      title: 'the same read back and compared',
      contenders: { ours: (rig) => snapshot(rig, 'compare') },
      goals: takingGoals(),
    },
  ];
}

/** @returns {string} the kind of message */
function makerOf(/** @type {string} */ make) {
  return make === 'kill' ? 'end' : make;
}

/** @returns {number} */
function laneOf(/** @type {string} */ name) {
  const lanes = /** @type {Record<string, number>} */ (LANES);
  return lanes[name] ?? NaN;
}

function newFolder(/** @type {Rig} */ rig) {
  const made = mkdtempSync(join(rig.folder, 'snapshot-'));
  rig.atEnd(() => rmSync(made, { recursive: true, force: true, maxRetries: 5 }));
  return made;
}

/** @returns {Goal} */
function requestsEach(/** @type {string} */ what, /** @type {number} */ atMost) {
  // One additional request may be the login.
  return {
    text: `requests per ${what}`,
    figure: 'requestsPer',
    against: 'one',
    atMost: atMost + 0.05,
    value: (ours) => ours['requestsPer'] ?? NaN,
  };
}

/** @returns {Goal[]} */
function takingGoals() {
  return [
    { text: 'time', figure: 'allowed', against: 'what the connections allow', atMost: 1.3, value: (ours) => ours['allowed'] ?? NaN },
    { text: 'MiB', figure: 'grown', against: 'idle', atMost: 80, value: (ours) => ours['grown'] ?? NaN },
  ];
}
