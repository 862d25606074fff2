import type { Node, NodeAPI } from 'node-red';
import type { RunOutcome, RunOptions } from '../../src/gateway/gateway';
import { runOnMany, type RunOnManyOptions, type RunOnManyOutcome, type ApplianceTarget } from '../../src/inventory';
import type { LightAbortController } from '../../src/model/abort';
import { badInput, type GatewayError } from '../../src/model/error';
import type { OperationEffect } from '../../src/model/operation';
import { isStreamingMessage } from './control-messages';
import { toPlainFailure, type NodeFailure } from '../message/failure';
import { getInventoryById } from '../inventory/inventory-node';
import type { SelectedOperation } from '../message/operation-selector';
import type { OutputProperty } from '../message/output-property';
import { badConfig, type NodeProperties } from '../common/node-properties';
import { waitOrCancel } from './message-run';
import { createValueResolver, type Message, type ValueResolver } from '../message/typed-value';

type NodeRolloutOptions = Pick<RunOnManyOptions, 'concurrency' | 'canary' | 'batch' | 'maxFailures' | 'maxAppliances'>;
type Input = Readonly<Record<string, unknown>>;

/** One message that runs on many appliances. */
interface ManyAppliancesRun {
  readonly message: Message;
  readonly selectedOperation: SelectedOperation;
  readonly output: OutputProperty;
  readonly targets: readonly ApplianceTarget[];
  readonly selection: string;
  readonly abort: LightAbortController;
  readonly options: RunOptions;
  readonly send: (message: Message) => void;
  /** Called for each appliance that fails. */
  readonly onFailure: (message: Message, failure: NodeFailure) => void;
  readonly onProgress: NonNullable<RunOnManyOptions['onProgress']>;
}

/** Selects the appliances of an action node and runs a message on all of them. */
export class ManyAppliancesRunner {
  readonly #red: NodeAPI;
  readonly #id: string;
  readonly #selection: ValueResolver;
  /** Whether only the dialog may select the appliances. */
  readonly #isSelectionFixed: boolean;
  readonly #isDestroyAllowed: boolean;
  readonly #rollout: NodeRolloutOptions;
  readonly #isSentPerAppliance: boolean;
  readonly #shouldReturnData: boolean;

