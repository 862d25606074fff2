// @ts-check
// Starts one process per build. The processes measure alternately.
import { fork, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const KINDS = /** @type {const} */ (['read', 'kill', 'page', 'update', 'journal']);
/** Messages of one measurement: 2 to 6 ms of CPU. A short measurement is more often undisturbed. */
const COUNTS = { read: 300, kill: 200, page: 8, update: 140, journal: 30 };
const REFERENCE_COUNT = 400;
/** Threads of the garbage collector would add CPU of other work. */
const NODE_FLAGS = ['--single-threaded-gc'];

/**
 * @typedef {typeof KINDS[number]} Kind
 * @typedef {{ ask: (job: { what: string, kind?: Kind, count?: number }) => Promise<number>, end: () => void }} Worker
 * @typedef {Record<Kind | 'reference', number[]>} Samples CPU per message, and per step of the reference, in ms
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
  if (child.pid !== undefined) keepOnOneCore(child.pid);
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
 * The threads that write the journal wake each other. That costs a fifth more if it wakes an idle core. Only Linux has `taskset`.
 * @param {number} pid
 */
function keepOnOneCore(pid) {
  const allowed = spawnSync('taskset', ['-c', '-p', String(pid)], { encoding: 'utf8' }).stdout?.match(/: (\d+)/)?.[1];
  if (allowed !== undefined) spawnSync('taskset', ['-a', '-c', '-p', allowed, String(pid)]);
}

/**
 * Measures each kind once, and the reference as often.
 * @param {Worker} worker
 * @param {Samples} samples
 */
export async function measureRound(worker, samples) {
  for (const kind of KINDS) {
    const ms = await worker.ask({ what: 'messages', kind, count: COUNTS[kind] });
    samples[kind].push(ms / COUNTS[kind]);
    samples.reference.push((await worker.ask({ what: 'reference', count: REFERENCE_COUNT })) / REFERENCE_COUNT);
  }
}

/**
 * CPU per message in units of one step of the reference. Other work only adds CPU, so the minima vary least: by 6 to 11 % between processes
 * at a load of 17.
 * @param {Samples} samples
 * @param {Kind} kind
 */
export function toRatio(samples, kind) {
  return Math.min(...samples[kind]) / Math.min(...samples.reference);
}

/** @returns {Samples} */
export function createSamples() {
  return { reference: [], read: [], kill: [], page: [], update: [], journal: [] };
}
