// @ts-check
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../tools.mjs';

/** @typedef {{ id: string, type: string, [key: string]: unknown }} FlowNode */

const folder = join(root, 'examples');
const MAIN = 'vpn-1';

/** Names of the example files. */
export function exampleNames() {
  return readdirSync(folder).filter((name) => name.endsWith('.json'));
}

/**
 * Nodes of one example, as they stand in its file.
 * @param {string} name
 * @returns {FlowNode[]}
 */
export function readExample(name) {
  return JSON.parse(readFileSync(join(folder, name), 'utf8'));
}

/**
 * Whether a node is an appliance whose second factor a person brings.
 * @param {FlowNode} node
 */
export function waitsForCode(node) {
  return node.type === 'gateway-appliance' && node['secondFactor'] === 'flow';
}

/**
 * The names of the appliances in those examples that ask for no code, the one that most of them share first.
 * @param {string[]} [names]
 */
export function applianceNames(names = exampleNames()) {
  const nodes = names.flatMap(readExample).filter((node) => node.type === 'gateway-appliance' && !waitsForCode(node));
  return [...new Set(nodes.map((node) => String(node['name'])))].sort().sort((one, other) => Number(other === MAIN) - Number(one === MAIN));
}

/**
 * What Inject nodes say of this machine, such as a folder, has to be there.
 * @param {FlowNode} node
 * @param {Record<string, string>} places by the property that names them
 */
function withPlaces(node, places) {
  const props = /** @type {{ p: string }[]} */ (node['props'] ?? []);
  return { ...node, props: props.map((prop) => (prop.p in places ? { ...prop, v: places[prop.p] } : prop)) };
}

/**
 * The examples side by side and set up: addresses, the certificate to trust, credentials and places on disk. Nothing else is
 * changed. Those that wait for a code go to an address of their own.
 * @param {{ urls: Map<string, string>, codeUrl: string, caFile: string, places: Record<string, string>, username: string, password: string }} setup
 *   `urls` by the name of the appliance
 * @param {string[]} [names]
 */
export function loadExamples(setup, names = exampleNames()) {
  // The config nodes that they share have the same ids.
  const nodes = new Map(names.flatMap(readExample).map((node) => [node.id, node]));
  /** @type {Record<string, Record<string, string>>} */
  const credentials = {};
  const flows = [...nodes.values()].map((node) => {
    if (node.type === 'tls-config') return { ...node, ca: setup.caFile };
    if (node.type === 'inject') return withPlaces(node, setup.places);
    if (node.type !== 'gateway-appliance') return node;
    credentials[node.id] = { username: setup.username, password: setup.password };
    const journal = node['journal'] ? { journal: setup.places['journal'] } : {};
    return { ...node, ...journal, url: waitsForCode(node) ? setup.codeUrl : setup.urls.get(String(node['name'])) };
  });
  return { flows, credentials };
}
