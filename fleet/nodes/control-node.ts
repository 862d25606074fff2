import type { Node, NodeAPI, NodeDef } from 'node-red';
import { asGatewayError, badInput, GatewayError, sentence } from '@gateway-admin/node-red';
import {
  badConfig,
  failureEnvelope,
  onMessage,
  owned,
  plainFailure,
  Properties,
  sayForOthers,
  type Done,
  type Message,
  type Send,
} from '@gateway-admin/node-red/nodes';
import type { Engine } from '../engine';
import { engineOf } from './engine-node';
import { actorOf, again, identityOf } from './order';
import { statusText, titleText } from './texts';

export const CONTROL = 'gateway-fleet-control';
export const CONTROLS = ['list', 'get', 'approve', 'pause', 'resume', 'cancel', 'repeat-failed'] as const;
type What = (typeof CONTROLS)[number];

const LISTED = 100;
const MOST_LISTED = 10_000;

interface Setup {
  readonly engine: string;
  /** Undefined: the message says it. */
  readonly operation: What | undefined;
  readonly limit: number;
}

/** The runtime of one `gateway-fleet-control` node. */
export class ControlNode {
  readonly #red: NodeAPI;
  readonly #node: Node;
  readonly #setup: Setup | GatewayError;

  constructor(red: NodeAPI, node: Node, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.#setup = read({ ...definition });
    if (this.#setup instanceof GatewayError) this.#show('red', 'not-configured');
    onMessage(node, (message, send, done) => this.#receive(message, send, done));
  }

  async #receive(received: Message, send: Send, done: Done): Promise<void> {
    const message = owned(received, ['payload', 'run']);
    let what: What | undefined;
    try {
      if (this.#setup instanceof GatewayError) throw again(this.#setup);
      what = this.#setup.operation ?? controlOf((message as { operation?: unknown }).operation);
      const { engine } = await engineOf(this.#setup.engine);
      const found = await perform(engine, what, message, this.#setup.limit);
      Object.assign(message, found);
      this.#show('green', 'ok');
      send(message);
      done();
    } catch (thrown) {
      const error = asGatewayError(thrown);
      const title = titleText(this.#red, what ? `control.operation.${what}` : 'control.title');
      error.cause ??= failureEnvelope(what ? `fleet.${what}` : 'fleet', '', error, title, sayForOthers(this.#red));
      Object.assign(message, { envelope: error.cause });
      this.#show('red', 'failed');
      done(plainFailure(error));
    }
  }

  #show(fill: 'green' | 'red', key: 'ok' | 'failed' | 'not-configured'): void {
    this.#node.status({ fill, shape: fill === 'green' ? 'dot' : 'ring', text: statusText(this.#red, key) });
  }
}

async function perform(engine: Engine, what: What, message: Message, limit: number): Promise<object> {
  if (what === 'list') return { payload: (await engine.ledger.list(limit)).map(shown) };
  const run = runOf(message);
  const report = await engine.report(run);
  if (!report)
    throw new GatewayError(
      'NOT_FOUND',
      sentence`There is no run ${run}. Runs are kept for 30 days, of a node that begins very many for one.`,
      { sent: false },
    );
  if (what === 'get') return { run, payload: { ...report.data, ...stateOf(report.run) }, envelope: report.envelope };
  const { as } = message as { as?: unknown };
  if (what === 'approve') {
    // The same for each answer: a plan is approved once.
    const id = identityOf(as, () => `${run}~approved`);
    return { run: id, payload: { run: id, planOf: run, total: await engine.approve(run, id, actorOf(message).actor ?? null) } };
  }
  if (what === 'repeat-failed') {
    const id = identityOf(as, () => `${run}~${new Date().toISOString()}`);
    return { run: id, payload: { run: id, repeatOf: run, total: await engine.repeatFailed(run, id) } };
  }
  if (!(await engine.ledger.control(run, what)))
    throw new GatewayError('CONFLICT', sentence`The run ${run} is over: there is nothing to ${what}.`, { sent: false });
  return { run, payload: { run, ...stateOf((await engine.ledger.run(run)) ?? report.run) } };
}

type Row = NonNullable<Awaited<ReturnType<Engine['report']>>>['run'];

const stateOf = ({ state, stopped, created, ended, repeat_of, approved }: Row): object => ({
  state,
  ...(stopped && { stopped }),
  started: created.toISOString(),
  ...(ended && { ended: ended.toISOString() }),
  ...(repeat_of && { repeatOf: repeat_of }),
  ...(approved && { planOf: approved.plan }),
});

function shown(row: Awaited<ReturnType<Engine['ledger']['list']>>[number]): object {
  const { id, operation, selection, total, ok, failed, unknown, skipped, open } = row;
  return { run: id, operation, selection, ...stateOf(row), total, ok, failed, unknown, skipped, open };
}

/** A run by its identity: `msg.run`, or a payload that is a text. */
function runOf({ payload, ...message }: Message): string {
  const given = (message as { run?: unknown }).run ?? (typeof payload === 'string' ? payload : undefined);
  return identityOf(given, () => {
    throw badInput('msg.run is missing: the identity of the run, as it was started or as list tells it.');
  });
}

function controlOf(given: unknown): What {
  const found = CONTROLS.find((one) => one === given);
  if (found) return found;
  throw badInput(`msg.operation has to be one of ${CONTROLS.join(', ')}.`);
}

function read(definition: Readonly<Record<string, unknown>>): Setup | GatewayError {
  try {
    const properties = new Properties(definition);
    const engine = properties.text('engine');
    if (engine === undefined) throw badConfig('No engine is chosen. Open the node and choose one.');
    const limit = properties.number('limit') ?? LISTED;
    if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LISTED)
      throw badConfig(`limit has to be a whole number from 1 to ${MOST_LISTED}.`);
    const operation = properties.choice('operation', [...CONTROLS, 'msg']);
    return { engine, operation: operation === 'msg' ? undefined : operation, limit };
  } catch (thrown) {
    return asGatewayError(thrown);
  }
}
