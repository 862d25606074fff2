import { randomUUID } from 'node:crypto';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import { asGatewayError, GatewayError, trusted, safeMessage } from '@gateway-admin/node-red';
import {
  badConfig,
  LightAbortController,
  createEarlyFailureEnvelope,
  ManyAppliancesRunner,
  onInput,
  normalizeMessage,
  describeNodeAndFlow,
  toPlainFailure,
  NodeProperties,
  translatorForPackage,
  type DoneCallback,
  type Message,
} from '@gateway-admin/node-red/nodes';
import type { DeliveredReport, RunProgress } from '../engine';
import { TaskRunner } from '../worker/task-runner';
import { getEngine, listenToEngine } from './engine-node';
import { copyErrorWithoutCause, readRunId, readRolloutConfig, planRolloutParts, toPlainInput, type RolloutConfig } from './run-request';
import { toReportMessage } from './report-message';
import { RunStatus } from './run-status';
import { getMessageText, getTitleText } from './i18n';

export const TASK_NODE_TYPE = 'gateway-fleet-task';
const DEFAULT_CONCURRENCY = 4;
const DEFAULT_MINUTES = 60;
/** The longest time that a Node.js timer supports. */
const MAX_MINUTES = 35_000;

interface NodeConfig {
  readonly engine: string;
  readonly properties: NodeProperties;
  readonly rollout: RolloutConfig;
  readonly concurrency: number;
  readonly minutes: number;
  readonly urgent: boolean;
  readonly repeats: boolean;
  readonly withData: boolean;
}

/** The runtime of a `gateway-fleet-task` node. It starts runs, and starts its flow for each appliance that this Node-RED gets. */
export class TaskNode {
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  readonly #config: NodeConfig | GatewayError;
  readonly #status: RunStatus;
  #stopServing: (() => Promise<void>) | undefined;
  #closed = false;
  /** The error if another node has the same task name. */
  #nameConflict: GatewayError | undefined;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.#status = new RunStatus(red, node);
    this.#config = this.#readConfig({ ...definition });
    const config = this.#config;
    let unlisten: (() => void) | undefined;
    if (config instanceof GatewayError) this.#status.showNotConfigured();
    else {
      const report = (delivered: DeliveredReport): void => this.#report(delivered);
      unlisten = listenToEngine(config.engine, { name: this.#name, id: node.id, report, progress: (progress) => this.#progress(progress) });
      // The engine may start after this node. It reports its own errors.
      setImmediate(() => {
        this.#serve(config).catch((thrown: unknown) => {
          this.#status.showNotConfigured();
          if (asGatewayError(thrown).code !== 'CONFLICT') return;
          this.#nameConflict = new GatewayError('CONFLICT', this.#sameNameMessage, { sent: false });
          node.error(this.#nameConflict.message);
        });
      });
    }
    onInput(node, (message, _send, done) => this.#receive(message, done));
    node.on('close', (_removed: boolean, done: () => void) => {
      this.#closed = true;
      unlisten?.();
      this.#status.close();
      (this.#stopServing?.() ?? Promise.resolve()).then(done, done);
    });
  }

  get #name(): string {
    return this.#node.name || this.#node.id;
  }

  get #sameNameMessage(): GatewayError['safeMessage'] {
    return safeMessage`${trusted(getMessageText(this.#red, 'fleet.said.same-name', { name: this.#name }))}`;
  }

