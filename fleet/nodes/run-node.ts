import type { Node, NodeAPI, NodeDef } from 'node-red';
import { areas, asGatewayError, GatewayError, operations, safeMessage, type ApplianceTarget } from '@gateway-admin/node-red';
import {
  badConfig,
  LightAbortController,
  createEarlyFailureEnvelope,
  ManyAppliancesRunner,
  isGatewayFailure,
  OperationSelector,
  onInput,
  normalizeMessage,
  describeNodeAndFlow,
  toPlainFailure,
  NodeProperties,
  translatorForPackage,
  createOperationTitle,
  type SelectedOperation,
  type DoneCallback,
  type Message,
  type SendCallback,
} from '@gateway-admin/node-red/nodes';
import type { DeliveredReport, NewFleetRun, RunProgress } from '../engine';
import { getEngine, listenToEngine } from './engine-node';
import {
  readActorOfMessage,
  copyErrorWithoutCause,
  readRunId,
  toStorableInput,
  readRolloutConfig,
  planRolloutParts,
  type RolloutConfig,
} from './run-request';
import { toReportMessage } from './report-message';
import { RunStatus } from './run-status';
import { getTitleText } from './i18n';

export const RUN_NODE_TYPE = 'gateway-fleet-run';
/** Default limit for destructive operations, the same as in action nodes. */
const MAX_DESTROYED_APPLIANCES = 25;

interface NodeConfig {
  readonly engine: string;
  readonly operations: OperationSelector;
  readonly properties: NodeProperties;
  readonly rollout: RolloutConfig;
  readonly maxAppliances: number | undefined;
  readonly urgent: boolean;
  readonly dryRun: boolean;
  readonly withData: boolean;
  readonly credentials: string | undefined;
}

/** A message whose run is not over. It outlives its node, because a deploy may recreate the node. */
interface WaitingMessage {
  readonly message: Message;
  readonly done: DoneCallback;
}
/** Waiting messages by engine and run, because two fleets may have runs with the same name. */
const waitingMessages = new Map<string, WaitingMessage>();

/** Runtime of a `gateway-fleet-run` node. */
export class RunNode {
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  readonly #config: NodeConfig | GatewayError;
  readonly #status: RunStatus;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.#status = new RunStatus(red, node);
    this.#config = this.#readConfig({ ...definition });
    if (this.#config instanceof GatewayError) this.#status.showNotConfigured();
    const unlisten =
      this.#config instanceof GatewayError
        ? undefined
        : listenToEngine(this.#config.engine, {
            name: this.#name,
            id: this.#node.id,
            report: (delivered) => this.#report(delivered),
            progress: (progress) => this.#progress(progress),
          });
    onInput(node, (message, send, done) => this.#receive(message, send, done));
    node.on('close', (_removed: boolean, done: () => void) => {
      unlisten?.();
      this.#status.close();
      done();
    });
  }

