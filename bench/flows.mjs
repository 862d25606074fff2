// @ts-check
// The measured flows. They are equal for the core `http request` node with its best settings and for the nodes of this package.

import { join } from 'node:path';
import { coreRequest } from './core-request.mjs';

const INFO = '/api/v1/system/system-information';
/** Outputs of the driver by the nodes that are wired to them. */
export const LANES = {
  ...{ info: 0, page: 1, list: 2, kill: 3, wide: 4, pages: 5, inside: 6, noop: 7 },
  ...{ update: 8, updateJournal: 9, create: 10, createJournal: 11, delete: 12, deleteJournal: 13 },
  ...{ ensure: 14, ensureJournal: 15, killJournal: 16, take: 17, compare: 18, watch: 19 },
};
const OUTPUTS = Object.keys(LANES).length;

/** A flow of core nodes that follows every page. */
const FOLLOW = `
const users = msg.payload['active-users'];
const records = msg.records ?? [];
for (const record of users['active-user-records']['active-user-record']) records.push(record);
if (records.length < users['total-matched-record-number']) {
  msg.records = records;
  msg.url = msg.url.replace(/start=\\d+/, 'start=' + records.length);
  delete msg.headers;
  return [msg, null];
}
delete msg.records;
msg.payload = records;
return [null, msg];`;

/** The same with a message for each page, without state. Node-RED copies the second output, so the page is on the first. */
const PASS_ON = `
const users = msg.payload['active-users'];
const records = users['active-user-records']['active-user-record'];
const index = msg.index ?? 0;
const had = (msg.had ?? 0) + records.length;
const ended = had >= users['total-matched-record-number'];
const page = { payload: records, bench: msg.bench, parts: ended ? { index, count: index + 1 } : { index } };
if (ended) return [page, null];
const url = msg.url.replace(/start=\\d+/, 'start=' + had);
return [page, { url, had, index: index + 1, bench: msg.bench }];`;

/** Writes with a journal and without. */
const CHANGES = /** @type {const} */ ([
  ['update', 'gateway-config', 'update'],
  ['create', 'gateway-config', 'create'],
  ['delete', 'gateway-config', 'delete'],
  ['ensure', 'gateway-config', 'ensure'],
]);

/**
 * @typedef {{ url: string, caFile: string, authorization: string, folder?: string }} Target
 * @typedef {{ flows: object[], credentials: Record<string, Record<string, string>> }} Flows
 */

/**
 * @param {Target} target
 * @param {Record<string, string>} wires node id by lane
 * @param {object[]} nodes
 */
export function around({ caFile }, wires, nodes) {
  const lanes = Object.entries(LANES).map(([lane]) => (wires[lane] ? [wires[lane]] : []));
  return [
    { id: 'tab', type: 'tab', label: 'bench' },
    { id: 'tls', type: 'tls-config', ca: caFile, cert: '', key: '', verifyservercert: true },
    { id: 'driver', type: 'bench-driver', z: 'tab', outputs: OUTPUTS, wires: lanes },
    { id: 'sink', type: 'bench-sink', z: 'tab', wires: [] },
    { id: 'noop', type: 'junction', z: 'tab', wires: [['sink']] },
    ...nodes,
  ];
}

/**
 * @param {Target} target
 * @returns {Flows}
 */
export function coreFlows(target) {
  const request = (/** @type {string} */ id, /** @type {object} */ more) => ({
    id,
    ...coreRequest(target.authorization),
    z: 'tab',
    wires: [['sink']],
    ...more,
  });
  const nodes = [
    request('info', { url: target.url + INFO }),
    request('page', {}),
    request('list', { wires: [['follow']] }),
    { id: 'follow', type: 'function', z: 'tab', func: FOLLOW, outputs: 2, wires: [['list'], ['sink']] },
    request('pages', { wires: [['pass-on']] }),
    { id: 'pass-on', type: 'function', z: 'tab', func: PASS_ON, outputs: 2, wires: [['sink'], ['pages']] },
    request('kill', { method: 'DELETE', ret: 'txt' }),
  ];
  return {
    flows: around(target, { info: 'info', page: 'page', list: 'list', pages: 'pages', kill: 'kill', noop: 'noop' }, nodes),
    credentials: {},
  };
}

/** A node of this package with both outputs wired to the sink. */
export function ownNode(
  /** @type {string} */ id,
  /** @type {string} */ type,
  /** @type {string} */ operation,
  /** @type {string} */ appliance,
  /** @type {object} */ fields,
) {
  const wires = [['sink'], ['sink']];
  return { id, type, z: 'tab', appliance, operation, operationType: 'op', fields, output: 'payload', failures: 'output', wires };
}

/**
 * @param {Target} target
 * @returns {Flows}
 */
export function ownFlows(target) {
  const appliance = (/** @type {string} */ id, connections = 8, journal = '') => ({
    id,
    type: 'gateway-appliance',
    name: `gateway-${id}`,
    url: target.url,
    login: 'realm',
    // Gateways of one account would share the connections of the strictest one.
    realm: `Admins ${id}`,
    tls: 'tls',
    connections,
    journal,
  });
  const appliances = [
    ...[8, 10, 50].map((connections) => appliance(`appliance${connections}`, connections)),
    appliance('journalled', 8, join(target.folder ?? '', 'journal')),
  ];
  // Node-RED takes a property that equals the id of a node for a reference. `info` is an operation.
  const node = (/** @type {string} */ lane, /** @type {string} */ type, /** @type {string} */ operation, connections = 8, fields = {}) =>
    ownNode(`own-${lane}`, type, operation, `appliance${connections}`, fields);
  const number = (/** @type {number} */ value) => ({ type: 'num', value: String(value) });
  const nodes = [
    node('info', 'gateway-system', 'info', 10),
    node('wide', 'gateway-system', 'info', 50),
    node('page', 'gateway-sessions', 'list', 10, { limit: number(200) }),
    node('list', 'gateway-sessions', 'list', 8),
    node('pages', 'gateway-sessions', 'list', 8, { emit: { type: 'str', value: 'page' } }),
    node('inside', 'gateway-sessions', 'list', 10, { emit: { type: 'str', value: 'page' } }),
    node('kill', 'gateway-sessions', 'kill', 8, { max: number(1_000_000) }),
    ...CHANGES.flatMap(([lane, type, operation]) => [
      ownNode(`own-${lane}`, type, operation, 'appliance8', {}),
      ownNode(`own-${lane}Journal`, type, operation, 'journalled', {}),
    ]),
    ownNode('own-killJournal', 'gateway-sessions', 'kill', 'journalled', {}),
    node('take', 'gateway-snapshot', 'take', 8, { folder: { type: 'msg', value: 'folder' } }),
    node('compare', 'gateway-snapshot', 'compare', 8, { folder: { type: 'msg', value: 'folder' } }),
  ];
  // A check without a change sends no event, so its end is its outcome.
  const watching = [
    { id: 'own-watch', type: 'gateway-watch', z: 'tab', appliance: 'appliance8', watch: 'sessions', every: 86_400, wires: [[]] },
    { id: 'watched', type: 'complete', z: 'tab', scope: ['own-watch'], uncaught: false, wires: [['sink']] },
  ];
  const wires = Object.fromEntries([...nodes.map(({ id }) => [id.slice(4), id]), ['noop', 'noop'], ['watch', 'own-watch']]);
  const account = { username: 'api-admin', password: 'simulator' };
  const credentials = Object.fromEntries(appliances.map(({ id }) => [id, account]));
  return { flows: around(target, wires, [...appliances, ...nodes, ...watching]), credentials };
}
