import { unwatchFile, watchFile } from 'node:fs';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { Gateway } from '../src/gateway';
import {
  formatOf,
  fromEnvironment,
  fromFolder,
  fromObject,
  Gateways,
  Inventory,
  type CredentialSet,
  type CredentialSource,
  type InventoryAppliance,
} from '../src/inventory';
import { asGatewayError, type GatewayError } from '../src/model/error';
import type { JsonObject } from '../src/model/json';
import { ours, sentence } from '../src/model/sentence';
import { CREDENTIAL_NAMES } from '../src/model/setting-kinds';
import { addAppliances, APPLIANCE_CREDENTIALS, applianceNamed, settingsOf } from './appliance';
import { defaultsOf, MOST_SETS, readSettled, referredBy, setsOf, storedName } from './inventory-parts';
import { observing } from './observe';
import { badConfig, Properties } from './properties';
import { inventoryCoordination } from './shared';
import { countedText, textOf } from './texts';

export const INVENTORY = 'gateway-inventory';

/** Of each set what an appliance node has. */
export const INVENTORY_CREDENTIALS = Object.fromEntries(
  Array.from({ length: MOST_SETS + 1 }, (_, set) =>
    Object.entries(APPLIANCE_CREDENTIALS).map(([name, kind]) => [storedName(name, set), kind] as const),
  ).flat(),
);

const WATCH_MS = 2000;

/** As the English catalogue has them. */
export const INVENTORY_STATUS = {
  reading: 'reading',
  appliances: '__n__ appliances',
  'appliances-one': '1 appliance',
  'fault-at': 'fault in line __line__',
  fault: 'not read',
} as const;

