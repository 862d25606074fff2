// @ts-check
// The processes of a measurement: the appliance, and one Node-RED each for the core node, the nodes of this package, and plain undici.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { startNodeRed } from '../scripts/demo/node-red.mjs';
import { node24 } from '../scripts/node24.mjs';
import { root } from '../scripts/tools.mjs';
import { coreFlows, ownFlows } from './flows.mjs';

/**
 * @typedef {Record<string, number>} Sample figures by name
 * @typedef {Record<string, unknown>} Job see bench/driver.cjs
 * @typedef {'core' | 'burst' | 'ours' | 'bare'} Kind `burst` is another core: thousands of requests at once leave a process in no state to be measured
 * @typedef {Awaited<ReturnType<typeof startRig>>} Rig
 */

const undici = createRequire(import.meta.url).resolve('undici');

/** V8 shrinks the memory for young objects while a process waits. The first process that grows it again would look better. */
const YOUNG = ['--min-semi-space-size=16'];

/** No job takes nearly as long. */
const PATIENCE_MS = 240_000;

let asked = 0;
/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {object} message
 * @returns {Promise<any>}
 */
export function ask(child, message) {
  const id = ++asked;
  return new Promise((resolve, reject) => {
    const settle = (/** @type {() => void} */ how) => {
      clearTimeout(late);
      child.off('message', take);
      child.off('exit', gone);
      how();
    };
    const fail = (/** @type {string} */ words) => settle(() => reject(new Error(`${words} Asked was ${JSON.stringify(message)}`)));
    const take = (/** @type {{ id: number, value?: unknown, error?: string }} */ answer) => {
      if (answer.id !== id) return;
      if (answer.error === undefined) settle(() => resolve(answer.value));
      else fail(answer.error);
    };
    const gone = () => fail('The process ended in the middle of a measurement.');
    const late = setTimeout(() => fail('A measurement did not end.'), PATIENCE_MS);
    child.on('message', take);
    child.on('exit', gone);
    child.send({ ...message, id });
  });
}

/** A user directory with the nodes of the driver. */
export function userDirectory() {
  const userDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const nodes = join(userDir, 'nodes');
  mkdirSync(nodes);
  copyFileSync(join(root, 'bench', 'driver.cjs'), join(nodes, 'bench.js'));
  writeFileSync(join(nodes, 'bench.html'), '<script>/* never edited */</script>\n');
  return userDir;
}

/** The responding server: a minimal one that is never the bottleneck, or the HTTPS server of Node.js. */
const SERVERS = { fast: 'appliance.mjs', plain: 'plain-appliance.mjs' };

/**
 * Starts everything for one line of Node-RED.
 * @param {4 | 5} version
 * @param {keyof typeof SERVERS} server
 */
export async function startRig(version, server = 'fast') {
  const node = version === 5 ? node24() : process.execPath;
  /** @type {(() => unknown)[]} */
  const ends = [];
  const end = async () => {
    for (const one of ends.reverse()) await one();
  };
  try {
    const appliance = fork(join(root, 'bench', SERVERS[server]));
    ends.push(() => appliance.kill());
    const [{ value: target }] = /** @type {[{ value: { url: string, ca: string } }]} */ (await once(appliance, 'message'));
    const caDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
    ends.push(() => rmSync(caDir, { recursive: true, force: true }));
    const caFile = join(caDir, 'ca.pem');
    writeFileSync(caFile, target.ca);
    const authorization = `Basic ${Buffer.from(`${'fAst+/'.repeat(7)}A=:`).toString('base64')}`;
    const flows = { url: target.url, caFile, authorization, folder: caDir };
    /** @type {Record<string, import('../scripts/demo/node-red.mjs').NodeRed>} */
    const reds = {};
    for (const kind of /** @type {const} */ (['core', 'burst', 'ours', 'bare'])) {
      const userDir = userDirectory();
      ends.push(() => rmSync(userDir, { recursive: true, force: true, maxRetries: 5 }));
      const red = await startNodeRed({
        userDir,
        version,
        node,
        nodeArgs: YOUNG,
        nodesDir: [join(root, 'dist', 'nodes')],
        ...(kind === 'ours' ? ownFlows(flows) : coreFlows(flows)),
      });
      ends.push(() => red.stop());
      reds[kind] = red;
    }
    const base = { base: target.url, ca: target.ca, authorization, undici };

    /**
     * A job of one Node-RED, with what the appliance saw of it and how many cores others used meanwhile.
     * @param {Kind} kind
     * @param {{ delayMs?: number, sessions?: number, policies?: number }} set
     * @param {Job} job
     * @returns {Promise<Sample>}
     */
    const run = async (kind, set, job) => {
      const child = /** @type {import('node:child_process').ChildProcess} */ (reds[kind]?.child);
      const before = await ask(appliance, { set });
      const busy = busySeconds();
      const started = performance.now();
      const cpu = (await ask(child, { job: 'usage' })).cpu;
      const sample = await ask(child, { job: { ...base, ...job } });
      const own = ((await ask(child, { job: 'usage' })).cpu - cpu) / 1000;
      const seconds = (performance.now() - started) / 1000;
      const { opened, mostUsed, requests, cpuSeconds } = await ask(appliance, {});
      const others = (busySeconds() - busy - own - (cpuSeconds - before.cpuSeconds)) / seconds;
      return { ...sample, opened, sockets: mostUsed, requests, others: Math.max(0, others) };
    };

    /**
     * The pages by curl, the other floor.
     * @param {{ delayMs: number, sessions: number }} set
     * @param {string[]} args
     * @returns {Promise<Sample>}
     */
    const curl = async (set, args) => {
      await ask(appliance, { set });
      const pages = `${target.url}/api/v1/system/active-users?number=200&start=[0-${set.sessions - 1}:200]`;
      const header = `authorization: ${authorization}`;
      const started = performance.now();
      const child = spawn('curl', ['-sSf', '--no-progress-meter', '--cacert', caFile, '-H', header, '-o', '/dev/null', ...args, pages], {
        stdio: 'inherit',
      });
      const [code] = await once(child, 'close');
      if (code !== 0) throw new Error(`curl ended with exit code ${code}`);
      return { seconds: (performance.now() - started) / 1000 };
    };
    const nodeRed = reds['ours']?.version ?? '';
    const nodeVersion = version === 5 ? await versionOf(node) : process.version;
    const atEnd = (/** @type {() => unknown} */ one) => void ends.push(one);
    return { version, nodeRed, nodeVersion, target, folder: caDir, caFile, authorization, reds, run, curl, atEnd, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** CPU seconds of the whole machine. */
function busySeconds() {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000;
}

/** @param {string} node */
async function versionOf(node) {
  const child = spawn(node, ['--version'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (/** @type {Buffer} */ chunk) => (text += chunk.toString()));
  await once(child, 'close');
  return text.trim();
}
