import type { NodeAPI } from 'node-red';
import { formatOf, Inventory } from '../src/inventory';
import type { JsonObject } from '../src/model/json';
import type { Redactor } from '../src/model/redaction';
import { settingsOf } from './appliance';
import { filled } from './draft';
import { draftNodes, isOtherProxy, textsOf } from './draft-nodes';
import { DraftSecrets } from './draft-secrets';
import { inventoryById, inventoryGateways } from './inventory';
import { defaultsOf, readSettled, referredBy } from './inventory-parts';
import { badConfig, Properties } from './properties';

const PROPERTIES = ['source', 'file', 'list', 'defaults', 'secrets', 'prefix', 'secretsFolder', 'sets', 'tls', 'proxy'];
/** What a property is where the dialog says nothing. */
const USUAL: Readonly<Record<string, string>> = { source: 'file', secrets: 'node' };

/** What a test of all appliances has in place of the deployed inventory, and what no answer of it may show. */
export interface InventoryDraft {
  readonly inventory: Inventory;
  readonly redactor: Redactor;
}

/**
 * The inventory as its dialog holds it, by the rules that an appliance's has (draft.ts): what was stored and not touched, and values of
 * variables, go to no address but those that they were deployed for, and through no proxy that is not deployed. Files and folders are
 * only read as they are deployed. Errors: `BAD_CONFIG`; one that concerns a single appliance is that one's.
 */
export async function draftInventory(red: NodeAPI, body: Readonly<JsonObject>): Promise<InventoryDraft> {
  const deployed = typeof body.id === 'string' ? inventoryById(body.id) : undefined;
  await deployed?.ready;
  const texts = deployed ? textsOf(red, deployed.id) : { properties: {}, credentials: {} };
  const isAsDeployed = (...names: string[]): boolean =>
    deployed !== undefined && names.every((name) => textIn(body, name) === textIn(texts.properties, name));
  const read = PROPERTIES.map((name) => [name, filled(name, body[name], texts.properties, deployed?.properties)] as const);
  const properties = new Properties(Object.fromEntries(read));
  const secrets = new DraftSecrets(body, properties, { deployed, texts: texts.credentials, isAsDeployed });
  const inventory = new Inventory({
    defaults: defaultsOf(properties),
    credentials: secrets,
    gateways: inventoryGateways,
    settingsOf: (values, credentials) => {
      const nodes = referredBy(red, values);
      const settings = { ...values, ...nodes };
      // While a list is read its entries are checked without their secrets.
      if (!secrets.gave(credentials)) return settingsOf(red, settings, credentials);
      const isThere = secrets.isDeployedAt(credentials, values['url']) && !isOtherProxy(red, body.nodes, nodes);
      if (!isThere) filled('defaults', body.defaults, {}, undefined);
      return settingsOf(red, settings, secrets.takenTo(values, credentials, isThere), draftNodes(red, body.nodes, nodes));
    },
  });
  if (properties.choice('source', ['file', 'list']) === 'list') await inventory.read(properties.text('list') ?? '[]', 'json');
  else await inventory.read(...(await fileOf(properties, isAsDeployed('source', 'file'))));
  return { inventory, redactor: secrets.redactor };
}

async function fileOf(properties: Properties, isAsDeployed: boolean): Promise<[string, ReturnType<typeof formatOf>]> {
  const file = properties.text('file');
  if (file === undefined) throw badConfig('No file is given. Enter the path of one.');
  if (!isAsDeployed)
    throw badConfig(
      'Files are only read as they are deployed, and this one is not. Press Done, deploy, and test then; or test with a list.',
    );
  return [await readSettled(file), formatOf(file)];
}

function textIn(values: JsonObject, name: string): string {
  const value = values[name];
  return (typeof value === 'string' ? value.trim() : '') || (USUAL[name] ?? '');
}
