// @ts-check
// The measured rows: one for each line of the table, with its contenders and the required ratios.
import { LANES } from './flows.mjs';

/**
 * @typedef {import('./rig.mjs').Rig} Rig
 * @typedef {import('./rig.mjs').Sample} Sample
 * @typedef {import('./size.mjs').Size} Size
 *
 * @typedef {object} Goal a ratio of two contenders' figures in the same repetition, ours above
 * @property {string} text
 * @property {string} figure
 * @property {string} against contender
 * @property {number} [atLeast]
 * @property {number} [atMost]
 * @property {(ours: Sample, other: Sample, all: Record<string, Sample>) => number} [value] where it is not simply one by the other
 * @property {(4 | 5)[]} [versions] lines of Node-RED for which it is a goal, default 4
 *
 * @typedef {object} Row
 * @property {string} id
 * @property {string} title
 * @property {Record<string, (rig: Rig) => Promise<Sample>>} contenders
 * @property {Goal[]} goals
 * @property {(4 | 5)[]} [versions] default 4
 * @property {'fast' | 'plain'} [server] default fast
 */

/** The CPU time of a message. @param {string} against @param {number} atMost */
const cpu = (against, atMost) => ({ text: 'CPU', figure: 'cpuPer', against, atMost });

/**
 * @param {Size} size
 * @returns {Row[]}
 */