  /** Works on the items of this task, whichever Node-RED started their run. */
  async #serve({ engine: id, concurrency, minutes }: NodeConfig): Promise<void> {
    const { engine, node } = await getEngine(id);
    if (this.#closed) return;
    const taskRunner = new TaskRunner({
      database: engine.database,
      store: engine.store,
      appliances: node.appliances,
      holder: engine.id,
      getFingerprint: () => engine.fingerprint,
      timeLimitMs: minutes * 60_000,
      createToken: randomUUID,
      startFlow: ({ run, appliance, input, token }) => {
        const message = { _msgid: this.#red.util.generateId(), run, appliance, payload: input, task: token };
        this.#node.send([message, null, null]);
      },
    });
    const endService = await engine.serveTask(this.#name, concurrency, (key) => taskRunner.work(key));
    this.#stopServing = async () => {
      taskRunner.stop();
      await endService();
    };
    if (this.#closed as boolean) await this.#stopServing();
  }

  async #receive(received: Message, done: DoneCallback): Promise<void> {
    const message = normalizeMessage(received, ['run']);
    let usedSelection = '';
    try {
      if (this.#config instanceof GatewayError) throw copyErrorWithoutCause(this.#config);
      if (this.#nameConflict) throw copyErrorWithoutCause(this.#nameConflict);
      const { engine: id, properties, rollout, urgent, repeats, withData } = this.#config;
      const { engine, node } = await getEngine(id);
      const fleet = new ManyAppliancesRunner(this.#red, this.#node, node.inventoryId, properties);
      const { targets, selection } = await fleet.select(message, 'write', new LightAbortController());
      usedSelection = selection;
      const { payload } = message;
      const run = readRunId(
        (message as { run?: unknown }).run,
        () => `${this.#name}-${new Date().toISOString()}-${this.#red.util.generateId()}`,
      );
      await engine.startRun({
        id: run,
        kind: 'task',
        operation: this.#name,
        input: typeof payload === 'object' && payload !== null ? toPlainInput(payload as Record<string, unknown>) : {},
        items: targets.map(({ name }) => ({ appliance: name })),
        selection,
        dryRun: false,
        urgent,
        withData,
        repeats,
        ...planRolloutParts(rollout, targets.length),
        node: this.#name,
        nodeId: this.#node.id,
        initiator: describeNodeAndFlow(this.#red, this.#node),
      });
      this.#status.showStarted(run, targets.length);
      done();
    } catch (thrown) {
      const error = asGatewayError(thrown);
      error.cause ??= createEarlyFailureEnvelope(
        'fleet',
        usedSelection,
        error,
        this.#node.name || getTitleText(this.#red, 'task.title'),
        translatorForPackage(this.#red),
      );
      Object.assign(message, { envelope: error.cause });
      this.#status.showNotStarted();
      done(toPlainFailure(error));
    }
  }

  #report(delivered: DeliveredReport): void {
    const message = { _msgid: this.#red.util.generateId(), ...toReportMessage(this.#red, delivered) };
    this.#status.showResult(message.run, message.payload);
    this.#node.send([null, message, null]);
  }

  #progress(progress: RunProgress): void {
    this.#status.showProgress(progress);
    const { run, ...payload } = progress;
    this.#node.send([null, null, { run, payload }]);
  }

  #readConfig(definition: Readonly<Record<string, unknown>>): NodeConfig | GatewayError {
    try {
      const properties = new NodeProperties({ ...definition, allowDestroy: true });
      const engine = properties.text('engine');
      if (engine === undefined) throw badConfig('No engine is chosen. Open the node and choose one.');
      const minutes = properties.number('minutes') ?? DEFAULT_MINUTES;
      if (!(minutes > 0 && minutes <= MAX_MINUTES)) throw badConfig(`minutes must be a number above 0 and at most ${MAX_MINUTES}.`);
      const concurrency = properties.number('atOnce') ?? DEFAULT_CONCURRENCY;
      if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 256)
        throw badConfig('atOnce must be a whole number from 1 to 256.');
      return {
        engine,
        properties,
        rollout: readRolloutConfig(properties),
        concurrency,
        minutes,
        urgent: false,
        repeats: properties.choice('repeat', ['begin-again', 'ask']) === 'begin-again',
        withData: properties.choice('data', ['none', 'all']) === 'all',
      };
    } catch (thrown) {
      return asGatewayError(thrown);
    }
  }
}