  /** Parses the node properties. Errors: `BAD_CONFIG` if one is invalid. */
  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, id: string, properties: NodeProperties) {
    this.#red = red;
    this.#id = id;
    const type = properties.choice('selectType', ['str', 'msg', 'flow', 'global', 'env', 'jsonata']);
    const value = properties.text('select');
    if (value === undefined)
      throw badConfig('No appliance of the inventory is selected. Open the node and enter names, tag:name, or * for all.');
    this.#isSelectionFixed = type === 'str' || type === 'env';
    this.#isDestroyAllowed = properties.flag('allowDestroy');
    this.#selection = createValueResolver(
      red,
      node,
      { type, value },
      { name: 'select', label: 'Select', isSecret: false, hasPathTags: false },
    );
    this.#rollout = {
      concurrency: properties.number('atOnce'),
      canary: properties.number('canary'),
      batch: properties.text('batch'),
      maxFailures: properties.text('maxFailures'),
      maxAppliances: properties.number('maxAppliances'),
    };
    this.#isSentPerAppliance = properties.flag('each');
    this.#shouldReturnData = properties.choice('data', ['all', 'none']) === 'all';
  }

  get hasMissingInventory(): boolean {
    return getInventoryById(this.#id) === undefined;
  }

  get isRehearsal(): boolean {
    return getInventoryById(this.#id)?.isRehearsal === true;
  }

  /** Returns the appliances of a message. Errors: `BAD_INPUT` if only the dialog may select them, `BAD_CONFIG` without an inventory. */
  async select(
    message: Message,
    effect: OperationEffect,
    abort: LightAbortController,
  ): Promise<{ targets: ApplianceTarget[]; selection: string }> {
    const inventory = getInventoryById(this.#id);
    if (!inventory) throw badConfig('The inventory that this node refers to is missing or disabled. Open the node and choose one.');
    if (!this.#isSelectionFixed && effect !== 'read' && !this.#isDestroyAllowed)
      throw badInput(
        'This operation changes something, and only the dialog may select appliances for it. Nothing was sent. Allow messages to select them in the node.',
      );
    const resolver = this.#selection;
    const selection =
      'constant' in resolver
        ? resolver.constant
        : 'sync' in resolver
          ? resolver.sync(message)
          : await waitOrCancel(resolver.async(message), abort);
    const targets = await waitOrCancel(inventory.select(selection), abort);
    return { targets, selection: String(selection) };
  }

  /** Returns the appliances that the dialog selects, or none if a message selects them. Errors: those of `select`. */
  async selectFixed(): Promise<ApplianceTarget[]> {
    if (!('constant' in this.#selection)) return [];
    return (await getInventoryById(this.#id)?.select(this.#selection.constant)) ?? [];
  }

  async perform(run: ManyAppliancesRun): Promise<RunOnManyOutcome> {
    const { message, selectedOperation, targets, selection, abort, options, onProgress } = run;
    const { dryRun = false, approve, initiator, translate, removalRefusal } = options;
    const inputs = await this.#inputs(run);
    const [first] = inputs.values();
    const sendPart = this.#partSender(run);
    return runOnMany(targets, selectedOperation.name, (target) => inputs.get(target) ?? {}, {
      ...this.#rollout,
      ...{ dryRun, approve, initiator, removalRefusal, ...(translate && { translate }) },
      signal: abort,
      selection,
      withData: this.#shouldReturnData && !this.#isSentPerAppliance,
      onProgress,
      ...(this.#isSentPerAppliance && { onDone: this.#applianceSender(run) }),
      ...(first && isStreamingMessage(selectedOperation, first) && { onPart: (target, ...part) => sendPart(target, message, ...part) }),
    });
  }

  /** Reads the input for each appliance. During this, `msg.appliance` is its name, so that a folder can contain the name. */
  async #inputs({ message, selectedOperation, targets, abort }: ManyAppliancesRun): Promise<Map<ApplianceTarget, Input>> {
    const inputs = targets.map(
      async (target) => [target, await selectedOperation.inputReader.read({ ...message, appliance: target.name })] as const,
    );
    return new Map(await waitOrCancel(Promise.all(inputs), abort));
  }

  /** Sends one message per appliance, on the output for its result or failure. */
  #applianceSender({ message, output, targets, send, onFailure }: ManyAppliancesRun): NonNullable<RunOnManyOptions['onDone']> {
    const id = this.#red.util.generateId();
    return ({ name }, { index, outcome, error }: { index: number; outcome?: RunOutcome; error?: GatewayError }) => {
      const copy = error ? output.copy(message, ['envelope', 'parts']) : output.copy(message);
      Object.assign(copy, { appliance: name, envelope: outcome?.envelope ?? error?.cause });
      copy.parts = { id, type: 'array', index, count: targets.length } as NonNullable<Message['parts']>;
      if (error) return onFailure(copy, toPlainFailure(error));
      if (outcome?.streamed) return;
      output.set(copy, outcome?.data);
      send(copy);
    };
  }

  #partSender({
    output,
    send,
  }: ManyAppliancesRun): (target: ApplianceTarget, message: Message, ...part: Parameters<NonNullable<RunOptions['onPart']>>) => void {
    const ids = new Map<ApplianceTarget, string>();
    return (target, message, data, part, envelope) => {
      const id = ids.get(target) ?? this.#red.util.generateId();
      ids.set(target, id);
      const copy = output.copy(message);
      output.set(copy, data);
      Object.assign(copy, { appliance: target.name, envelope });
      copy.parts = { id, type: 'array', ...part } as NonNullable<Message['parts']>;
      send(copy);
    };
  }
}
