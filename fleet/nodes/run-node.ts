import type { Node, NodeAPI, NodeDef } from 'node-red';
import { areas, asGatewayError, GatewayError, operations, sentence, type Target } from '@gateway-admin/node-red';
import {
  badConfig,
  Canceller,
  failureEnvelope,
  Fleet,
  isOurs,
  Operations,
  onMessage,
  owned,
  placeOf,
  plainFailure,
  Properties,
  sayForOthers,
  titleOf,
  type Chosen,
  type Done,
  type Message,
  type Send,
} from '@gateway-admin/node-red/nodes';
import type { Delivered, NewOrder, Progress } from '../engine';
import { engineOf, listenAt } from './engine-node';
import { actorOf, again, identityOf, keptInput, paceIn, partsOf, type PaceSetup } from './order';
import { reported } from './reported';
import { RunStatus } from './run-status';
import { titleText } from './texts';

export const RUN = 'gateway-fleet-run';
/** As of an action node: a destroying operation reaches no more unless the dialog says so. */
const MOST_DESTROYED = 25;

interface Setup {
  readonly engine: string;
  readonly operations: Operations;
  readonly properties: Properties;
  readonly pace: PaceSetup;
  readonly maxAppliances: number | undefined;
  readonly urgent: boolean;
  readonly dryRun: boolean;
  readonly withData: boolean;
  readonly credentials: string | undefined;
}

/** A message whose run is under way, for the node of its id, which a deploy may have made anew. */
interface Waiting {
  readonly message: Message;
  readonly done: Done;
}
const waiting = new Map<string, Waiting>();

/** The runtime of one `gateway-fleet-run` node. */
export class RunNode {
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  readonly #setup: Setup | GatewayError;
  readonly #status: RunStatus;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.#status = new RunStatus(red, node);
    this.#setup = this.#read({ ...definition });
    if (this.#setup instanceof GatewayError) this.#status.wrong();
    const unlisten =
      this.#setup instanceof GatewayError
        ? undefined
        : listenAt(this.#setup.engine, {
            name: this.#name,
            id: this.#node.id,
            report: (delivered) => this.#report(delivered),
            progress: (progress) => this.#progress(progress),
          });
    onMessage(node, (message, send, done) => this.#receive(message, send, done));
    node.on('close', (_removed: boolean, done: () => void) => {
      unlisten?.();
      this.#status.close();
      done();
    });
  }

  /** Reports go to a node of that name: those who have the same flow have the same ids, too. */
  get #name(): string {
    return this.#node.name || this.#node.id;
  }

  async #receive(received: Message, _send: Send, done: Done): Promise<void> {
    const message = owned(received, ['payload', 'run']);
    const told = { operation: 'fleet', selection: '' };
    try {
      if (this.#setup instanceof GatewayError) throw again(this.#setup);
      const order = await this.#order(message, this.#setup, told);
      const { engine } = await engineOf(this.#setup.engine);
      Object.assign(message, { run: order.id });
      const before = waiting.get(order.id);
      if (!before) waiting.set(order.id, { message, done });
      try {
        await engine.order(order);
        this.#status.begin(order.id, order.items.length);
      } catch (thrown) {
        if (!before) waiting.delete(order.id);
        throw thrown;
      }
    } catch (thrown) {
      const error = asGatewayError(thrown);
      error.cause ??= failureEnvelope(told.operation, told.selection, error, this.#titleOf(told.operation), sayForOthers(this.#red));
      Object.assign(message, { envelope: error.cause });
      this.#status.failed();
      done(plainFailure(error));
    }
  }

  /** What people call an operation; before one is chosen, the node. */
  #titleOf(name: string): string {
    const operation = operations.get(name);
    return operation ? titleOf({ name, operation, input: {}, mask: String }, sayForOthers(this.#red)) : titleText(this.#red, 'run.title');
  }

  async #order(message: Message, setup: Setup, told: { operation: string; selection: string }): Promise<NewOrder> {
    const { node } = await engineOf(setup.engine);
    const choice = setup.operations.choose(message);
    const chosen = choice instanceof Promise ? await choice : choice;
    told.operation = chosen.name;
    const fleet = new Fleet(this.#red, this.#node, node.inventoryId, setup.properties);
    const { targets, selection } = await fleet.select(message, chosen.operation.effect, new Canceller());
    told.selection = selection;
    const dryRun = setup.dryRun || (message as { dryRun?: unknown }).dryRun === true;
    const { maxAppliances = chosen.operation.effect === 'destroy' ? MOST_DESTROYED : Infinity } = setup;
    if (targets.length > maxAppliances && !dryRun) {
      throw new GatewayError(
        'LIMIT',
        sentence`${targets.length} appliances fit the selection; at most ${maxAppliances} may be reached by this operation (maxAppliances). Nothing was started.`,
        { sent: false },
      );
    }
    return {
      id: identityOf((message as { run?: unknown }).run, () => `${this.#name}-${new Date().toISOString()}-${this.#red.util.generateId()}`),
      kind: 'operation',
      operation: chosen.name,
      ...(await inputsOf(chosen, message, targets, setup.credentials)),
      selection,
      credentials: setup.credentials,
      dryRun,
      urgent: setup.urgent,
      withData: setup.withData,
      repeats: true,
      ...partsOf(setup.pace, targets.length),
      node: this.#name,
      nodeId: this.#node.id,
      initiator: { ...placeOf(this.#red, this.#node), ...actorOf(message) },
    };
  }

  #report(delivered: Delivered): void {
    const { run, data } = delivered;
    const kept = waiting.get(run.id);
    waiting.delete(run.id);
    const message: Message = kept?.message ?? { _msgid: this.#red.util.generateId() };
    delete (message as { redelivered?: unknown }).redelivered;
    Object.assign(message, reported(this.#red, delivered));
    if (isOurs((message as { error?: unknown }).error)) delete (message as { error?: unknown }).error;
    this.#status.end(run.id, data);
    this.#node.send([message, null]);
    kept?.done();
  }

  #progress(progress: Progress): void {
    this.#status.advance(progress);
    const { run, ...payload } = progress;
    this.#node.send([null, { run, payload }]);
  }

  #read(definition: Readonly<Record<string, unknown>>): Setup | GatewayError {
    try {
      const properties = new Properties(definition);
      const engine = properties.text('engine');
      if (engine === undefined) throw badConfig('No engine is chosen. Open the node and choose one.');
      const operation = properties.text('operation') ?? '';
      const areaName = properties.text('area') ?? operation.split('.')[0];
      const area = areas.find(({ name }) => name === areaName);
      if (!area) throw badConfig('No operation is chosen. Open the node and choose one.');
      const credentials = properties.text('credentialSet');
      return {
        engine,
        operations: new Operations(this.#red, this.#node, area, definition),
        properties,
        pace: paceIn(properties),
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

/** What each appliance is given: kept once where it is the same for all. */
async function inputsOf(
  chosen: Chosen,
  message: Message,
  targets: readonly Target[],
  credentials: string | undefined,
): Promise<Pick<NewOrder, 'input' | 'items'>> {
  const inputs = await Promise.all(
    targets.map(async ({ name }) => keptInput(chosen.name, await chosen.fields.read({ ...message, appliance: name }), credentials)),
  );
  const isSame = inputs.every((one) => JSON.stringify(one) === JSON.stringify(inputs[0]));
  if (isSame) return { input: inputs[0] ?? {}, items: targets.map(({ name }) => ({ appliance: name })) };
  return { input: {}, items: targets.map(({ name }, index) => ({ appliance: name, input: inputs[index] })) };
}
