import type { Node, NodeAPI, NodeDef } from 'node-red';
import { areas } from '../src/areas';
import type { Area } from '../src/model/operation';
import { registerAccountRoute } from './admin/account-capabilities';
import { ActionNode } from './action/action-node';
import { ApplianceNode, APPLIANCE_NODE_TYPE, APPLIANCE_CREDENTIALS, type ApplianceCredentials } from './appliance/appliance-node';
import { registerTestRoute } from './admin/test-connection';
import { registerHelpRoute } from './admin/help-route';
import { INVENTORY_NODE_TYPE, INVENTORY_CREDENTIALS, InventoryNode } from './inventory/inventory-node';
import { registerInventoryRoutes } from './admin/inventory-routes';
import { registerCountersRoute } from './admin/counters-route';
import { createDiagnosticsOptions, setNodeRedRuntime } from './diagnostics/observe';
import { registerOverviewRoutes } from './admin/overview-routes';
import { registerLookupRoutes } from './admin/lookup-routes';
import { WatchNode, WATCH_NODE_TYPE } from './watch/watch-node';
import { registerPreviewRoutes } from './admin/preview-route';
import { registerFolderRoute } from './admin/folder-route';
import { registerTryNowRoute } from './admin/try-route';
import { registerRehearsalRoute } from './admin/rehearsal-route';

/** Registers all node types and admin routes. Node-RED calls it once. */
export default function gatewayNodes(red: NodeAPI): void {
  setNodeRedRuntime(red);
  red.nodes.registerType(
    APPLIANCE_NODE_TYPE,
    function (this: Node<ApplianceCredentials>, definition: NodeDef) {
      red.nodes.createNode(this, definition);
      hideCredentials(this);
      new ApplianceNode(red, this, definition, createDiagnosticsOptions(this.id, (definition as { url?: unknown }).url));
    },
    { credentials: APPLIANCE_CREDENTIALS },
  );
  red.nodes.registerType(
    INVENTORY_NODE_TYPE,
    function (this: Node<Record<string, unknown>>, definition: NodeDef) {
      red.nodes.createNode(this, definition);
      hideCredentials(this);
      new InventoryNode(red, this, definition);
    },
    { credentials: INVENTORY_CREDENTIALS },
  );
  for (const area of areas) registerArea(red, area);
  red.nodes.registerType(WATCH_NODE_TYPE, function (this: Node, definition: NodeDef) {
    red.nodes.createNode(this, definition);
    new WatchNode(red, this, definition);
  });
  registerTestRoute(red);
  registerCountersRoute(red);
  registerOverviewRoutes(red);
  registerAccountRoute(red);
  registerLookupRoutes(red);
  registerInventoryRoutes(red);
  registerPreviewRoutes(red);
  registerTryNowRoute(red);
  registerFolderRoute(red);
  registerRehearsalRoute(red);
  registerHelpRoute(red);
}

function registerArea(red: NodeAPI, area: Area): void {
  red.nodes.registerType(
    `gateway-${area.name}`,
    function (this: Node<Record<string, unknown>>, definition: NodeDef) {
      red.nodes.createNode(this, definition);
      hideCredentials(this);
      new ActionNode(red, this, area, definition);
    },
    { credentials: createCredentialDefinitions(area) },
  );
}

/** Creates the credential definitions: secret fields of operations are stored as credentials under their field names. */
function createCredentialDefinitions(area: Area): Record<string, { type: 'password' }> {
  const fields = Object.values(area.operations).flatMap(({ fields }) => Object.entries(fields));
  return Object.fromEntries(fields.filter(([, { secret }]) => secret).map(([name]) => [name, { type: 'password' }]));
}

/** Hides the clear-text credentials that Node-RED puts on a node from logging and inspection. */
export function hideCredentials(node: Node<object>): void {
  let { credentials } = node;
  Object.defineProperty(node, 'credentials', {
    configurable: true,
    enumerable: false,
    get: () => credentials,
    set: (value: object) => (credentials = value),
  });
}
