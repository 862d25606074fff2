import { spawnSync } from 'node:child_process';
import type { Node, NodeAPI, NodeDef, NodeStatus } from 'node-red';
import { asGatewayError, GatewayError, ours, sentence } from '@gateway-admin/node-red';
import {
  badConfig,
  inventoryById,
  Properties,
  sayForOthers,
  shareBetweenProcesses,
  type InventoryNode,
} from '@gateway-admin/node-red/nodes';
import { Engine, type Listener } from '../engine';
import type { Cluster } from '../engine/cluster';
import { embeddedCluster } from '../engine/embedded';
import type { Appliances } from '../worker/worker';
import { saidText, statusText, type Key } from './texts';

export const ENGINE = 'gateway-fleet-engine';
export const ENGINE_CREDENTIALS = { url: { type: 'password' } } as const;

type Look = Pick<NodeStatus, 'fill' | 'shape'>;

/** Every engine that is deployed. */
const deployed = new Map<string, EngineNode>();
/** PostgreSQL that was started here, by folder: it ends with the process, not with a deploy. */
const clusters = new Map<string, { cluster: Cluster; url: Promise<string> }>();

const WRONG: Look = { fill: 'red', shape: 'ring' };
const LOOKS: Partial<Record<Key, Look>> = { ready: { fill: 'green', shape: 'dot' }, starting: { fill: 'grey', shape: 'ring' } };

/** The runtime of one `gateway-fleet-engine` node. */
export class EngineNode {
  readonly id: string;
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  /** Rejects where it is not set up. */
  readonly ready: Promise<Engine>;
  #engine: Engine | undefined;
  #inventory = '';
  /** Which database it is, once it runs. */
  #database: string | undefined;
  #unshare: (() => void) | undefined;
  #closed = false;
  #isEmbedded = false;
  #isReviving = false;
  #shown: Key | undefined;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.id = node.id;
    deployed.set(this.id, this);
    this.#show('starting');
    this.ready = this.#start(new Properties({ ...definition }));
    this.ready.catch((thrown: unknown) => {
      if (this.#closed) return;
      const error = asGatewayError(thrown);
      this.#show(error.code === 'BAD_CONFIG' ? 'not-configured' : 'not-started');
      node.error(error.message);
    });
    // Node-RED counts the parameters: exactly two, or it does not wait.
    node.on('close', (_removed: boolean, done: () => void) => {
      this.#close().then(done, done);
    });
  }

