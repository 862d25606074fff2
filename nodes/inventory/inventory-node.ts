import { unwatchFile, watchFile } from 'node:fs';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { Gateway } from '../../src/gateway';
import {
  detectInventoryFormat,
  credentialsFromEnvironment,
  credentialsFromFolder,
  credentialsFromObject,
  GatewayRegistry,
  Inventory,
  type CredentialSet,
  type CredentialSource,
  type InventoryAppliance,
} from '../../src/inventory';
import { asGatewayError, type GatewayError } from '../../src/model/error';
import type { JsonObject } from '../../src/model/json';
import { trusted, safeMessage } from '../../src/model/safe-message';
import { CREDENTIAL_NAMES } from '../../src/model/setting-kinds';
import { registerApplianceList, APPLIANCE_CREDENTIALS, getApplianceByName, readApplianceSettings } from '../appliance/appliance-node';
import {
  readDefaults,
  MAX_EXTRA_CREDENTIAL_SETS,
  readStableFile,
  resolveConfigNodeIds,
  readSetNames,
  storedCredentialName,
} from './inventory-config';
import { createDiagnosticsOptions } from '../diagnostics/observe';
import { badConfig, NodeProperties } from '../common/node-properties';
import { inventoryCoordination } from './coordination';
import { translateCount, translateText } from '../common/i18n';

export const INVENTORY_TYPE = 'gateway-inventory';

/** Of each set what an appliance node has. */
export const INVENTORY_CREDENTIALS = Object.fromEntries(
  Array.from({ length: MAX_EXTRA_CREDENTIAL_SETS + 1 }, (_, set) =>
    Object.entries(APPLIANCE_CREDENTIALS).map(([name, kind]) => [storedCredentialName(name, set), kind] as const),
  ).flat(),
);

const FILE_WATCH_INTERVAL_MS = 2000;

/** As the English catalogue has them. */
export const INVENTORY_STATUS_TEXTS = {
  reading: 'reading',
  appliances: '__n__ appliances',
  'appliances-one': '1 appliance',
  'fault-at': 'fault in line __line__',
  fault: 'not read',
} as const;

/** Every inventory node that is deployed. */
const deployedById = new Map<string, InventoryNode>();
/** A deploy makes the nodes anew; what did not change keeps its key and its sockets. What a dialog tests shares them. */
export const inventoryGateways = new GatewayRegistry({
  resolveAppliance: (name) => getApplianceByName(name).gateway(),
  coordination: inventoryCoordination,
  ...createDiagnosticsOptions(),
});

