import { spawnSync } from 'node:child_process';
import type { Node, NodeAPI, NodeDef, NodeStatus } from 'node-red';
import { asGatewayError, GatewayError, trusted, safeMessage } from '@gateway-admin/node-red';
import {
  badConfig,
  getInventoryById,
  NodeProperties,
  translatorForPackage,
  shareInventoryStateBetweenProcesses,
  type InventoryNode,
} from '@gateway-admin/node-red/nodes';
import { Engine, type ReportListener } from '../engine';
import type { EmbeddedPostgres } from '../engine/embedded-postgres';
import { createEmbeddedPostgres } from '../engine/npm-postgres';
import type { ApplianceSource } from '../worker/item-worker';
import { getMessageText, getStatusText, type StatusKey } from './i18n';

export const ENGINE_NODE_TYPE = 'gateway-fleet-engine';
export const ENGINE_CREDENTIALS = { url: { type: 'password' } } as const;

type StatusAppearance = Pick<NodeStatus, 'fill' | 'shape'>;

/** All deployed engines by id. */
const deployedEngines = new Map<string, EngineNode>();
/** Embedded PostgreSQL servers of this process by user folder. They stop with the process, not with a deploy. */
const embeddedServers = new Map<string, { server: EmbeddedPostgres; url: Promise<string> }>();

const ERROR_APPEARANCE: StatusAppearance = { fill: 'red', shape: 'ring' };
const APPEARANCES: Partial<Record<StatusKey, StatusAppearance>> = {
  ready: { fill: 'green', shape: 'dot' },
  differs: { fill: 'yellow', shape: 'ring' },
  starting: { fill: 'grey', shape: 'ring' },
};

/** The runtime of a `gateway-fleet-engine` node. */
export class EngineNode {
  readonly id: string;
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  /** The start of the engine. Rejects if the engine is not configured or cannot start. */
  readonly ready: Promise<Engine>;
  #engine: Engine | undefined;
  #inventory = '';
  /** Host and name of the database, known after the start. */
  #database: string | undefined;
  #stopSharing: (() => void) | undefined;
  #closed = false;
  #isEmbedded = false;
  #isRestarting = false;
  /** Whether living engines of this fleet have different inventories. */
  #hasDifferences = false;
  #shownStatus: StatusKey | undefined;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.id = node.id;
    deployedEngines.set(this.id, this);
    this.#show('starting');
    this.ready = this.#start(new NodeProperties({ ...definition }));
    this.ready.catch((thrown: unknown) => {
      if (this.#closed) return;
      const error = asGatewayError(thrown);
      this.#show(error.code === 'BAD_CONFIG' ? 'not-configured' : 'not-started');
      node.error(error.message);
    });
    // Node-RED waits only for close handlers with exactly two parameters.
    node.on('close', (_removed: boolean, done: () => void) => {
      this.#close().then(done, done);
    });
  }

