import type { NodeAPI } from 'node-red';
import { detectInventoryFormat, Inventory } from '../../src/inventory';
import type { JsonObject } from '../../src/model/json';
import type { Redactor } from '../../src/model/redaction';
import { readApplianceSettings } from '../appliance/appliance-node';
import { resolveDraftValue } from './draft-settings';
import { readDraftConfigNodes, hasUndeployedProxy, readFlowNode } from './draft-config-nodes';
import { DraftCredentials } from './draft-credentials';
import { getInventoryById, inventoryGatewayRegistry } from '../inventory/inventory-node';
import { readDefaults, readFileAfterLastChange, resolveConfigNodeIds } from '../inventory/inventory-config';
import { badConfig, NodeProperties } from '../common/node-properties';

const INVENTORY_PROPERTIES = ['source', 'file', 'list', 'defaults', 'secrets', 'prefix', 'secretsFolder', 'sets', 'tls', 'proxy'];
/** The values of properties that the dialog leaves empty. */
const DEFAULT_VALUES: Readonly<Record<string, string>> = { source: 'file', secrets: 'node' };

/** The inventory that a connection test uses, and the redactor for its answers. */
interface DraftInventory {
  readonly inventory: Inventory;
  readonly redactor: Redactor;
}

/**
 * Reads the inventory as the dialog holds it. Stored secrets and variables go only to deployed addresses and through deployed proxies.
 * Files and folders must be deployed. Errors: `BAD_CONFIG`; an error of one appliance is reported for that appliance.
 */
export async function createDraftInventory(red: NodeAPI, body: Readonly<JsonObject>): Promise<DraftInventory> {
  const deployed = typeof body.id === 'string' ? getInventoryById(body.id) : undefined;
  await deployed?.ready;
  const flowNode = deployed ? readFlowNode(red, deployed.id) : { properties: {}, credentials: {} };
  const isAsDeployed = (...names: string[]): boolean =>
    deployed !== undefined && names.every((name) => getText(body, name) === getText(flowNode.properties, name));
  const entries = INVENTORY_PROPERTIES.map(
    (name) => [name, resolveDraftValue(name, body[name], flowNode.properties, deployed?.properties)] as const,
  );
  const properties = new NodeProperties(Object.fromEntries(entries));
  const draftCredentials = new DraftCredentials(body, properties, { deployed, storedCredentials: flowNode.credentials, isAsDeployed });
  const inventory = new Inventory({
    defaults: readDefaults(properties),
    credentials: draftCredentials,
    gateways: inventoryGatewayRegistry,
    toSettings: (values, credentials) => {
      const nodes = resolveConfigNodeIds(red, values);
      const settings = { ...values, ...nodes };
      // Loading a list checks its entries without secrets.
      if (!draftCredentials.hasIssued(credentials)) return readApplianceSettings(red, settings, credentials);
      const isDeployedDestination =
        draftCredentials.isDeployedAt(credentials, values['url']) && !hasUndeployedProxy(red, body.nodes, nodes);
      if (!isDeployedDestination) resolveDraftValue('defaults', body.defaults, {}, undefined);
      return readApplianceSettings(
        red,
        settings,
        draftCredentials.credentialsFor(values, credentials, isDeployedDestination),
        readDraftConfigNodes(red, body.nodes, nodes),
      );
    },
  });
  if (properties.choice('source', ['file', 'list']) === 'list') await inventory.read(properties.text('list') ?? '[]', 'json');
  else await inventory.read(...(await readDeployedFile(properties, isAsDeployed('source', 'file'))));
  return { inventory, redactor: draftCredentials.redactor };
}

async function readDeployedFile(
  properties: NodeProperties,
  isAsDeployed: boolean,
): Promise<[string, ReturnType<typeof detectInventoryFormat>]> {
  const file = properties.text('file');
  if (file === undefined) throw badConfig('The inventory has no file. Enter a path.');
  if (!isAsDeployed)
    throw badConfig('Files are read only as deployed, and this one is not deployed. Press Done, deploy, then test. Or test with a list.');
  return [await readFileAfterLastChange(file), detectInventoryFormat(file)];
}

function getText(values: JsonObject, name: string): string {
  const value = values[name];
  return (typeof value === 'string' ? value.trim() : '') || (DEFAULT_VALUES[name] ?? '');
}
