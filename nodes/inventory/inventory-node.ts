import { unwatchFile, watchFile } from 'node:fs';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { Gateway } from '../../src/gateway/gateway';
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
import {
  registerApplianceList,
  APPLIANCE_CREDENTIALS,
  getApplianceByName,
  hasRehearsal,
  readApplianceSettings,
} from '../appliance/appliance-node';
import {
  readAllowedHosts,
  readDefaults,
  MAX_EXTRA_CREDENTIAL_SETS,
  readFileAfterLastChange,
  toRehearsalProperty,
  resolveConfigNodeIds,
  readCredentialSetNames,
  getStoredCredentialName,
} from './inventory-config';
import { createDiagnosticsOptions, getPackageStateFolder } from '../diagnostics/observe';
import { badConfig, NodeProperties } from '../common/node-properties';
import { sharedInventoryCoordination } from './coordination';
import { translateCount, translateText } from '../common/i18n';
import { RUNTIME_TEXTS } from '../common/runtime-texts';

export const INVENTORY_NODE_TYPE = 'gateway-inventory';

/** The credential fields of one set, which are those of an appliance node. */
export const INVENTORY_CREDENTIALS = Object.fromEntries(
  Array.from({ length: MAX_EXTRA_CREDENTIAL_SETS + 1 }, (_, set) =>
    Object.entries(APPLIANCE_CREDENTIALS).map(([name, kind]) => [getStoredCredentialName(name, set), kind] as const),
  ).flat(),
);

const FILE_WATCH_INTERVAL_MS = 2000;

/** All deployed inventory nodes. */
const deployedById = new Map<string, InventoryNode>();
/** The gateways of the inventory. They outlive a deploy, so unchanged appliances keep API key and connections. Connection tests share them. */
export const inventoryGatewayRegistry = new GatewayRegistry({
  resolveAppliance: (name) => getApplianceByName(name).gateway(),
  coordination: sharedInventoryCoordination,
  ...createDiagnosticsOptions(),
  // The runtime is known later than this module is loaded.
  get stateFolder() {
    return getPackageStateFolder();
  },
});

