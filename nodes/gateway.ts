import { createRequire } from 'node:module';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import type * as nodeRuntime from './node-runtime';
import { getRegistrations } from './registrations';

/** The module that creates the nodes. */
type RuntimeModule = typeof nodeRuntime;

/** Registers all node types and admin routes. Node-RED calls it once. */
export default function gatewayNodes(red: NodeAPI): void {
  registerNodes(red, () => createRequire(__filename)('./node-runtime.js') as RuntimeModule);
}

/**
 * Registers all node types and admin routes. `loadRuntime` is called for the first node or request, because a Node-RED that has this package
 * but no flow with it should not wait for the whole package.
 */
export function registerNodes(red: NodeAPI, loadRuntime: () => RuntimeModule): void {
  let runtime: nodeRuntime.NodeRuntime | undefined;
  const getRuntime = (): nodeRuntime.NodeRuntime => (runtime ??= new (loadRuntime().NodeRuntime)(red));
  const { credentials: credentialsByType, routes } = getRegistrations();
  for (const [type, credentials] of Object.entries(credentialsByType)) {
    const createNode = function (this: Node, definition: NodeDef): void {
      getRuntime().createNode(this, type, definition);
    };
    red.nodes.registerType(type, createNode, { credentials });
  }
  for (const { method, path, permission } of routes) {
    red.httpAdmin[method](path, red.auth.needsPermission(permission), (request, response) =>
      getRuntime().handleRequest(method, path, request, response),
    );
  }
}