  /** The inventory whose appliances it works on. Errors: `BAD_CONFIG`. */
  get inventory(): InventoryNode {
    const found = inventoryById(this.#inventory);
    if (!found) throw badConfig('The inventory of the engine is missing or disabled. Open the engine and choose one.');
    return found;
  }

  /** As they are at the time: an inventory may be deployed anew. */
  get appliances(): Appliances {
    return { named: (name) => this.inventory.named(name), secretOf: (set) => this.inventory.secretOf(set) };
  }

  get inventoryId(): string {
    return this.#inventory;
  }

  async #start(properties: Properties): Promise<Engine> {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
    if (major < 22 || (major === 22 && minor < 12))
      throw badConfig(`The fleet needs Node.js 22.12 or newer; this is ${process.versions.node}.`);
    this.#inventory = properties.text('inventory') ?? '';
    if (this.#inventory === '') throw badConfig('No inventory is chosen. Open the engine and choose one.');
    const inFlight = atLeastOne('inFlight', properties.number('inFlight'));
    const urgentInFlight = atLeastOne('urgentInFlight', properties.number('urgentInFlight'));
    // The nodes that it refers to may start after this one.
    await new Promise((resolve) => setImmediate(resolve));
    await this.inventory.ready;
    const url = new Properties({ ...this.#node.credentials }).secret('url') ?? (await this.#embedded());
    if (!/^postgres(ql)?:\/\//.test(url))
      throw badConfig('The address of the database has to begin with postgresql://. Open the engine and enter it.');
    const engine = new Engine({
      url,
      appliances: this.appliances,
      inFlight,
      urgentInFlight,
      say: sayForOthers(this.#red),
      onFault: (fault) => this.#fault(fault),
      onWell: () => this.#show('ready'),
    });
    this.#engine = engine;
    if (this.#closed) throw closed();
    await engine.start();
    // A deploy may have ended it meanwhile.
    if (this.#closed as boolean) throw closed();
    // By its id, which is the same wherever this flow runs.
    this.#unshare = shareBetweenProcesses(engine.coordination, this.id);
    this.#database = placeOf(url);
    this.#warnOfOthers();
    return engine;
  }

  async #embedded(): Promise<string> {
    this.#isEmbedded = true;
    const userDir = this.#red.settings.userDir ?? '.';
    let kept = clusters.get(userDir);
    try {
      if (!kept) {
        const cluster = embeddedCluster(userDir);
        clusters.set(userDir, (kept = { cluster, url: cluster.start() }));
        process.once('exit', () => endNow(cluster));
      } else if (!(await kept.cluster.isRunning())) kept.url = kept.cluster.start();
      return await kept.url;
    } catch (thrown) {
      clusters.delete(userDir);
      throw badConfig(sentence`${ours(thrown instanceof Error ? thrown.message : 'PostgreSQL could not be started.')}`);
    }
  }

  /** Two databases know nothing of each other. */
  #warnOfOthers(): void {
    const others = [...deployed.values()].filter((one) => one.#database !== undefined && one.#database !== this.#database);
    if (others.length === 0) return;
    const leader = [this, ...others].map(({ id }) => id).sort()[0] ?? '';
    this.#node.warn(saidText(this.#red, 'fleet.said.databases', { engine: leader }));
  }

  #fault(fault: GatewayError): void {
    if (this.#shown !== 'away' && !this.#closed) this.#node.warn(fault.message);
    this.#show('away');
    if (this.#isEmbedded && !this.#closed) this.#revive();
  }

  /** One of our own that has ended is started again, where it was. */
  #revive(): void {
    if (this.#isReviving) return;
    this.#isReviving = true;
    this.#embedded()
      .catch((thrown: unknown) => {
        if (!this.#closed) this.#node.warn(asGatewayError(thrown).message);
      })
      .finally(() => (this.#isReviving = false));
  }

  #show(key: Key): void {
    if (this.#shown === key || this.#closed) return;
    this.#shown = key;
    this.#node.status({ ...(LOOKS[key] ?? WRONG), text: statusText(this.#red, key) });
  }

  async #close(): Promise<void> {
    this.#closed = true;
    // A node of the same id may be there already.
    if (deployed.get(this.id) === this) deployed.delete(this.id);
    try {
      await this.#engine?.stop();
    } finally {
      this.#unshare?.();
    }
  }
}

/** The engine that another node refers to, once it runs. Errors: `BAD_CONFIG`. */
export async function engineOf(id: string): Promise<{ node: EngineNode; engine: Engine }> {
  const node = deployed.get(id);
  if (!node) throw badConfig('The engine that this node refers to is missing or disabled. Open the node and choose one.');
  return { node, engine: await node.ready };
}

/** Listens at an engine as soon as it runs, until the answer is called. */
export function listenAt(id: string, listener: Listener): () => void {
  let unlisten: (() => void) | undefined;
  let isOver = false;
  // The engine may start after the node.
  setImmediate(() => {
    void deployed.get(id)?.ready.then(
      (engine) => {
        if (!isOver) unlisten = engine.listen(listener);
      },
      () => undefined,
    );
  });
  return () => {
    isOver = true;
    unlisten?.();
  };
}

function atLeastOne(name: string, number: number | undefined): number | undefined {
  if (number === undefined || (Number.isInteger(number) && number >= 1 && number <= 256)) return number;
  throw badConfig(sentence`${ours(name)} has to be a whole number from 1 to 256. Open the engine and enter it again.`);
}

/** Without whoever uses it. */
function placeOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host + new URL(url).pathname : url;
}

function closed(): GatewayError {
  return new GatewayError('ABORTED', ours('The engine was closed while it started.'), { sent: false });
}

/** While a process ends nothing can be waited for. */
function endNow(cluster: Cluster): void {
  const { command, args, options } = cluster.ending;
  spawnSync(command, args, options);
}