/** The runtime of a `gateway-inventory` node. */
export class InventoryNode {
  readonly id: string;
  readonly name: string;
  /** The deployed properties, with the values of variables. */
  readonly properties: Readonly<JsonObject>;
  /** Settles after the first read, even if the read fails. */
  readonly ready: Promise<void>;
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  readonly #unregister: () => void;
  #inventory: Inventory | undefined;
  #credentialSource: CredentialSource | undefined;
  #file: string | undefined;
  /** The error of the last read. The last valid list stays in use. */
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
    // Node-RED waits for `done` only if the handler has exactly two parameters.
    node.on('close', (_removed: boolean, done: () => void) => {
      this.#close();
      done();
    });
  }

  /** The current error. An earlier list can still be in use. */
  get fault(): GatewayError | undefined {
    return this.#fault;
  }

  /** Whether the appliances of the inventory are copies. */
  get isRehearsal(): boolean {
    return hasRehearsal(this.properties);
  }

  get appliances(): InventoryAppliance[] {
    return this.#inventory?.appliances ?? [];
  }

  findAppliance(name: string): InventoryAppliance | undefined {
    return this.#inventory?.findAppliance(name);
  }

  /** Whether a credential set may be sent to an address: a deployed host, or an allowed one. */
  isHostAllowed(credentials: string, url: string): boolean {
    return this.#inventory?.isHostAllowed(credentials, url) ?? false;
  }

  /** The source of the credential sets, or undefined if it is misconfigured. */
  get credentialSource(): CredentialSource | undefined {
    return this.#credentialSource;
  }

  /** Returns the password of a credential set, for a secret field of an operation. Errors: `BAD_CONFIG` if it has none. */
  getPassword(set: string): string {
    const password = this.#credentialSource?.read(set).password;
    if (password) return password;
    const location = this.#credentialSource ? trusted(` ${this.#credentialSource.describeLocation(set, 'password')}`) : trusted('');
    throw badConfig(safeMessage`The credential set ${set} has no password.${location}`);
  }

  /** Returns the signing key of the default credential set, which a fleet signs its orders with. */
  getSigningKey(): string | undefined {
    return this.#credentialSource?.read('default').signingKey;
  }

  /** Returns the appliances that match a selection. Errors: `BAD_INPUT`; `BAD_CONFIG` before the first valid read. */
  async select(selection: unknown): Promise<InventoryAppliance[]> {
    if (!this.#isReady) await this.ready;
    // A failed first read must not look like an empty inventory.
    if (this.#inventory === undefined || (this.#fault && this.#inventory.size === 0))
      throw this.#fault ?? badConfig('The inventory node was closed.');
    return this.#inventory.select(selection);
  }

  /** Never rejects. */
  async #start(properties: NodeProperties): Promise<void> {
    this.#node.status({
      fill: 'grey',
      shape: 'ring',
      text: translateText(this.#red, 'inventory.status.reading', RUNTIME_TEXTS.inventory.status.reading),
    });
    // Nodes that this one refers to can start after it.
    await new Promise((resolve) => setImmediate(resolve));
    await this.#attempt(async () => {
      const source = properties.choice('source', ['file', 'list']);
      this.#inventory = this.#createInventory(properties);
      if (source === 'list') return this.#inventory.read(properties.text('list') ?? '[]', 'json');
      const file = properties.text('file');
      if (file === undefined) throw badConfig('The inventory has no file. Open it and enter a path.');
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
      allowedHosts: readAllowedHosts(properties),
      gateways: inventoryGatewayRegistry,
      toSettings: (values, credentials) =>
        readApplianceSettings(
          this.#red,
          { ...values, ...resolveConfigNodeIds(this.#red, values), ...toRehearsalProperty(properties, values) },
          credentials,
        ),
    });
  }

  #createCredentialSource(properties: NodeProperties): CredentialSource {
    const source = properties.choice('secrets', ['node', 'environment', 'folder']);
    if (source === 'environment') return credentialsFromEnvironment(properties.text('prefix'));
    if (source === 'node') return credentialsFromObject(this.#readOwnSets(properties), 'the dialog of the inventory');
    const folder = properties.text('secretsFolder');
    if (folder === undefined) throw badConfig('The inventory has no folder for credential sets. Open it and enter a path.');
    return credentialsFromFolder(folder);
  }

  /** Reads the sets that the node stores. */
  #readOwnSets(properties: NodeProperties): Record<string, CredentialSet> {
    const stored = new NodeProperties(this.#node.credentials);
    const sets = readCredentialSetNames(properties).map((set, index) => {
      const values = CREDENTIAL_NAMES.map((name) => [name, stored.secret(getStoredCredentialName(name, index))] as const);
      return [set, Object.fromEntries(values.filter(([, value]) => value !== undefined))] as const;
    });
    return Object.fromEntries(sets);
  }

  readonly #onFileChange = (): void => {
    const file = this.#file;
    if (file !== undefined) this.#pendingRead = this.#pendingRead.then(() => this.#attempt(() => this.#readFile(file)));
  };

  async #readFile(file: string): Promise<void> {
    const text = await readFileAfterLastChange(file);
    await this.#inventory?.read(text, detectInventoryFormat(file));
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#fault = undefined;
    } catch (thrown) {
      const error = asGatewayError(thrown);
      // An unreadable file is a configuration error for every message.
      this.#fault = error.code === 'BAD_CONFIG' ? error : badConfig(error.safeMessage);
      if (!this.#closed) this.#node.warn(this.#fault.message);
    }
    if (this.#closed) this.#inventory?.close();
    else this.#showStatus();
  }

  #showStatus(): void {
    const text = (key: keyof typeof RUNTIME_TEXTS.inventory.status, values = {}): string =>
      translateCount(this.#red, 'inventory.status', RUNTIME_TEXTS.inventory.status, key, values);
    const line = this.#fault?.details.extra?.['line'];
    if (!this.#fault) this.#node.status({ fill: 'green', shape: 'dot', text: text('appliances', { n: this.appliances.length }) });
    else this.#node.status({ fill: 'red', shape: 'ring', text: typeof line === 'number' ? text('fault-at', { line }) : text('fault') });
  }

  #close(): void {
    this.#closed = true;
    this.#unregister();
    if (this.#file !== undefined) unwatchFile(this.#file, this.#onFileChange);
    // A deploy can already have created a node with the same id.
    if (deployedById.get(this.id) === this) deployedById.delete(this.id);
    this.#inventory?.close();
    this.#inventory = undefined;
    this.#fault = badConfig('The inventory node was closed.');
  }
}

/** Returns the deployed inventory with this id. */
export function getInventoryById(id: string): InventoryNode | undefined {
  return deployedById.get(id);
}

/** An appliance of an inventory. */
interface ListedInventoryAppliance extends Pick<InventoryAppliance, 'name' | 'url' | 'existingGateway'> {
  /** The id of the inventory. */
  readonly id: string;
  gateway(): Gateway;
}

/** Returns the appliances of all inventories. */
export function listInventoryAppliances(): ListedInventoryAppliance[] {
  return [...deployedById.values()].flatMap(({ id, appliances }) =>
    appliances.map((appliance) => {
      const { name, url, existingGateway } = appliance;
      return { id, name, url, existingGateway, gateway: () => appliance.gateway() };
    }),
  );
}
