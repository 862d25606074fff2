import type { Node, NodeAPI, NodeDef } from 'node-red';
import { areas } from '../src/areas';
import type { Area } from '../src/model/operation';
import { registerAccount } from './account';
import { Action } from './action';
import { Appliance, APPLIANCE, APPLIANCE_CREDENTIALS, type Credentials } from './appliance';
import { registerTest } from './appliance-test';
import { registerHelp } from './help';
import { INVENTORY, INVENTORY_CREDENTIALS, InventoryNode, listedAppliances } from './inventory';
import { registerInventory } from './inventory-admin';
import { observing, registerCounters } from './observe';
import { registerPickers } from './pickers';
import { Watch, WATCH } from './watch';
import { registerPreview } from './preview';

/** Registers the appliance node and one action node for each area of the registry; called by Node-RED once. */
export default function gatewayNodes(red: NodeAPI): void {
  red.nodes.registerType(
    APPLIANCE,
    function (this: Node<Credentials>, definition: NodeDef) {
      red.nodes.createNode(this, definition);
      hideCredentials(this);
      new Appliance(red, this, definition, observing(this.id));
    },
    { credentials: APPLIANCE_CREDENTIALS },
  );
  red.nodes.registerType(
    INVENTORY,
    function (this: Node<Record<string, unknown>>, definition: NodeDef) {
      red.nodes.createNode(this, definition);
      hideCredentials(this);
      new InventoryNode(red, this, definition);
    },
    { credentials: INVENTORY_CREDENTIALS },
  );
  for (const area of areas) registerArea(red, area);
  red.nodes.registerType(WATCH, function (this: Node, definition: NodeDef) {
    red.nodes.createNode(this, definition);
    new Watch(red, this, definition);
  });
  registerTest(red);
  registerCounters(red, listedAppliances);
  registerAccount(red);
  registerPickers(red);
  registerInventory(red);
  registerPreview(red);
  registerHelp(red);
}

function registerArea(red: NodeAPI, area: Area): void {
  red.nodes.registerType(
    `gateway-${area.name}`,
    function (this: Node<Record<string, unknown>>, definition: NodeDef) {
      red.nodes.createNode(this, definition);
      hideCredentials(this);
      new Action(red, this, area, definition);
    },
    { credentials: secretsOf(area) },
  );
}

/** Secret fields of all operations of an area are typed into the dialog as credentials, under their own names. */
function secretsOf(area: Area): Record<string, { type: 'password' }> {
  const fields = Object.values(area.operations).flatMap(({ fields }) => Object.entries(fields));
  return Object.fromEntries(fields.filter(([, { secret }]) => secret).map(([name]) => [name, { type: 'password' }]));
}

/** Node-RED hangs them on the node in clear, where everything that logs or inspects a node comes by. */
export function hideCredentials(node: Node<object>): void {
  let { credentials } = node;
  Object.defineProperty(node, 'credentials', {
    configurable: true,
    enumerable: false,
    get: () => credentials,
    set: (value: object) => (credentials = value),
  });
}
