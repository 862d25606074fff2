// @ts-check
// The rows of large exports and imports: core nodes, the nodes of this package, and curl. bench/transfer.mjs has the details.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startNodeRed } from '../scripts/demo/node-red.mjs';
import { root } from '../scripts/tools.mjs';
import { around, LANES, ownNode } from './flows.mjs';
import { ask, userDirectory } from './rig.mjs';

/**
 * @typedef {import('./rig.mjs').Rig} Rig
 * @typedef {import('./rig.mjs').Sample} Sample
 * @typedef {import('./rows.mjs').Row} Row
 * @typedef {import('./rows.mjs').Goal} Goal
 * @typedef {Awaited<ReturnType<typeof startTransferRig>>} TransferRig
 */

const EXPORT = '/api/v1/system/maintenance/export-xml';
const IMPORT = '/api/v1/system/maintenance/import-xml';

/** @param {import('./size.mjs').Size} size */
export function transferRows({ transferMiB }) {
  const bytes = transferMiB * 2 ** 20;
  /** @type {Promise<TransferRig> | undefined} one for both rows */
  let started;
  const rigOf = (/** @type {Rig} */ rig) => (started ??= startTransferRig(bytes, rig.atEnd));
  const size = transferMiB >= 1024 ? `${transferMiB / 1024} GiB` : `${transferMiB} MiB`;
  /** @type {Row[]} */
  const all = [
    {
      id: 'export',
      title: `export of ${size} to a file, unverified`,
      contenders: {
        core: async (rig) => (await rigOf(rig)).exportBy('core'),
        ours: async (rig) => (await rigOf(rig)).exportBy('ours'),
        curl: async (rig) => (await rigOf(rig)).exportBy('curl'),
      },
      goals: [faster('core', 5), faster('curl', 0.7), ...calm()],
    },
    {
      id: 'import',
      title: `multipart import of ${size} from a file`,
      contenders: {
        core: async (rig) => (await rigOf(rig)).importBy('core'),
        ours: async (rig) => (await rigOf(rig)).importBy('ours'),
        curl: async (rig) => (await rigOf(rig)).importBy('curl'),
      },
      goals: [faster('core', 5), faster('curl', 0.8), ...calm()],
    },
  ];
  return all;
}

/** @returns {Goal} */
function faster(/** @type {string} */ against, /** @type {number} */ atLeast) {
  const value = (/** @type {Sample} */ ours, /** @type {Sample} */ other) => (other['seconds'] ?? NaN) / (ours['seconds'] ?? NaN);
  return { text: 'rate', figure: 'seconds', against, atLeast, value };
}

/** @returns {Goal[]} */
function calm() {
  return [
    { text: 'MiB', figure: 'grown', against: 'idle', atMost: 80, value: (ours) => ours['grown'] ?? NaN },
    { text: 'longest stall, ms', figure: 'stall', against: 'limit', atMost: 50, value: (ours) => ours['stall'] ?? NaN },
  ];
}

/**
 * An appliance that holds nothing, and a file to send to it.
 * @param {number} bytes
 * @param {(end: () => unknown) => void} atEnd
 */
