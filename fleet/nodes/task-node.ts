import { randomUUID } from 'node:crypto';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import { asGatewayError, GatewayError, ours, sentence } from '@gateway-admin/node-red';
import {
  badConfig,
  Canceller,
  failureEnvelope,
  Fleet,
  onMessage,
  owned,
  placeOf,
  plainFailure,
  Properties,
  sayForOthers,
  type Done,
  type Message,
} from '@gateway-admin/node-red/nodes';
import type { Delivered, Progress } from '../engine';
import { Tasks } from '../worker/tasks';
import { engineOf, listenAt } from './engine-node';
import { again, identityOf, paceIn, partsOf, plain, type PaceSetup } from './order';
import { reported } from './reported';
import { RunStatus } from './run-status';
import { saidText, titleText } from './texts';

export const TASK = 'gateway-fleet-task';
const AT_ONCE = 4;
const MINUTES = 60;
/** Longer a timer cannot be. */
const MOST_MINUTES = 35_000;

interface Setup {
  readonly engine: string;
  readonly properties: Properties;
  readonly pace: PaceSetup;
  readonly atOnce: number;
  readonly minutes: number;
  readonly urgent: boolean;
  readonly repeats: boolean;
  readonly withData: boolean;
}

/** The runtime of one `gateway-fleet-task` node: begins a run, and begins its flow for each appliance that this Node-RED gets. */
export class TaskNode {
  readonly #red: NodeAPI;
  readonly #node: Node<Record<string, unknown>>;
  readonly #setup: Setup | GatewayError;
  readonly #status: RunStatus;
  #end: (() => Promise<void>) | undefined;
  #closed = false;
  /** Another node has its name. */
  #clash: GatewayError | undefined;

  constructor(red: NodeAPI, node: Node<Record<string, unknown>>, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.#status = new RunStatus(red, node);
    this.#setup = this.#read({ ...definition });
    const setup = this.#setup;
    let unlisten: (() => void) | undefined;
    if (setup instanceof GatewayError) this.#status.wrong();
    else {
      const report = (delivered: Delivered): void => this.#report(delivered);
      unlisten = listenAt(setup.engine, { name: this.#name, id: node.id, report, progress: (progress) => this.#progress(progress) });
      // The engine may start after this node; what keeps it from starting, it tells itself.
      setImmediate(() => {
        this.#serve(setup).catch((thrown: unknown) => {
          this.#status.wrong();
          if (asGatewayError(thrown).code !== 'CONFLICT') return;
          this.#clash = new GatewayError('CONFLICT', this.#sameName, { sent: false });
          node.error(this.#clash.message);
        });
      });
    }
    onMessage(node, (message, _send, done) => this.#receive(message, done));
    node.on('close', (_removed: boolean, done: () => void) => {
      this.#closed = true;
      unlisten?.();
      this.#status.close();
      (this.#end?.() ?? Promise.resolve()).then(done, done);
    });
  }

  get #name(): string {
    return this.#node.name || this.#node.id;
  }

  get #sameName(): GatewayError['sentence'] {
    return sentence`${ours(saidText(this.#red, 'fleet.said.same-name', { name: this.#name }))}`;
  }

  /** Takes the items of this flow, of whomever has ordered them. */
  async #serve({ engine: id, atOnce, minutes }: Setup): Promise<void> {
    const { engine, node } = await engineOf(id);
    if (this.#closed) return;
    const tasks = new Tasks({
      database: engine.database,
      ledger: engine.ledger,
      appliances: node.appliances,
      holder: engine.id,
      timeLimitMs: minutes * 60_000,
      newToken: randomUUID,
      begin: ({ run, appliance, input, token }) => {
        const message = { _msgid: this.#red.util.generateId(), run, appliance, payload: input, task: token };
        this.#node.send([message, null, null]);
      },
    });
    const unserve = await engine.serve(this.#name, atOnce, (key) => tasks.work(key));
    this.#end = async () => {
      tasks.stop();
      await unserve();
    };
    if (this.#closed as boolean) await this.#end();
  }

  async #receive(received: Message, done: Done): Promise<void> {
    const message = owned(received, ['run']);
    let selected = '';
    try {
      if (this.#setup instanceof GatewayError) throw again(this.#setup);
      if (this.#clash) throw again(this.#clash);
      const { engine: id, properties, pace, urgent, repeats, withData } = this.#setup;
      const { engine, node } = await engineOf(id);
      const fleet = new Fleet(this.#red, this.#node, node.inventoryId, properties);
      const { targets, selection } = await fleet.select(message, 'write', new Canceller());
      selected = selection;
      const { payload } = message;
      const run = identityOf(
        (message as { run?: unknown }).run,
        () => `${this.#name}-${new Date().toISOString()}-${this.#red.util.generateId()}`,
      );
      await engine.order({
        id: run,
        kind: 'task',
        operation: this.#name,
        input: typeof payload === 'object' && payload !== null ? plain(payload as Record<string, unknown>) : {},
        items: targets.map(({ name }) => ({ appliance: name })),
        selection,
        dryRun: false,
        urgent,
        withData,
        repeats,
        ...partsOf(pace, targets.length),
        node: this.#name,
        nodeId: this.#node.id,
        initiator: placeOf(this.#red, this.#node),
      });
      this.#status.begin(run, targets.length);
      done();
    } catch (thrown) {
      const error = asGatewayError(thrown);
      error.cause ??= failureEnvelope(
        'fleet',
        selected,
        error,
        this.#node.name || titleText(this.#red, 'task.title'),
        sayForOthers(this.#red),
      );
      Object.assign(message, { envelope: error.cause });
      this.#status.failed();
      done(plainFailure(error));
    }
  }

  #report(delivered: Delivered): void {
    const message = { _msgid: this.#red.util.generateId(), ...reported(this.#red, delivered) };
    this.#status.end(message.run, message.payload);
    this.#node.send([null, message, null]);
  }

  #progress(progress: Progress): void {
    this.#status.advance(progress);
    const { run, ...payload } = progress;
    this.#node.send([null, null, { run, payload }]);
  }

  #read(definition: Readonly<Record<string, unknown>>): Setup | GatewayError {
    try {
      const properties = new Properties({ ...definition, allowDestroy: true });
      const engine = properties.text('engine');
      if (engine === undefined) throw badConfig('No engine is chosen. Open the node and choose one.');
      const minutes = properties.number('minutes') ?? MINUTES;
      if (!(minutes > 0 && minutes <= MOST_MINUTES)) throw badConfig(`minutes has to be a number above 0, at most ${MOST_MINUTES}.`);
      const atOnce = properties.number('atOnce') ?? AT_ONCE;
      if (!Number.isInteger(atOnce) || atOnce < 1 || atOnce > 256) throw badConfig('atOnce has to be a whole number from 1 to 256.');
      return {
        engine,
        properties,
        pace: paceIn(properties),
        atOnce,
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
