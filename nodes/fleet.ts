import type { Node, NodeAPI } from 'node-red';
import type { Outcome, RunOptions } from '../src/gateway';
import { runOnMany, type ManyOptions, type ManyOutcome, type Target } from '../src/inventory';
import type { Canceller } from '../src/model/cancelling';
import { badInput, type GatewayError } from '../src/model/error';
import type { Effect } from '../src/model/operation';
import { isStream } from './asked';
import { plainFailure, type Failure } from './failure';
import { inventoryById } from './inventory';
import type { Chosen } from './operations';
import type { Output } from './output';
import { badConfig, type Properties } from './properties';
import { beforeSending } from './run';
import { sourceOf, type Message, type Source } from './sources';

type Pace = Pick<ManyOptions, 'atOnce' | 'canary' | 'batch' | 'maxFailures' | 'maxAppliances'>;
type Input = Readonly<Record<string, unknown>>;

/** One message that runs on many appliances. */
export interface FleetRun {
  readonly message: Message;
  readonly chosen: Chosen;
  readonly output: Output;
  readonly targets: readonly Target[];
  readonly selection: string;
  readonly abort: Canceller;
  readonly options: RunOptions;
  readonly send: (message: Message) => void;
  /** One appliance has failed: where failures go. */
  readonly fails: (message: Message, failure: Failure) => void;
  readonly onProgress: NonNullable<ManyOptions['onProgress']>;
}

/** Of an action node that runs on many appliances: which, and how. */
export class Fleet {
  readonly #red: NodeAPI;
  readonly #id: string;
  readonly #selection: Source;
  /** The dialog alone says which. */
  readonly #fixed: boolean;
  readonly #mayDestroy: boolean;
  readonly #pace: Pace;
  readonly #each: boolean;
  readonly #withData: boolean;

  /** Errors: `BAD_CONFIG` for what cannot be of any use. */
  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, id: string, properties: Properties) {
    this.#red = red;
    this.#id = id;
    const type = properties.choice('selectType', ['str', 'msg', 'flow', 'global', 'env', 'jsonata']);
    const value = properties.text('select');
    if (value === undefined)
      throw badConfig('No appliance of the inventory is selected. Open the node and enter names, tag:name, or * for all.');
    this.#fixed = type === 'str' || type === 'env';
    this.#mayDestroy = properties.flag('allowDestroy');
    this.#selection = sourceOf(red, node, { type, value }, { name: 'select', label: 'Select', secret: false, tags: false });
    this.#pace = {
      atOnce: properties.number('atOnce'),
      canary: properties.number('canary'),
      batch: properties.text('batch'),
      maxFailures: properties.text('maxFailures'),
      maxAppliances: properties.number('maxAppliances'),
    };
    this.#each = properties.flag('each');
    this.#withData = properties.choice('data', ['all', 'none']) === 'all';
  }

  get isLost(): boolean {
    return inventoryById(this.#id) === undefined;
  }

  /** The appliances that a message is about. Errors: `BAD_INPUT` for a selection that only the dialog may make, `BAD_CONFIG` without an inventory. */
  async select(message: Message, effect: Effect, abort: Canceller): Promise<{ targets: Target[]; selection: string }> {
    const inventory = inventoryById(this.#id);
    if (!inventory) throw badConfig('The inventory that this node refers to is missing or disabled. Open the node and choose one.');
    if (!this.#fixed && effect !== 'read' && !this.#mayDestroy)
      throw badInput(
        'This operation changes something, and this node lets only its own dialog select the appliances of such a one. Allow it there.',
      );
    const source = this.#selection;
    const selection =
      'constant' in source ? source.constant : 'now' in source ? source.now(message) : await beforeSending(source.later(message), abort);
    const targets = await beforeSending(inventory.select(selection), abort);
    return { targets, selection: String(selection) };
  }

  /** Those that the dialog selects, without a message; none where one does. Errors: as of `select`. */
  async fixed(): Promise<Target[]> {
    if (!('constant' in this.#selection)) return [];
    return (await inventoryById(this.#id)?.select(this.#selection.constant)) ?? [];
  }

  async perform(run: FleetRun): Promise<ManyOutcome> {
    const { message, chosen, targets, selection, abort, options, onProgress } = run;
    const { dryRun = false, approve, by, say } = options;
    const inputs = await this.#inputs(run);
    const [first] = inputs.values();
    const parts = this.#parts(run);
    return runOnMany(targets, chosen.name, (target) => inputs.get(target) ?? {}, {
      ...this.#pace,
      ...{ dryRun, approve, by, ...(say && { say }) },
      signal: abort,
      selection,
      withData: this.#withData && !this.#each,
      onProgress,
      ...(this.#each && { onDone: this.#teller(run) }),
      ...(first && isStream(chosen, first) && { onPart: (target, ...part) => parts(target, message, ...part) }),
    });
  }

  /** What each is given: `msg.appliance` is its name while the fields are read, so that a folder can be made of it. */
  async #inputs({ message, chosen, targets, abort }: FleetRun): Promise<Map<Target, Input>> {
    const read = targets.map(async (target) => [target, await chosen.fields.read({ ...message, appliance: target.name })] as const);
    return new Map(await beforeSending(Promise.all(read), abort));
  }

  /** Each appliance goes out, or fails, as if a message of its own had come for it. */
  #teller({ message, output, targets, send, fails }: FleetRun): NonNullable<ManyOptions['onDone']> {
    const id = this.#red.util.generateId();
    return ({ name }, { index, outcome, error }: { index: number; outcome?: Outcome; error?: GatewayError }) => {
      const copy = error ? output.copy(message, ['envelope', 'parts']) : output.copy(message);
      Object.assign(copy, { appliance: name, envelope: outcome?.envelope ?? error?.cause });
      copy.parts = { id, type: 'array', index, count: targets.length } as NonNullable<Message['parts']>;
      if (error) return fails(copy, plainFailure(error));
      if (outcome?.streamed) return;
      output.set(copy, outcome?.data);
      send(copy);
    };
  }

  #parts({ output, send }: FleetRun): (target: Target, message: Message, ...part: Parameters<NonNullable<RunOptions['onPart']>>) => void {
    const ids = new Map<Target, string>();
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
