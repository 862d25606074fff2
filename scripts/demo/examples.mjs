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
 * Nodes of one example, as they stand in its file; a name with a folder is another flow of this repository.
 * @param {string} name
 * @returns {FlowNode[]}
 */
export function readExample(name) {
  return JSON.parse(readFileSync(name.includes('/') ? join(root, name) : join(folder, name), 'utf8'));
}

/** The flows of the cookbook that are not examples, in the form for `readExample`. */
export function cookbookNames() {
  return readdirSync(join(root, 'docs', 'cookbook'))
    .filter((name) => name.endsWith('.json'))
    .map((name) => `docs/cookbook/${name}`);
}

/** The first flow of the demo. It is not an example to import. @returns {FlowNode[]} */
export function startHere() {
  return JSON.parse(readFileSync(join(root, 'scripts', 'demo', 'start-here.json'), 'utf8'));
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
  const nodes = names.flatMap(readExample);
  const own = nodes.filter((node) => node.type === 'gateway-appliance' && !waitsForCode(node)).map((node) => String(node['name']));
  return [...new Set([...own, ...nodes.flatMap(listed).map(({ name }) => name)])]
    .sort()
    .sort((one, other) => Number(other === MAIN) - Number(one === MAIN));
}

/**
 * The appliances of an inventory that stand in its node.
 * @param {FlowNode} node
 * @returns {{ name: string }[]}
 */
function listed(node) {
  return node.type === 'gateway-inventory' ? JSON.parse(String(node['list'])) : [];
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
 * The folder of a journal; for who looks for the first time, the main appliance has one too.
 * @param {FlowNode} node
 * @param {{ places: Record<string, string>, guide?: boolean }} setup
 */
function journalOf(node, { places, guide }) {
  if (node['journal']) return { journal: places['journal'] };
  return guide && node['name'] === MAIN ? { journal: `${places['journal']}-${MAIN}` } : {};
}

/**
 * The snapshot folder to rehearse with.
 * @param {FlowNode} node
 * @param {{ places: Record<string, string> }} setup
 */
function rehearsalOf(node, { places }) {
  return node['rehearsal'] ? { rehearsal: places['night'] } : {};
}

/**
 * What says on the canvas what to change: in the demo all of it has been entered.
 * @param {FlowNode} node
 */
function nothingToChange(node) {
  const name = String(node['name']).replace(
    /^Change first: .*$/,
    'Nothing to change here. What to change elsewhere: select this, see Information.',
  );
  return { ...node, name };
}

/**
 * The examples side by side and set up: addresses, the certificate to trust, credentials and places on disk. Nothing else is
 * changed. Those that wait for a code go to an address of their own.
 * @param {{
 *   urls: Map<string, string>,
 *   codeUrl: string,
 *   caFile: string,
 *   places: Record<string, string>,
 *   username: string,
 *   password: string,
 *   guide?: boolean,
 * }} setup `urls` by the name of the appliance; `guide`: for somebody who looks for the first time
 * @param {string[]} [names]
 */
export function loadExamples(setup, names = exampleNames()) {
  const first = setup.guide ? startHere() : [];
  // Shared config nodes have the same ids.
  const nodes = new Map([...first, ...names.flatMap(readExample)].map((node) => [node.id, node]));
  /** @type {Record<string, Record<string, string>>} */
  const credentials = {};
  const flows = [...nodes.values()].map((node) => {
    if (node.type === 'tls-config') return { ...node, ca: setup.caFile };
    if (node.type === 'inject') return withPlaces(node, setup.places);
    if (node.type === 'comment') return setup.guide ? nothingToChange(node) : node;
    if (node.type !== 'gateway-appliance' && node.type !== 'gateway-inventory') return node;
    credentials[node.id] = { username: setup.username, password: setup.password };
    if (node.type === 'gateway-inventory') {
      return { ...node, list: JSON.stringify(listed(node).map((entry) => ({ ...entry, url: setup.urls.get(entry.name) }))) };
    }
    return {
      ...node,
      ...journalOf(node, setup),
      ...rehearsalOf(node, setup),
      url: waitsForCode(node) ? setup.codeUrl : setup.urls.get(String(node['name'])),
    };
  });
  return { flows, credentials };
}
