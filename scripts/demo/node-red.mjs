// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { root } from '../tools.mjs';

const require = createRequire(import.meta.url);

/**
 * @typedef {object} Options
 * @property {string} userDir exists already
 * @property {4 | 5} version
 * @property {unknown[]} flows
 * @property {Record<string, Record<string, string>>} [credentials] by node id, as a flow's credentials file holds them
 * @property {string} [node] the Node.js to run it on, default this one
 * @property {string[]} [nodeArgs] arguments of Node.js itself
 * @property {string[]} [nodesDir] where else nodes are looked for, default this repository
 * @property {number} [port] taken if it is free, else any other
 * @property {Record<string, string>} [env]
 * @property {Record<string, unknown>} [settings] more of Node-RED's settings
 * @property {string} [settingsCode] the same as JavaScript, for what is not data
 *
 * @typedef {object} NodeRed
 * @property {string} url without a slash at the end
 * @property {string} version
 * @property {() => string} output everything that it has printed
 * @property {number | undefined} pid
 * @property {import('node:child_process').ChildProcess} child with an IPC channel
 * @property {Promise<number | null>} exited
 * @property {() => Promise<void>} stop
 */

/** @param {4 | 5} version */
const packageOf = (version) => (version === 5 ? 'node-red-v5' : 'node-red');

/** Another process can take a free port before Node-RED listens on it. */
const PORT_ATTEMPTS = 3;

/**
 * Starts a real Node-RED on loopback and resolves once its flows run. Rejects with what it printed if they don't.
 * @param {Options} options
 * @returns {Promise<NodeRed>}
 */
export async function startNodeRed(options) {
  for (let attempt = 1; ; attempt++) {
    const nodeRed = await startOnPort(options, await freePort(options.port ?? 0), attempt < PORT_ATTEMPTS);
    if (nodeRed) return nodeRed;
  }
}

/**
 * @param {Options} options
 * @param {number} port
 * @param {boolean} mayRetry
 * @returns {Promise<NodeRed | undefined>} undefined if `mayRetry` and another process has the port
 */
async function startOnPort(options, port, mayRetry) {
  const settings = writeUserDir(options, port);
  const manifest = require.resolve(`${packageOf(options.version)}/package.json`);
  const child = spawn(
    options.node ?? process.execPath,
    [...(options.nodeArgs ?? []), join(dirname(manifest), 'red.js'), '--settings', settings],
    {
      cwd: options.userDir,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  );
  let output = '';
  const { startedFlows, portInUse } = wordsOf(options);
  /** @type {Promise<number | null>} */
  const exited = once(child, 'close').then(([code]) => code);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 5000);
    await exited;
    clearTimeout(late);
  };
  /** @type {Promise<void>} */
  const started = new Promise((resolve) => {
    const take = (/** @type {Buffer} */ chunk) => {
      output += chunk.toString();
      if (output.includes(startedFlows)) resolve();
    };
    child.stdout?.on('data', take);
    child.stderr?.on('data', take);
  });
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const outcome = await Promise.race([
    started.then(() => 'started'),
    exited.then((code) => `ended with exit code ${code}`),
    new Promise((resolve) => (timer = setTimeout(resolve, 60_000, 'did not start its flows within a minute'))),
  ]);
  clearTimeout(timer);
  if (outcome !== 'started') {
    await stop();
    if (mayRetry && output.includes(portInUse)) return undefined;
    throw new Error(`Node-RED ${outcome}. It printed:\n${output}`);
  }
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
  return { url: `http://127.0.0.1:${port}`, version, output: () => output, pid: child.pid, child, exited, stop };
}

/**
 * What Node-RED prints when its flows run and when its port is taken, in its language.
 * @param {Options} options
 */
function wordsOf({ version, settings }) {
  const fromNodeRed = createRequire(require.resolve(`${packageOf(version)}/package.json`));
  const runtime = dirname(fromNodeRed.resolve('@node-red/runtime/package.json'));
  const language = settings?.['lang'] ?? 'en-US';
  const { nodes, server } = JSON.parse(readFileSync(join(runtime, 'locales', String(language), 'runtime.json'), 'utf8'));
  return {
    startedFlows: /** @type {string} */ (nodes.flows['started-flows']),
    portInUse: /** @type {string} */ (server['port-in-use']),
  };
}

/**
 * Settings as they have to be for an editor that asks nothing and calls nobody.
 * @param {Options} options
 * @param {number} port
 * @returns {string} the settings file
 */
function writeUserDir(options, port) {
  const { userDir, flows, credentials = {}, nodesDir = [root] } = options;
  const settings = {
    uiHost: '127.0.0.1',
    uiPort: port,
    userDir,
    nodesDir,
    flowFile: 'flows.json',
    credentialSecret: false,
    telemetry: { enabled: false, updateNotification: false },
    editorTheme: { tours: false, palette: { catalogues: [] } },
    externalModules: { palette: { allowInstall: false } },
    logging: { console: { level: 'info', metrics: false, audit: false } },
    ...options.settings,
  };
  mkdirSync(userDir, { recursive: true });
  writeFileSync(join(userDir, 'flows.json'), JSON.stringify(flows, null, 4));
  writeFileSync(join(userDir, 'flows_cred.json'), JSON.stringify(credentials));
  const file = join(userDir, 'settings.cjs');
  const code = [
    // Node-RED must not outlive its parent process.
    'if (!process.connected) process.exit(1);',
    "process.on('disconnect', () => process.exit(1));",
    `module.exports = ${JSON.stringify(settings, null, 2)};`,
    options.settingsCode ?? '',
  ];
  writeFileSync(file, `${code.join('\n')}\n`);
  return file;
}

/**
 * @param {number} wanted
 * @returns {Promise<number>}
 */
async function freePort(wanted) {
  const server = createServer();
  const listening = new Promise((resolve) => {
    server.once('listening', () => resolve(true));
    server.once('error', () => resolve(false));
  });
  server.listen(wanted, '127.0.0.1');
  if (!(await listening)) return freePort(0);
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : freePort(0);
}