/** The runtime of one `gateway-inventory` node. */
export class InventoryNode {
  readonly id: string;
  readonly name: string;
  /** As they are deployed, with the values of variables. */
  readonly properties: Readonly<JsonObject>;
  /** When it has been read for the first time, well or not. */
  readonly ready: Promise<void>;
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  readonly #unregister: () => void;
  #inventory: Inventory | undefined;
  #credentialSource: CredentialSource | undefined;
  #file: string | undefined;
  /** What keeps it from being read now; what was good before stays. */
  #fault: GatewayError | undefined;
  #isReady = false;
  #pendingRead: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.id = node.id;
    this.name = typeof definition.name === 'string' ? definition.name : '';
    this.properties = { ...definition };
    deployedById.set(this.id, this);
    this.#unregister = registerApplianceList({
      pending: () => (this.#isReady ? undefined : this.ready),
      findAppliance: (name) => this.#inventory?.findAppliance(name),
      listNames: () => this.#inventory?.appliances.map(({ name }) => name) ?? [],
    });
    this.ready = this.#start(new NodeProperties(this.properties));
    // Node-RED counts the parameters: exactly two, or `done` never comes.
    node.on('close', (_removed: boolean, done: () => void) => {
      this.#close();
      done();
    });
  }

  /** What is wrong now, though an earlier list may still be there. */
  get fault(): GatewayError | undefined {
    return this.#fault;
  }

  get appliances(): InventoryAppliance[] {
    return this.#inventory?.appliances ?? [];
  }

  findAppliance(name: string): InventoryAppliance | undefined {
    return this.#inventory?.findAppliance(name);
  }

  /** Where its credential sets are kept; undefined where that is not set up. */
  get credentialSource(): CredentialSource | undefined {
    return this.#credentialSource;
  }

  /** The password of a credential set, for a field of an operation that is secret. Errors: `BAD_CONFIG` where there is none. */
  getPassword(set: string): string {
    const password = this.#credentialSource?.read(set).password;
    if (password) return password;
    const location = this.#credentialSource ? trusted(` ${this.#credentialSource.describeLocation(set, 'password')}`) : trusted('');
    throw badConfig(safeMessage`The credential set ${set} has no password.${location}`);
  }

  /** Those that a selection fits. Errors: `BAD_INPUT`; `BAD_CONFIG` where nothing good has been read yet. */
  async select(selection: unknown): Promise<InventoryAppliance[]> {
    if (!this.#isReady) await this.ready;
    // Nothing good has come before the fault: nothing must look like an empty inventory.
    if (this.#inventory === undefined || (this.#fault && this.#inventory.size === 0))
      throw this.#fault ?? badConfig('The inventory node was closed.');
    return this.#inventory.select(selection);
  }

  /** Never rejects. */
  async #start(properties: NodeProperties): Promise<void> {
    this.#node.status({
      fill: 'grey',
      shape: 'ring',
      text: translateText(this.#red, 'inventory.status.reading', INVENTORY_STATUS_TEXTS.reading),
    });
    // The nodes that it refers to may start after this one.
    await new Promise((resolve) => setImmediate(resolve));
    await this.#attempt(async () => {
      const source = properties.choice('source', ['file', 'list']);
      this.#inventory = this.#createInventory(properties);
      if (source === 'list') return this.#inventory.loadText(properties.text('list') ?? '[]', 'json');
      const file = properties.text('file');
      if (file === undefined) throw badConfig('No file is given. Open the inventory and enter the path of one.');
      detectInventoryFormat(file);
      if (this.#closed) return;
      this.#file = file;
      watchFile(file, { interval: FILE_WATCH_INTERVAL_MS, persistent: false }, this.#onFileChange);
      await this.#readFile(file);
    });
    this.#isReady = true;
  }

  #createInventory(properties: NodeProperties): Inventory {
    const defaults = readDefaults(properties);
    this.#credentialSource = this.#createCredentialSource(properties);
    return new Inventory({
      defaults,
      credentials: this.#credentialSource,
      gateways: inventoryGateways,
      toSettings: (values, credentials) =>
        readApplianceSettings(this.#red, { ...values, ...resolveConfigNodeIds(this.#red, values) }, credentials),
    });
  }

  #createCredentialSource(properties: NodeProperties): CredentialSource {
    const source = properties.choice('secrets', ['node', 'environment', 'folder']);
    if (source === 'environment') return credentialsFromEnvironment(properties.text('prefix'));
    if (source === 'node') return credentialsFromObject(this.#readOwnSets(properties), 'the dialog of the inventory');
    const folder = properties.text('secretsFolder');
    if (folder === undefined) throw badConfig('No folder of the credential sets is given. Open the inventory and enter it.');
    return credentialsFromFolder(folder);
  }

  /** Sets that Node-RED keeps with the node. */
  #readOwnSets(properties: NodeProperties): Record<string, CredentialSet> {
    const stored = new NodeProperties(this.#node.credentials);
    const sets = readSetNames(properties).map((set, index) => {
      const values = CREDENTIAL_NAMES.map((name) => [name, stored.secret(storedCredentialName(name, index))] as const);
      return [set, Object.fromEntries(values.filter(([, value]) => value !== undefined))] as const;
    });
    return Object.fromEntries(sets);
  }

  readonly #onFileChange = (): void => {
    const file = this.#file;
    if (file !== undefined) this.#pendingRead = this.#pendingRead.then(() => this.#attempt(() => this.#readFile(file)));
  };

  async #readFile(file: string): Promise<void> {
    const text = await readStableFile(file);
    await this.#inventory?.loadText(text, detectInventoryFormat(file));
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#fault = undefined;
    } catch (thrown) {
      const error = asGatewayError(thrown);
      // What cannot be read is a matter of the configuration, not of a message.
      this.#fault = error.code === 'BAD_CONFIG' ? error : badConfig(error.safeMessage);
      if (!this.#closed) this.#node.warn(this.#fault.message);
    }
    if (this.#closed) this.#inventory?.close();
    else this.#showStatus();
  }

  #showStatus(): void {
    const text = (key: keyof typeof INVENTORY_STATUS_TEXTS, values = {}): string =>
      translateCount(this.#red, 'inventory.status', INVENTORY_STATUS_TEXTS, key, values);
    const line = this.#fault?.details.extra?.['line'];
    if (!this.#fault) this.#node.status({ fill: 'green', shape: 'dot', text: text('appliances', { n: this.appliances.length }) });
    else this.#node.status({ fill: 'red', shape: 'ring', text: typeof line === 'number' ? text('fault-at', { line }) : text('fault') });
  }

  #close(): void {
    this.#closed = true;
    this.#unregister();
    if (this.#file !== undefined) unwatchFile(this.#file, this.#onFileChange);
    // A node of the same id may be there already.
    if (deployedById.get(this.id) === this) deployedById.delete(this.id);
    this.#inventory?.close();
    this.#inventory = undefined;
    this.#fault = badConfig('The inventory node was closed.');
  }
}

/** The deployed inventory of that id. */
export function inventoryById(id: string): InventoryNode | undefined {
  return deployedById.get(id);
}

/** The appliances of all that are deployed, each with the id of its inventory. */
export function listInventoryAppliances(): { id: string; name: string; existingGateway: Gateway | undefined }[] {
  return [...deployedById.values()].flatMap(({ id, appliances }) =>
    appliances.map(({ name, existingGateway }) => ({ id, name, existingGateway })),
  );
}

/** For tests: as if the process had just started. */
export function resetInventoryGateways(): void {
  inventoryGateways.close();
}