/** Every inventory node that is deployed. */
const deployed = new Map<string, InventoryNode>();
/** A deploy makes the nodes anew; what did not change keeps its key and its sockets. What a dialog tests shares them. */
export const inventoryGateways = new Gateways({
  others: (name) => applianceNamed(name).gateway(),
  coordination: inventoryCoordination,
  ...observing(),
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
  readonly #leave: () => void;
  #inventory: Inventory | undefined;
  #sets: CredentialSource | undefined;
  #file: string | undefined;
  /** What keeps it from being read now; what was good before stays. */
  #fault: GatewayError | undefined;
  #isReady = false;
  #turn: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.id = node.id;
    this.name = typeof definition.name === 'string' ? definition.name : '';
    this.properties = { ...definition };
    deployed.set(this.id, this);
    this.#leave = addAppliances({
      pending: () => (this.#isReady ? undefined : this.ready),
      named: (name) => this.#inventory?.named(name),
      names: () => this.#inventory?.appliances.map(({ name }) => name) ?? [],
    });
    this.ready = this.#start(new Properties(this.properties));
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

  named(name: string): InventoryAppliance | undefined {
    return this.#inventory?.named(name);
  }

  /** Where its credential sets are kept; undefined where that is not set up. */
  get credentialSets(): CredentialSource | undefined {
    return this.#sets;
  }

  /** The password of a credential set, for a field of an operation that is secret. Errors: `BAD_CONFIG` where there is none. */
  secretOf(set: string): string {
    const secret = this.#sets?.read(set).password;
    if (secret) return secret;
    const where = this.#sets ? ours(` ${this.#sets.where(set, 'password')}`) : ours('');
    throw badConfig(sentence`The credential set ${set} has no password.${where}`);
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
  async #start(properties: Properties): Promise<void> {
    this.#node.status({ fill: 'grey', shape: 'ring', text: textOf(this.#red, 'inventory.status.reading', INVENTORY_STATUS.reading) });
    // The nodes that it refers to may start after this one.
    await new Promise((resolve) => setImmediate(resolve));
    await this.#attempt(async () => {
      const source = properties.choice('source', ['file', 'list']);
      this.#inventory = this.#make(properties);
      if (source === 'list') return this.#inventory.read(properties.text('list') ?? '[]', 'json');
      const file = properties.text('file');
      if (file === undefined) throw badConfig('No file is given. Open the inventory and enter the path of one.');
      formatOf(file);
      if (this.#closed) return;
      this.#file = file;
      watchFile(file, { interval: WATCH_MS, persistent: false }, this.#changed);
      await this.#readFile(file);
    });
    this.#isReady = true;
  }

  #make(properties: Properties): Inventory {
    const defaults = defaultsOf(properties);
    this.#sets = this.#credentials(properties);
    return new Inventory({
      defaults,
      credentials: this.#sets,
      gateways: inventoryGateways,
      settingsOf: (values, credentials) => settingsOf(this.#red, { ...values, ...referredBy(this.#red, values) }, credentials),
    });
  }

  #credentials(properties: Properties): CredentialSource {
    const source = properties.choice('secrets', ['node', 'environment', 'folder']);
    if (source === 'environment') return fromEnvironment(properties.text('prefix'));
    if (source === 'node') return fromObject(this.#ownSets(properties), 'the dialog of the inventory');
    const folder = properties.text('secretsFolder');
    if (folder === undefined) throw badConfig('No folder of the credential sets is given. Open the inventory and enter it.');
    return fromFolder(folder);
  }

  /** Sets that Node-RED keeps with the node. */
  #ownSets(properties: Properties): Record<string, CredentialSet> {
    const stored = new Properties(this.#node.credentials);
    const sets = setsOf(properties).map((set, index) => {
      const values = CREDENTIAL_NAMES.map((name) => [name, stored.secret(storedName(name, index))] as const);
      return [set, Object.fromEntries(values.filter(([, value]) => value !== undefined))] as const;
    });
    return Object.fromEntries(sets);
  }

  readonly #changed = (): void => {
    const file = this.#file;
    if (file !== undefined) this.#turn = this.#turn.then(() => this.#attempt(() => this.#readFile(file)));
  };

  async #readFile(file: string): Promise<void> {
    const text = await readSettled(file);
    await this.#inventory?.read(text, formatOf(file));
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#fault = undefined;
    } catch (thrown) {
      const error = asGatewayError(thrown);
      // What cannot be read is a matter of the configuration, not of a message.
      this.#fault = error.code === 'BAD_CONFIG' ? error : badConfig(error.sentence);
      if (!this.#closed) this.#node.warn(this.#fault.message);
    }
    if (this.#closed) this.#inventory?.close();
    else this.#show();
  }

  #show(): void {
    const text = (key: keyof typeof INVENTORY_STATUS, values = {}): string =>
      countedText(this.#red, 'inventory.status', INVENTORY_STATUS, key, values);
    const line = this.#fault?.details.extra?.['line'];
    if (!this.#fault) this.#node.status({ fill: 'green', shape: 'dot', text: text('appliances', { n: this.appliances.length }) });
    else this.#node.status({ fill: 'red', shape: 'ring', text: typeof line === 'number' ? text('fault-at', { line }) : text('fault') });
  }

  #close(): void {
    this.#closed = true;
    this.#leave();
    if (this.#file !== undefined) unwatchFile(this.#file, this.#changed);
    // A node of the same id may be there already.
    if (deployed.get(this.id) === this) deployed.delete(this.id);
    this.#inventory?.close();
    this.#inventory = undefined;
    this.#fault = badConfig('The inventory node was closed.');
  }
}

/** The deployed inventory of that id. */
export function inventoryById(id: string): InventoryNode | undefined {
  return deployed.get(id);
}

/** The appliances of all that are deployed, each with the id of its inventory. */
export function listedAppliances(): { id: string; name: string; present: Gateway | undefined }[] {
  return [...deployed.values()].flatMap(({ id, appliances }) => appliances.map(({ name, present }) => ({ id, name, present })));
}

/** For tests: as if the process had just started. */
export function forgetGateways(): void {
  inventoryGateways.close();
}