export function rowsFor(size) {
  const loop = { ms: size.ms, warm: { ms: size.warmMs } };
  /** The same for a job with a number of messages. */
  const warm = { ms: size.warmMs, count: 1e9 };
  const set = (delayMs = 0, sessions = size.sessions) => ({ delayMs, sessions });
  const pages = size.sessions / 200;

  /** Requests in a closed loop with a fixed number of running ones. */
  const requests = (/** @type {'plain' | 'page'} */ make, /** @type {number} */ delayMs, /** @type {10 | 50} */ outstanding) => {
    const job = { make, outstanding, pages, ...loop };
    const ours = make === 'page' ? LANES.page : outstanding === 50 ? LANES.wide : LANES.info;
    const core = make === 'page' ? LANES.page : LANES.info;
    return {
      core: (/** @type {Rig} */ rig) => rig.run('core', set(delayMs), { ...job, lane: core }),
      ours: (/** @type {Rig} */ rig) => rig.run('ours', set(delayMs), { ...job, lane: ours }),
      bare: (/** @type {Rig} */ rig) => rig.run('bare', set(delayMs), { ...job, by: 'bare' }),
    };
  };

  /** A list, as one message or in pages; `rate` counts its records. */
  const list = async (/** @type {Rig} */ rig, /** @type {'core' | 'ours'} */ kind, delayMs = 0, lane = LANES.list) => {
    const job = { make: 'list', lane, count: 1, outstanding: 1, expect: size.sessions };
    // Skipped where the core node takes ten seconds each, because the time to compile does not matter there.
    const sample = await rig.run(kind, set(delayMs), delayMs > 5 ? job : { ...job, warm });
    return byItem(sample, size.sessions);
  };
  const barePages = async (/** @type {Rig} */ rig, /** @type {number} */ delayMs, /** @type {number} */ outstanding) =>
    byItem(await rig.run('bare', set(delayMs), { by: 'bare', make: 'page', count: pages, pages, outstanding, warm }), size.sessions);

  const kill = (/** @type {number} */ delayMs, /** @type {number} */ count) => {
    const one = (/** @type {number} */ outstanding) => ({ make: 'kill', lane: LANES.kill, count, outstanding, warm });
    return {
      core: (/** @type {Rig} */ rig) => rig.run('core', set(delayMs), one(1)),
      ours: async (/** @type {Rig} */ rig) =>
        byItem(await rig.run('ours', set(delayMs), { ...one(1), make: 'ids', ids: count, count: 1, expect: count }), count),
      bare: (/** @type {Rig} */ rig) => rig.run('bare', set(delayMs), { ...one(8), by: 'bare' }),
    };
  };

  /** The same list several times, so that there is enough to measure. */
  const perRecord = async (/** @type {Rig} */ rig, /** @type {number} */ sessions, lane = LANES.list) => {
    const count = Math.max(1, Math.round(size.sessions / sessions));
    const job = {
      make: 'list',
      lane,
      count,
      outstanding: 1,
      expect: sessions,
      warm: { count: Math.min(count, 10), outstanding: 1 },
    };
    return byItem(await rig.run('ours', set(0, sessions), job), count * sessions);
  };

  /** The cost of the garbage collector for records that stay, independent of the parser. */
  const kept = async (/** @type {Rig} */ rig, /** @type {number} */ sessions) => {
    const count = Math.max(1, Math.round(size.sessions / sessions));
    const job = { by: 'parse', make: 'page', pages: Math.ceil(sessions / 200), count, keep: true };
    return byItem(await rig.run('bare', set(0, sessions), job), count * sessions);
  };

  const perRecordTitle = `cost per record, ${size.shortSessions.toLocaleString('en')} → ${size.sessions.toLocaleString('en')} sessions`;

  return [
    {
      id: 'small-d0',
      title: '0.3 kB reads, 10 in flight, d = 0',
      versions: [4, 5],
      contenders: {
        ...requests('plain', 0, 10),
        floor: (rig) => rig.run('ours', set(), { make: 'plain', lane: LANES.noop, outstanding: 10, ...loop }),
      },
      goals: [
        { text: 'messages/s', figure: 'rate', against: 'core', atLeast: 30 },
        { text: 'messages/s', figure: 'rate', against: 'core', atLeast: 15, versions: [5] },
        { text: 'p99', figure: 'p99', against: 'core', atMost: 1 / 15 },
        { ...cpu('bare', 1.25), versions: [4, 5] },
        {
          text: 'own µs per message',
          figure: 'cpuPer',
          against: 'bare',
          atMost: 12,
          value: (ours, bare, { floor }) => (ours['cpuPer'] ?? NaN) - (bare['cpuPer'] ?? NaN) - (floor?.['cpuPer'] ?? NaN),
        },
      ],
    },
    {
      id: 'small-d5-10',
      title: '0.3 kB reads, 10 in flight, d = 5 ms',
      versions: [4, 5],
      contenders: requests('plain', 5, 10),
      goals: [cpu('core', 1 / 4), cpu('bare', 1.3)],
    },
    {
      id: 'small-d5-50',
      title: '0.3 kB reads, 50 in flight, d = 5 ms',
      contenders: requests('plain', 5, 50),
      goals: [cpu('core', 1 / 8), cpu('bare', 1.3)],
    },
    {
      id: 'page-d0',
      title: 'pages of 150 kB, 10 in flight, d = 0',
      versions: [4, 5],
      contenders: requests('page', 0, 10),
      goals: [cpu('core', 1 / 2.4), cpu('bare', 1.1)],
    },
    {
      id: 'page-d5',
      title: 'pages of 150 kB, 10 in flight, d = 5 ms',
      contenders: requests('page', 5, 10),
      goals: [cpu('core', 1 / 1.7), cpu('bare', 1.1)],
    },
    {
      id: 'inside-d5',
      title: '10 pages under way inside one node, d = 5 ms',
      contenders: {
        core: async (rig) => {
          const job = { make: 'page', pages, lane: LANES.page, count: pages, outstanding: 10, warm };
          return byItem(await rig.run('core', set(5), job), size.sessions);
        },
        ours: (rig) => list(rig, 'ours', 5, LANES.inside),
        bare: (rig) => barePages(rig, 5, 10),
      },
      goals: [
        { text: 'rate', figure: 'rate', against: 'core', atLeast: 1.5 },
        { text: 'rate', figure: 'rate', against: 'bare', atLeast: 1.35 },
      ],
    },
    {
      id: 'list-d0',
      title: `list of ${size.sessions.toLocaleString('en')} sessions, d = 0`,
      versions: [4, 5],
      contenders: {
        core: (rig) => list(rig, 'core'),
        ours: (rig) => list(rig, 'ours'),
        bare: (rig) => barePages(rig, 0, 8),
        parse: async (rig) => byItem(await rig.run('bare', set(), { by: 'parse', make: 'page', pages }), size.sessions),
        curl: (rig) => rig.curl(set(), []),
      },
      goals: [
        { text: 'rate', figure: 'rate', against: 'core', atLeast: 2 },
        {
          text: 'time',
          figure: 'seconds',
          against: 'parse + curl',
          atMost: 1.4,
          value: (ours, _, { parse, curl }) => (ours['seconds'] ?? NaN) / ((parse?.['seconds'] ?? NaN) + (curl?.['seconds'] ?? NaN)),
        },
      ],
    },
    {
      id: 'list-pages-d0',
      title: 'the same, a message a page',
      contenders: {
        core: (rig) => list(rig, 'core', 0, LANES.pages),
        ours: (rig) => list(rig, 'ours', 0, LANES.pages),
        bare: (rig) => barePages(rig, 0, 8),
      },
      goals: [{ text: 'rate', figure: 'rate', against: 'core', atLeast: 2 }],
    },
    {
      id: 'list-d20',
      title: 'the same as one message, 20 ms a page, 8 connections',
      contenders: {
        core: (rig) => list(rig, 'core', 20),
        ours: (rig) => list(rig, 'ours', 20),
        curl: (rig) => rig.curl(set(20), ['--parallel', '--parallel-immediate', '--parallel-max', '8']),
      },
      goals: [
        { text: 'rate', figure: 'rate', against: 'core', atLeast: 6.3 },
        {
          text: 'rate',
          figure: 'seconds',
          against: 'curl',
          atLeast: 0.75,
          value: (ours, curl) => (curl['seconds'] ?? NaN) / (ours['seconds'] ?? NaN),
        },
        socketsWithin(8),
      ],
    },
    {
      id: 'kill-d0',
      title: `end ${size.kills.toLocaleString('en')} sessions, 8 connections, d = 0`,
      contenders: {
        ...kill(0, size.kills),
        'core, all at once': (rig) =>
          rig.run('burst', set(), { make: 'kill', lane: LANES.kill, count: size.kills, outstanding: size.kills }),
      },
      goals: [
        { text: 'rate', figure: 'rate', against: 'core', atLeast: 11 },
        { text: 'rate', figure: 'rate', against: 'core, all at once', atLeast: 35 },
        { text: 'rate', figure: 'rate', against: 'bare', atLeast: 0.9 },
        socketsWithin(8),
      ],
    },
    {
      id: 'kill-d5',
      title: `end ${size.slowKills.toLocaleString('en')} sessions, 8 connections, d = 5 ms`,
      contenders: kill(5, size.slowKills),
      goals: [
        { text: 'rate', figure: 'rate', against: 'core', atLeast: 8 },
        { text: 'rate', figure: 'rate', against: 'bare', atLeast: 0.9 },
        socketsWithin(8),
      ],
    },
    {
      id: 'per-record',
      title: `${perRecordTitle}, one message`,
      contenders: {
        ours: (rig) => perRecord(rig, size.sessions),
        short: (rig) => perRecord(rig, size.shortSessions),
        kept: (rig) => kept(rig, size.sessions),
        'kept, short': (rig) => kept(rig, size.shortSessions),
      },
      goals: [
        { text: 'CPU per record', figure: 'cpuPer', against: 'short', atMost: 1.2 },
        {
          text: 'growth of CPU per record',
          figure: 'cpuPer',
          against: 'parsing and keeping alone',
          atMost: 1.2,
          value: (ours, _, { short, kept: long, 'kept, short': brief }) =>
            (ours['cpuPer'] ?? NaN) / (short?.['cpuPer'] ?? NaN) / ((long?.['cpuPer'] ?? NaN) / (brief?.['cpuPer'] ?? NaN)),
        },
      ],
    },
    {
      id: 'per-record-pages',
      title: `${perRecordTitle}, a message a page`,
      contenders: {
        ours: (rig) => perRecord(rig, size.sessions, LANES.pages),
        short: (rig) => perRecord(rig, size.shortSessions, LANES.pages),
      },
      goals: [{ text: 'CPU per record', figure: 'cpuPer', against: 'short', atMost: 1.2 }],
    },
  ];
}

/** @returns {Goal} */
function socketsWithin(/** @type {number} */ connections) {
  return { text: 'most sockets', figure: 'sockets', against: 'setting', atMost: connections, value: (ours) => ours['sockets'] ?? NaN };
}

/** Figures of a job per written item, not per message. */
export function byItem(/** @type {Sample} */ sample, /** @type {number} */ items) {
  const { seconds = NaN, cpuSeconds = NaN } = sample;
  return { ...sample, items, rate: items / seconds, cpuPer: (cpuSeconds * 1e6) / items };
}