  /** The inventory of the engine. Errors: `BAD_CONFIG`. */
  get inventory(): InventoryNode {
    const found = getInventoryById(this.#inventory);
    if (!found) throw badConfig('The inventory of the engine is missing or disabled. Open the engine and choose one.');
    return found;
  }

  /** The appliances of the current inventory, which a deploy may replace. */
  get appliances(): ApplianceSource {
    return {
      findAppliance: (name) => this.inventory.findAppliance(name),
      listAppliances: () => this.inventory.appliances,
      getSecret: (set) => this.inventory.getPassword(set),
      getSigningKey: () => this.inventory.getSigningKey(),
    };
  }

  get inventoryId(): string {
    return this.#inventory;
  }

  async #start(properties: NodeProperties): Promise<Engine> {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
    if (major < 22 || (major === 22 && minor < 12))
      throw badConfig(`The fleet engine needs Node.js 22.12 or newer. This Node-RED runs on ${process.versions.node}.`);
    this.#inventory = properties.text('inventory') ?? '';
    if (this.#inventory === '') throw badConfig('No inventory is chosen. Open the engine and choose one.');
    const inFlight = requireInFlight('inFlight', properties.number('inFlight'));
    const urgentInFlight = requireInFlight('urgentInFlight', properties.number('urgentInFlight'));
    const connections = requireConnections(properties.number('connections'));
    // The inventory may start after this node.
    await new Promise((resolve) => setImmediate(resolve));
    await this.inventory.ready;
    const url = new NodeProperties({ ...this.#node.credentials }).secret('url') ?? (await this.#startEmbedded());
    if (!/^postgres(ql)?:\/\//.test(url))
      throw badConfig('The address of the database must start with postgresql://. Open the engine and enter it again.');
    const engine = new Engine({
      url,
      fleet: { inventory: this.#inventory, name: properties.text('fleet') ?? '' },
      appliances: this.appliances,
      inFlight,
      urgentInFlight,
      connections,
      translate: translatorForPackage(this.#red),
      onFault: (fault) => this.#handleFault(fault),
      onRecovered: () => this.#showReady(),
      onInventoryCheck: (hasDifferences) => this.#handleInventoryCheck(hasDifferences),
    });
    this.#engine = engine;
    if (this.#closed) throw createClosedError();
    await engine.start();
    // A deploy may have closed the node meanwhile.
    if (this.#closed as boolean) throw createClosedError();
    // The id is the same in every Node-RED with this flow.
    this.#stopSharing = shareInventoryStateBetweenProcesses(engine.coordination, this.id);
    this.#database = toDatabaseKey(url);
    this.#warnAboutOtherDatabases();
    return engine;
  }

  async #startEmbedded(): Promise<string> {
    this.#isEmbedded = true;
    const userDir = this.#red.settings.userDir ?? '.';
    let running = embeddedServers.get(userDir);
    try {
      if (!running) {
        const server = createEmbeddedPostgres(userDir);
        embeddedServers.set(userDir, (running = { server, url: server.start() }));
        process.once('exit', () => stopNow(server));
      } else if (!(await running.server.isRunning())) running.url = running.server.start();
      return await running.url;
    } catch (thrown) {
      embeddedServers.delete(userDir);
      throw badConfig(safeMessage`${trusted(thrown instanceof Error ? thrown.message : 'PostgreSQL could not be started.')}`);
    }
  }

  /** Warns if engines of this Node-RED have different databases, because locks work only within one. */
  #warnAboutOtherDatabases(): void {
    const others = [...deployedEngines.values()].filter((one) => one.#database !== undefined && one.#database !== this.#database);
    if (others.length === 0) return;
    const leader = [this, ...others].map(({ id }) => id).sort()[0] ?? '';
    this.#node.warn(getMessageText(this.#red, 'fleet.said.databases', { engine: leader }));
  }

  #showReady(): void {
    this.#show(this.#hasDifferences ? 'differs' : 'ready');
  }

  /** Shows in the status that engines have different inventories, because such engines do not share runs. */
  #handleInventoryCheck(hasDifferences: boolean): void {
    const isNew = hasDifferences && !this.#hasDifferences;
    this.#hasDifferences = hasDifferences;
    if (this.#shownStatus !== 'away') this.#showReady();
    if (isNew && !this.#closed) this.#node.warn(getMessageText(this.#red, 'fleet.said.differs'));
  }

  #handleFault(fault: GatewayError): void {
    if (this.#shownStatus !== 'away' && !this.#closed) this.#node.warn(fault.message);
    this.#show('away');
    if (this.#isEmbedded && !this.#closed) this.#restartEmbedded();
  }

  /** Restarts an embedded PostgreSQL that has ended. */
  #restartEmbedded(): void {
    if (this.#isRestarting) return;
    this.#isRestarting = true;
    this.#startEmbedded()
      .catch((thrown: unknown) => {
        if (!this.#closed) this.#node.warn(asGatewayError(thrown).message);
      })
      .finally(() => (this.#isRestarting = false));
  }

  #show(key: StatusKey): void {
    if (this.#shownStatus === key || this.#closed) return;
    this.#shownStatus = key;
    this.#node.status({ ...(APPEARANCES[key] ?? ERROR_APPEARANCE), text: getStatusText(this.#red, key) });
  }

  async #close(): Promise<void> {
    this.#closed = true;
    // A redeployed node with the same id may already exist.
    if (deployedEngines.get(this.id) === this) deployedEngines.delete(this.id);
    try {
      await this.#engine?.stop();
    } finally {
      this.#stopSharing?.();
    }
  }
}

/** Returns the engine that another node refers to, as soon as it runs. Errors: `BAD_CONFIG`. */
export async function getEngine(id: string): Promise<{ node: EngineNode; engine: Engine }> {
  const node = deployedEngines.get(id);
  if (!node) throw badConfig('The engine that this node refers to is missing or disabled. Open the node and choose one.');
  return { node, engine: await node.ready };
}

/** Adds a listener to an engine as soon as the engine runs. The returned function removes the listener. */
export function listenToEngine(id: string, listener: ReportListener): () => void {
  let unlisten: (() => void) | undefined;
  let isStopped = false;
  // The engine node may be created after the listening node.
  setImmediate(() => {
    void deployedEngines.get(id)?.ready.then(
      (engine) => {
        if (!isStopped) unlisten = engine.addListener(listener);
      },
      () => undefined,
    );
  });
  return () => {
    isStopped = true;
    unlisten?.();
  };
}

function requireInFlight(name: string, number: number | undefined): number | undefined {
  if (number === undefined || (Number.isInteger(number) && number >= 1 && number <= 256)) return number;
  throw badConfig(safeMessage`${trusted(name)} must be a whole number from 1 to 256. Open the engine and enter it again.`);
}

/** Checks the number of connections. A schema lock and the work under it need two. */
function requireConnections(number: number | undefined): number | undefined {
  if (number === undefined || (Number.isInteger(number) && number >= 2 && number <= 100)) return number;
  throw badConfig(safeMessage`connections must be a whole number from 2 to 100, but it is ${number}. Open the engine and enter it again.`);
}

/** Returns host and name of a database, without the user. */
function toDatabaseKey(url: string): string {
  return URL.canParse(url) ? new URL(url).host + new URL(url).pathname : url;
}

function createClosedError(): GatewayError {
  return new GatewayError('ABORTED', trusted('The engine was closed while it started. Nothing was sent.'), { sent: false });
}

/** Stops PostgreSQL synchronously, because a process that exits cannot wait for a promise. */
function stopNow(server: EmbeddedPostgres): void {
  const { command, args, options } = server.stopCommand;
  spawnSync(command, args, options);
}
