// @ts-check
// Starts one process per build. The processes measure alternately.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const KINDS = /** @type {const} */ (['read', 'kill', 'page', 'update', 'journal']);
/** Messages of one measurement: 10 to 30 ms of CPU. */
const COUNTS = { read: 1500, kill: 1000, page: 40, update: 700, journal: 150 };
const REFERENCE_COUNT = 2000;
/** Threads of the garbage collector would add CPU of other work. */
const NODE_FLAGS = ['--single-threaded-gc'];

/**
 * @typedef {typeof KINDS[number]} Kind
 * @typedef {{ ask: (job: { what: string, kind?: Kind, count?: number }) => Promise<number>, end: () => void }} Worker
 * @typedef {Record<Kind, number[]>} Samples
 */

/**
 * @param {string} nodesFile
 * @param {string[]} [execArgv]
 * @returns {Promise<Worker>}
 */
export async function startWorker(nodesFile, execArgv = []) {
  const child = fork(fileURLToPath(new URL('worker.mjs', import.meta.url)), [nodesFile], { execArgv: [...NODE_FLAGS, ...execArgv] });
  const nextMessage = () =>
    /** @type {Promise<any>} */ (
      new Promise((resolve, reject) => {
        const onExit = () => reject(new Error('The measuring process ended.'));
        child.once('exit', onExit);
        child.once('message', (/** @type {any} */ { value, error }) => {
          child.off('exit', onExit);
          if (error) reject(new Error(error));
          else resolve(value);
        });
      })
    );
  await nextMessage();
  return {
    ask: (job) => {
      const response = nextMessage();
      child.send(job);
      return response;
    },
    end: () => void child.disconnect(),
  };
}

/**
 * CPU per message of each kind, in units of one step of the reference. The reference runs before and after each measurement.
 * @param {Worker} worker
 * @param {readonly Kind[]} kinds
 * @param {Samples} samples
 */
export async function measureRound(worker, kinds, samples) {
  let before = await worker.ask({ what: 'reference', count: REFERENCE_COUNT });
  for (const kind of kinds) {
    const ms = await worker.ask({ what: 'messages', kind, count: COUNTS[kind] });
    const after = await worker.ask({ what: 'reference', count: REFERENCE_COUNT });
    samples[kind].push(ms / COUNTS[kind] / ((before + after) / 2 / REFERENCE_COUNT));
    before = after;
  }
}

/** @returns {Samples} */
export function createSamples() {
  return { read: [], kill: [], page: [], update: [], journal: [] };
}

/** @param {readonly number[]} values */
export function toSpread(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (/** @type {number} */ part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? NaN;
  return { min: at(0), quarter: at(0.25), median: at(0.5), max: at(1) };
}