  /** Name under which the node receives reports: its own name, or else its id, which is the same in every Node-RED with this flow. */
  get #name(): string {
    return this.#node.name || this.#node.id;
  }

  async #receive(received: Message, _send: SendCallback, done: DoneCallback): Promise<void> {
    const message = normalizeMessage(received, ['payload', 'run']);
    const summary = { operation: 'fleet', selection: '' };
    try {
      if (this.#config instanceof GatewayError) throw copyErrorWithoutCause(this.#config);
      const newRun = await this.#createRun(message, this.#config, summary);
      const { engine } = await getEngine(this.#config.engine);
      Object.assign(message, { run: newRun.id });
      const key = `${this.#config.engine} ${newRun.id}`;
      const earlier = waitingMessages.get(key);
      if (!earlier) waitingMessages.set(key, { message, done });
      try {
        await engine.startRun(newRun);
        this.#status.showStarted(newRun.id, newRun.items.length);
      } catch (thrown) {
        if (!earlier) waitingMessages.delete(key);
        throw thrown;
      }
    } catch (thrown) {
      const error = asGatewayError(thrown);
      error.cause ??= createEarlyFailureEnvelope(
        summary.operation,
        summary.selection,
        error,
        this.#getOperationTitle(summary.operation),
        translatorForPackage(this.#red),
      );
      Object.assign(message, { envelope: error.cause });
      this.#status.showNotStarted();
      done(toPlainFailure(error));
    }
  }

  /** Title of the operation, or of the node if no operation is chosen. */
  #getOperationTitle(name: string): string {
    const operation = operations.get(name);
    return operation
      ? createOperationTitle({ name, operation, input: {}, mask: String }, translatorForPackage(this.#red))
      : getTitleText(this.#red, 'run.title');
  }

  async #createRun(message: Message, config: NodeConfig, summary: { operation: string; selection: string }): Promise<NewFleetRun> {
    const { node } = await getEngine(config.engine);
    const choice = config.operations.select(message);
    const chosen = choice instanceof Promise ? await choice : choice;
    summary.operation = chosen.name;
    const fleet = new ManyAppliancesRunner(this.#red, this.#node, node.inventoryId, config.properties);
    const { targets, selection } = await fleet.select(message, chosen.operation.effect, new LightAbortController());
    summary.selection = selection;
    const dryRun = config.dryRun || (message as { dryRun?: unknown }).dryRun === true;
    const { maxAppliances = chosen.operation.effect === 'destroy' ? MAX_DESTROYED_APPLIANCES : Infinity } = config;
    if (targets.length > maxAppliances && !dryRun) {
      throw new GatewayError(
        'LIMIT',
        safeMessage`The selection has ${targets.length} appliances, but this node allows at most ${maxAppliances} (Max appliances). Nothing was started.`,
        { sent: false },
      );
    }
    return {
      id: readRunId((message as { run?: unknown }).run, () => `${this.#name}-${new Date().toISOString()}-${this.#red.util.generateId()}`),
      kind: 'operation',
      operation: chosen.name,
      ...(await readInputs(chosen, message, targets, config.credentials)),
      selection,
      credentials: config.credentials,
      dryRun,
      urgent: config.urgent,
      withData: config.withData,
      repeats: true,
      ...planRolloutParts(config.rollout, targets.length),
      node: this.#name,
      nodeId: this.#node.id,
      initiator: { ...describeNodeAndFlow(this.#red, this.#node), ...readActorOfMessage(message) },
    };
  }

  #report(delivered: DeliveredReport): void {
    const { run, data } = delivered;
    const key = this.#config instanceof GatewayError ? '' : `${this.#config.engine} ${run.id}`;
    const waitingMessage = waitingMessages.get(key);
    waitingMessages.delete(key);
    const message: Message = waitingMessage?.message ?? { _msgid: this.#red.util.generateId() };
    delete (message as { redelivered?: unknown }).redelivered;
    Object.assign(message, toReportMessage(this.#red, delivered));
    if (isGatewayFailure((message as { error?: unknown }).error)) delete (message as { error?: unknown }).error;
    this.#status.showResult(run.id, data);
    this.#node.send([message, null]);
    waitingMessage?.done();
  }

  #progress(progress: RunProgress): void {
    this.#status.showProgress(progress);
    const { run, ...payload } = progress;
    this.#node.send([null, { run, payload }]);
  }

  #readConfig(definition: Readonly<Record<string, unknown>>): NodeConfig | GatewayError {
    try {
      const properties = new NodeProperties(definition);
      const engine = properties.text('engine');
      if (engine === undefined) throw badConfig('No engine is chosen. Open the node and choose one.');
      const operation = properties.text('operation') ?? '';
      const areaName = properties.text('area') ?? operation.split('.')[0];
      const area = areas.find(({ name }) => name === areaName);
      if (!area) throw badConfig('No operation is chosen. Open the node and choose one.');
      const credentials = properties.text('credentialSet');
      return {
        engine,
        operations: new OperationSelector(this.#red, this.#node, area, definition),
        properties,
        rollout: readRolloutConfig(properties),
        maxAppliances: properties.number('maxAppliances'),
        urgent: properties.flag('urgent'),
        dryRun: properties.flag('dryRun'),
        withData: properties.choice('data', ['none', 'all']) === 'all',
        credentials,
      };
    } catch (thrown) {
      return asGatewayError(thrown);
    }
  }
}

/** Reads the inputs of the appliances. Equal inputs are stored only once. */
async function readInputs(
  chosen: SelectedOperation,
  message: Message,
  targets: readonly ApplianceTarget[],
  credentials: string | undefined,
): Promise<Pick<NewFleetRun, 'input' | 'items'>> {
  const inputs = await Promise.all(
    targets.map(async ({ name }) =>
      toStorableInput(chosen.name, await chosen.inputReader.read({ ...message, appliance: name }), credentials),
    ),
  );
  const isSame = inputs.every((one) => JSON.stringify(one) === JSON.stringify(inputs[0]));
  if (isSame) return { input: inputs[0] ?? {}, items: targets.map(({ name }) => ({ appliance: name })) };
  return { input: {}, items: targets.map(({ name }, index) => ({ appliance: name, input: inputs[index] })) };
}