async function startTransferRig(bytes, atEnd) {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const server = fork(join(root, 'bench', 'transfer-server.mjs'), [String(bytes)]);
  atEnd(() => server.kill());
  const [{ port, ca }] = /** @type {[{ port: number, ca: string }]} */ (await once(server, 'message'));
  const target = {
    url: `https://127.0.0.1:${port}`,
    caFile: join(folder, 'ca.pem'),
    authorization: `Basic ${Buffer.from('key:').toString('base64')}`,
  };
  writeFileSync(target.caFile, ca);
  const source = join(folder, 'source.xml');
  const to = join(folder, 'exported.xml');

  const curl = async (/** @type {string[]} */ ...args) => {
    const begun = performance.now();
    const child = spawn('curl', ['-sSf', '--cacert', target.caFile, '-u', 'key:', '-H', 'Expect:', ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`curl ended with exit code ${code}`);
    return { seconds: (performance.now() - begun) / 1000 };
  };
  const exportByCurl = (/** @type {string} */ file) =>
    curl('-X', 'POST', '-H', 'content-type: application/json', '-d', '{}', '-o', file, target.url + EXPORT);
  await exportByCurl(source);
  const whole = statSync(source).size;

  // The written data of one contender must not slow down the next. Late removal gives each of them warm memory.
  const fresh = () => rmSync(to, { force: true });
  // Each transfer has a fresh process, because a process that held gigabytes keeps them.
  const byNode = async (/** @type {'core' | 'ours'} */ kind, /** @type {number} */ lane) => {
    const userDir = userDirectory();
    const flows = kind === 'ours' ? ownFlows(target, source, to) : coreFlows(target, source, to);
    const red = await startNodeRed({ userDir, version: 4, nodesDir: [join(root, 'dist', 'nodes')], ...flows });
    try {
      // An idle process has already sent a request to the appliance.
      await ask(red.child, { job: { make: 'nothing', lane: LANES.info, count: 1, outstanding: 1 } });
      await wait(300);
      const idle = (await ask(red.child, { job: 'usage' })).rss;
      fresh();
      /** @type {Sample} */
      const sample = await ask(red.child, { job: { make: 'nothing', lane, count: 1, outstanding: 1 } });
      return { ...sample, grown: (sample['rssPeak'] ?? NaN) - idle };
    } finally {
      await red.stop();
      rmSync(userDir, { recursive: true, force: true, maxRetries: 5 });
    }
  };

  return {
    /** @param {'core' | 'ours' | 'curl'} by */
    async exportBy(by) {
      if (by === 'curl') fresh();
      const sample = by === 'curl' ? await exportByCurl(to) : await byNode(by, LANES.list);
      if (statSync(to).size !== whole) throw new Error(`${by} exported ${statSync(to).size} bytes instead of ${whole}`);
      return sample;
    },
    /** @param {'core' | 'ours' | 'curl'} by */
    async importBy(by) {
      const before = await received(server);
      const sample =
        by === 'curl'
          ? await curl('-o', '/dev/null', '-F', `file=@${source};type=text/xml`, target.url + IMPORT)
          : await byNode(by, LANES.page);
      const got = (await received(server)) - before;
      if (got < whole) throw new Error(`${by} imported ${got} bytes instead of ${whole}`);
      return sample;
    },
  };
}

/**
 * Bytes that the appliance was sent so far.
 * @param {import('node:child_process').ChildProcess} server
 * @returns {Promise<number>}
 */
async function received(server) {
  server.send('received');
  const [bytes] = await once(server, 'message');
  return bytes;
}

/** @typedef {Parameters<typeof around>[0]} Target */

const WRAP = `
msg.headers = { 'content-type': 'multipart/form-data' };
msg.payload = { file: { value: msg.payload, options: { filename: 'configuration.xml', contentType: 'text/xml' } } };
return msg;`;

/** The core nodes for the request and the file, with their best settings. */
function coreFlows(/** @type {Target} */ target, /** @type {string} */ source, /** @type {string} */ to) {
  const headers = [{ keyType: 'other', keyValue: 'authorization', valueType: 'other', valueValue: target.authorization }];
  const request = (/** @type {string} */ id, /** @type {string} */ path, /** @type {object} */ more) => ({
    id,
    type: 'http request',
    z: 'tab',
    method: 'POST',
    ret: 'obj',
    url: target.url + path,
    tls: 'tls',
    persist: true,
    authType: '',
    senderr: true,
    headers,
    wires: [['sink']],
    ...more,
  });
  const nodes = [
    request('info', '/api/v1/system/system-information', { method: 'GET', paytoqs: 'ignore' }),
    request('export', EXPORT, { ret: 'bin', wires: [['write']] }),
    { id: 'write', type: 'file', z: 'tab', filename: to, filenameType: 'str', overwriteFile: 'true', encoding: 'none', wires: [['sink']] },
    { id: 'read', type: 'file in', z: 'tab', filename: source, filenameType: 'str', format: '', wires: [['wrap']] },
    { id: 'wrap', type: 'function', z: 'tab', func: WRAP, outputs: 1, wires: [['import']] },
    request('import', IMPORT, {}),
  ];
  return { flows: around(target, { info: 'info', list: 'export', page: 'read' }, nodes), credentials: {} };
}

function ownFlows(/** @type {Target} */ target, /** @type {string} */ source, /** @type {string} */ to) {
  const appliance = {
    id: 'appliance',
    type: 'gateway-appliance',
    name: 'gateway',
    url: target.url,
    login: 'realm',
    realm: 'r',
    tls: 'tls',
  };
  const node = (/** @type {string} */ id, /** @type {string} */ type, /** @type {string} */ operation, fields = {}) =>
    ownNode(id, type, operation, 'appliance', fields);
  const text = (/** @type {string} */ value) => ({ type: 'str', value });
  const nodes = [
    appliance,
    node('own-info', 'gateway-system', 'info'),
    node('own-export', 'gateway-transfer', 'export-xml', { file: text(to), check: text('none') }),
    node('own-import', 'gateway-transfer', 'import-xml', { file: text(source) }),
  ];
  return {
    flows: around(target, { info: 'own-info', list: 'own-export', page: 'own-import' }, nodes),
    credentials: { appliance: { username: 'u', password: 'p' } },
  };
}
