import { once, type EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { inspect } from 'node:util';
import type { Node, NodeInitializer, NodeMessage } from 'node-red';
import helper from 'node-red-node-test-helper';
import type { SinonSpy } from 'sinon';
import { registerNodes } from '../../nodes/gateway';
import * as nodeRuntime from '../../nodes/node-runtime';
import { processCoordination } from '../../src/model/process-coordination';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator';
import { resetAccounts } from './reset-process-state';

/** The two lines of Node-RED as devDependencies; the helper loads either, on any Node. */
export type Runtime = 'node-red' | 'node-red-v5';

export type Message = NodeMessage & Record<string, unknown>;
export type NodeDefinition = Record<string, unknown>;

/** The outcome of one input message. Exactly one of `out`, `failed` and `caught` must be filled. */
export interface MessageOutcome {
  out: Message[];
  failed: Message[];
  caught: Message[];
  completed: number;
}

interface Deployment {
  /** The action nodes under test: `n1` unless they say otherwise, wired to everything that can happen. */
  nodes: NodeDefinition[];
  /** Over the working settings of the appliance node `a1`. */
  appliance?: NodeDefinition;
  credentials?: Record<string, Record<string, string>>;
  /** Further nodes, as they are. */
  more?: NodeDefinition[];
}

/** Of the helper. */
interface Insides {
  readonly _events: EventEmitter;
  readonly _redNodes: { setFlows(flow: NodeDefinition[], credentials: object, type: string): Promise<unknown> };
}

/** The nodes, which the sources create at once. The build loads them with the first node. */
export const gatewayNodes: NodeInitializer = (red) => registerNodes(red, () => nodeRuntime);

/** A node without a position is a configuration node. */
const place = { z: 'f1', x: 1, y: 1 };
const LISTENERS = ['out', 'failed', 'caught', 'completed'] as const;

/**
 * A simulator and a Node-RED with our nodes in it. `deploy` starts a flow of the tab `f1`: the appliance `a1` (trusting the
 * simulator through a core tls-config node `tls1`) and the action nodes; `run` sends one message and gives what became of it.
 */
export class NodeRedHarness {
  sim!: Simulator;
  readonly #runtime: Runtime;
  readonly #options: SimulatorOptions;
  readonly #seen: Record<(typeof LISTENERS)[number], Message[]> = { out: [], failed: [], caught: [], completed: [] };
  readonly #heard = new WeakSet<Node>();
  readonly #waiting = new Set<() => void>();

  constructor(runtime: Runtime, options: SimulatorOptions = {}) {
    this.#runtime = runtime;
    this.#options = options;
  }

  async start(): Promise<void> {
    helper.init(require.resolve(this.#runtime));
    this.sim = await startSimulator(this.#options);
  }

  async stop(): Promise<void> {
    await this.sim.close();
  }

  /** Between two tests: a fresh Node-RED, and an appliance without faults and lock-outs. */
  async reset(): Promise<void> {
    await helper.unload();
    processCoordination.clear();
    resetAccounts();
    this.sim.clearFaults();
    for (const name of LISTENERS) this.#seen[name].length = 0;
  }

  async deploy(deployment: Deployment): Promise<void> {
    await helper.load(
      [core(this.#runtime, '05-tls'), core(this.#runtime, '06-httpproxy'), gatewayNodes],
      this.flow(deployment) as never,
      this.#credentials(deployment),
    );
    this.#listen();
  }

  /** A deploy on top of the running one; comes back when the new flow has started. */
  async redeploy(deployment: Deployment, type: 'full' | 'flows' | 'nodes' = 'full'): Promise<void> {
    const { _events, _redNodes } = helper as unknown as Insides;
    // The helper gives up after 0.3 s, which is too short on a busy machine.
    const started = once(_events, 'flows:started');
    await _redNodes.setFlows(this.flow(deployment), this.#credentials(deployment), type);
    await started;
    this.#listen();
  }

  flow({ nodes, appliance, more = [] }: Deployment): NodeDefinition[] {
    const actions = nodes.map((node) => ({ id: 'n1', ...place, appliance: 'a1', wires: [['out'], ['failed']], ...node }));
    const ids = actions.map(({ id }) => id);
    const { url, ca } = this.sim;
    return [
      { id: 'f1', type: 'tab', label: 'tab' },
      { id: 'tls1', type: 'tls-config', name: '', cert: '', key: '', ca: '', verifyservercert: true, certType: 'files', _ca: ca.length },
      { id: 'a1', type: 'gateway-appliance', name: 'vpn-1', url, realm: 'Admin Users', tls: 'tls1', ...appliance },
      ...actions,
      { id: 'onCatch', type: 'catch', ...place, scope: ids, wires: [['caught']] },
      { id: 'onComplete', type: 'complete', ...place, scope: ids, wires: [['completed']] },
      ...LISTENERS.map((id) => ({ id, type: 'helper', ...place })),
      ...more,
    ];
  }

  #credentials({ credentials }: Deployment): Record<string, Record<string, string>> {
    return { a1: { username: 'api-admin', password: 'simulator' }, tls1: { cadata: this.sim.ca }, ...credentials };
  }

  node(id = 'n1'): Node {
    return helper.getNode(id);
  }

  /** Sends one message and waits for its end, and a little longer for a second one that should not come. */
  async run(message: Message, id = 'n1'): Promise<MessageOutcome> {
    const _msgid = (message._msgid ??= Math.random().toString(36).slice(2));
    this.node(id).receive(message);
    return this.ended(_msgid);
  }

  async ended(_msgid: string): Promise<MessageOutcome> {
    await this.until(() => this.outcome(_msgid).completed + this.outcome(_msgid).caught.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return this.outcome(_msgid);
  }

  outcome(_msgid: string): MessageOutcome {
    const of = (name: (typeof LISTENERS)[number]) => this.#seen[name].filter((message) => message._msgid === _msgid);
    return { out: of('out'), failed: of('failed'), caught: of('caught'), completed: of('completed').length };
  }

  /** All messages that arrived there. */
  all(name: (typeof LISTENERS)[number]): readonly Message[] {
    return this.#seen[name];
  }

  /** Waits until a condition holds. */
  async until(so: () => boolean): Promise<void> {
    const late = performance.now() + 60_000;
    while (!so()) {
      if (performance.now() > late) throw new Error(`It did not come about. What was seen: ${this.emitted().slice(0, 4000)}`);
      await new Promise<void>((resolve) => {
        const go = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(go);
          resolve();
        };
        const timer = setTimeout(go, 20);
        this.#waiting.add(go);
      });
    }
  }

  /** Every status that a node has shown, in order. */
  statuses(id = 'n1'): { fill?: string; shape?: string; text?: string }[] {
    return spyOf(this.node(id))
      .getCalls()
      .flatMap(({ thisValue, args }) => ((thisValue as Node).id === id ? [args[0] as { text?: string }] : []));
  }

  /** All output of our nodes as text: messages, errors, statuses and the log. */
  emitted(): string {
    const all = { seen: this.#seen, statuses: spyOf(this.node()).args, log: helper.log().args };
    return inspect(all, { depth: null, maxArrayLength: null, maxStringLength: null, showHidden: true, breakLength: Infinity });
  }

  #listen(): void {
    for (const name of LISTENERS) {
      const node = helper.getNode(name);
      // A deploy of changed nodes does not restart these nodes.
      if (this.#heard.has(node)) continue;
      this.#heard.add(node);
      node.on('input', (message) => {
        this.#seen[name].push(message);
        for (const go of this.#waiting) go();
      });
    }
  }
}

/** A core node that the helper does not load by itself. */
function core(runtime: Runtime, file: string): NodeInitializer {
  const from = createRequire(require.resolve(`${runtime}/package.json`));
  return from(`@node-red/nodes/core/network/${file}.js`) as NodeInitializer;
}

/** What the helper makes of `status`, for all nodes in one. */
function spyOf(node: Node): SinonSpy {
  return (node as unknown as { readonly status: SinonSpy }).status;
}
