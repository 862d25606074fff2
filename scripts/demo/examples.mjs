// @ts-check
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../tools.mjs';

/** @typedef {{ id: string, type: string, [key: string]: unknown }} FlowNode */

const folder = join(root, 'examples');

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
 * The examples side by side and set up: addresses, the certificate to trust and credentials. Nothing else is changed. Those that wait for a
 * code go to the second address.
 * @param {{ url: string, codeUrl: string, caFile: string, username: string, password: string }} appliance
 * @param {string[]} [names]
 */
export function loadExamples(appliance, names = exampleNames()) {
  // The config nodes that they share have the same ids.
  const nodes = new Map(names.flatMap(readExample).map((node) => [node.id, node]));
  /** @type {Record<string, Record<string, string>>} */
  const credentials = {};
  const flows = [...nodes.values()].map((node) => {
    if (node.type === 'tls-config') return { ...node, ca: appliance.caFile };
    if (node.type !== 'gateway-appliance') return node;
    credentials[node.id] = { username: appliance.username, password: appliance.password };
    return { ...node, url: waitsForCode(node) ? appliance.codeUrl : appliance.url };
  });
  return { flows, credentials };
}
