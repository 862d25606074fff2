import type { Node, NodeAPI, NodeDef } from 'node-red';
import { areas } from '../src/areas';
import type { Area } from '../src/model/operation';
import { ActionNode } from './action/action-node';
import { adminRoutes } from './admin';
import type { Request, AdminRouteResponse } from './admin/admin-route';
import { publishOverviewChanges } from './admin/overview-routes';
import { APPLIANCE_NODE_TYPE, ApplianceNode } from './appliance/appliance-node';
import { hideCredentials } from './common/hide-credentials';
import { createDiagnosticsOptions, setNodeRedRuntime } from './diagnostics/observe';
import { INVENTORY_NODE_TYPE, InventoryNode } from './inventory/inventory-node';
import { WATCH_NODE_TYPE, WatchNode } from './watch/watch-node';

export function toNodeType(area: Area): string {
  return `gateway-${area.name}`;
}

/** Creates the nodes of one Node-RED, and handles the requests of its editor. */
export class NodeRuntime {
  readonly #red: NodeAPI;

  constructor(red: NodeAPI) {
    this.#red = red;
    setNodeRedRuntime(red);
    publishOverviewChanges(red);
  }

  createNode(node: Node, type: string, definition: NodeDef): void {
    const red = this.#red;
    red.nodes.createNode(node, definition);
    hideCredentials(node);
    if (type === APPLIANCE_NODE_TYPE) {
      const options = createDiagnosticsOptions(node.id, (definition as { url?: unknown }).url);
      new ApplianceNode(red, node, definition, options);
    } else if (type === INVENTORY_NODE_TYPE) new InventoryNode(red, node, definition);
    else if (type === WATCH_NODE_TYPE) new WatchNode(red, node, definition);
    else {
      const area = areas.find((candidate) => toNodeType(candidate) === type);
      if (area) new ActionNode(red, node, area, definition);
    }
  }

  handleRequest(method: string, path: string, request: Request, response: AdminRouteResponse): void {
    adminRoutes.find((route) => route.method === method && route.path === path)?.handle(this.#red, request, response);
  }
}
