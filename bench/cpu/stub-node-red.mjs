// @ts-check
// The part of Node-RED that the nodes need, so that only the CPU of the nodes and the library is measured.
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';

/**
 * @typedef {EventEmitter & Record<string, any>} StubNode
 * @typedef {{ types: Map<string, Function>, start: (definition: Record<string, any>, credentials?: object) => StubNode }} Runtime
 */

/**
 * Loads the nodes of a build and returns a function that starts nodes.
 * @param {string} nodesFile `dist/nodes/gateway.js`
 * @param {string} userDir
 * @returns {Runtime}
 */
export function loadNodes(nodesFile, userDir) {
  const require = createRequire(import.meta.url);
  const { util } = require('@node-red/util');
  const ignore = () => undefined;
  /** @type {Map<string, Function>} */
  const types = new Map();
  /** @type {Map<string, StubNode>} */
  const nodes = new Map();
  const RED = {
    nodes: {
      registerType: (/** @type {string} */ type, /** @type {Function} */ constructor) => types.set(type, constructor),
      createNode: (/** @type {StubNode} */ node, /** @type {Record<string, any>} */ definition) => {
        const { id, type, z, name } = definition;
        Object.assign(node, { id, type, z, name, credentials: definition['credentials'] });
      },
      getNode: (/** @type {string} */ id) => nodes.get(id),
      eachNode: ignore,
    },
    util,
    settings: { userDir, version: '4.1.0' },
    httpAdmin: { get: ignore, post: ignore, use: ignore },
    auth: { needsPermission: () => ignore },
    events: new EventEmitter(),
    log: { log: ignore, info: ignore, warn: ignore, error: ignore, INFO: 40 },
    hooks: { add: ignore, remove: ignore },
    comms: { publish: ignore },
    _: (/** @type {string} */ key) => key,
  };
  const { default: register } = require(nodesFile);
  register(RED);
  return {
    types,
    start: (definition, credentials = {}) => {
      const constructor = types.get(definition['type']);
      if (!constructor) throw new Error(`There is no node type ${definition['type']}.`);
      /** @type {StubNode} */
      const node = Object.create({
        ...EventEmitter.prototype,
        status: ignore,
        metric: () => false,
        log: ignore,
        warn: ignore,
        error: ignore,
      });
      EventEmitter.call(node);
      constructor.call(node, Object.assign(definition, { credentials }));
      nodes.set(definition['id'], node);
      return node;
    },
  };
}
