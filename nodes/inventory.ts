import { unwatchFile, watchFile } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import type { Gateway } from '../src/gateway';
import {
  DEFAULT_SET,
  formatOf,
  fromEnvironment,
  fromFolder,
  fromObject,
  Gateways,
  Inventory,
  LARGEST_BYTES,
  type CredentialSet,
  type CredentialSource,
  type InventoryAppliance,
} from '../src/inventory';
import { asGatewayError, type GatewayError } from '../src/model/error';
import { isObject } from '../src/model/json';
import { ours, sentence } from '../src/model/sentence';
import { CREDENTIAL_NAMES } from '../src/model/setting-kinds';
import { fileFault } from '../src/transfer/file-fault';
import { addAppliances, APPLIANCE_CREDENTIALS, applianceNamed, settingsOf } from './appliance';
import { observing } from './observe';
import { badConfig, Properties } from './properties';
import { inventoryCoordination } from './shared';
import { countedText, textOf } from './texts';

export const INVENTORY = 'gateway-inventory';

/** Sets beside the default one that the node itself can keep; any number can come from the environment or a folder. */
export const MOST_SETS = 7;

/** The default set as an appliance node has it, further ones with their number behind: `password_1`. */
export const INVENTORY_CREDENTIALS = Object.fromEntries(
  Array.from({ length: MOST_SETS + 1 }, (_, set) =>
    Object.entries(APPLIANCE_CREDENTIALS).map(([name, kind]) => [set === 0 ? name : `${name}_${set}`, kind] as const),
  ).flat(),
);

const WATCH_MS = 2000;
/** A file that is being written is left alone until it stays as it is. */
const SETTLES_MS = 100;

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
/** A deploy makes the nodes anew; what did not change keeps its key and its sockets. */
const gateways = new Gateways({
  others: (name) => applianceNamed(name).gateway(),
  coordination: inventoryCoordination,
  ...observing(),
});

/** The runtime of one `gateway-inventory` node. */
export class InventoryNode {
  readonly id: string;
  readonly name: string;
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
    deployed.set(this.id, this);
    this.#leave = addAppliances({
      pending: () => (this.#isReady ? undefined : this.ready),
      named: (name) => this.#inventory?.named(name),
      names: () => this.#inventory?.appliances.map(({ name }) => name) ?? [],
    });
    this.ready = this.#start(new Properties({ ...definition }));
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
    const read = jsonOf('defaults', properties.text('defaults')) ?? {};
    if (!isObject(read)) throw badConfig('defaults has to be an object of properties, such as { "realm": "Admin Users" }.');
    const own = { tls: properties.text('tls'), proxy: properties.text('proxy') };
    const defaults = { ...Object.fromEntries(Object.entries(own).filter(([, id]) => id !== undefined)), ...read };
    this.#sets = this.#credentials(properties);
    return new Inventory({
      defaults,
      credentials: this.#sets,
      gateways,
      settingsOf: (values, credentials) =>
        settingsOf(
          this.#red,
          { ...values, tls: this.#idOf('tls-config', values.tls), proxy: this.#idOf('http proxy', values.proxy) },
          credentials,
        ),
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
    const names = (properties.text('sets') ?? '').split(/[\s,;]+/).filter((name) => name !== '');
    if (names.length > MOST_SETS)
      throw badConfig(`The node itself keeps ${MOST_SETS} sets beside the default one. Take the environment or a folder for more.`);
    const sets = [DEFAULT_SET, ...names].map((set, index) => {
      const values = CREDENTIAL_NAMES.map((name) => [name, stored.secret(index === 0 ? name : `${name}_${index}`)] as const);
      return [set, Object.fromEntries(values.filter(([, value]) => value !== undefined))] as const;
    });
    return Object.fromEntries(sets);
  }

  /** A configuration node by its id, or by its name, which is what people write into a table. */
  #idOf(type: string, value: unknown): unknown {
    if (typeof value !== 'string' || value === '') return undefined;
    const ids: string[] = [];
    this.#red.nodes.eachNode((node: { id: string; type: string; name?: unknown }) => {
      if (node.type === type && (node.id === value || node.name === value)) ids.push(node.id);
    });
    if (ids.length > 1 && !ids.includes(value))
      throw badConfig(sentence`Two nodes for ${type} have the name ${value}. Give each a name of its own.`);
    return ids.includes(value) ? value : (ids[0] ?? value);
  }

  readonly #changed = (): void => {
    const file = this.#file;
    if (file !== undefined) this.#turn = this.#turn.then(() => this.#attempt(() => this.#readFile(file)));
  };

  async #readFile(file: string): Promise<void> {
    try {
      for (let before = await stat(file); ;) {
        if (before.size > LARGEST_BYTES) throw badConfig(`The file of the inventory is larger than ${LARGEST_BYTES / 2 ** 20} MiB.`);
        const text = await readFile(file, 'utf8');
        await pause(SETTLES_MS);
        const after = await stat(file);
        if (after.mtimeMs === before.mtimeMs && after.size === before.size) return await this.#inventory?.read(text, formatOf(file));
        before = after;
      }
    } catch (thrown) {
      throw 'code' in (thrown as object) && !(thrown as { sentence?: unknown }).sentence ? fileFault(thrown, file, 'read') : thrown;
    }
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
  gateways.close();
}

function jsonOf(name: string, text: string | undefined): unknown {
  if (text === undefined || text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw badConfig(sentence`${ours(name)} is no JSON. Open the inventory and enter it again.`);
  }
}
