import type { Node, NodeAPI, NodeDef } from 'node-red';
import { asGatewayError, badInput, GatewayError, METRICS_CONTENT_TYPE, safeMessage } from '@gateway-admin/node-red';
import {
  badConfig,
  createEarlyFailureEnvelope,
  onInput,
  normalizeMessage,
  toPlainFailure,
  NodeProperties,
  translatorForPackage,
  type DoneCallback,
  type Message,
  type SendCallback,
} from '@gateway-admin/node-red/nodes';
import type { Engine } from '../engine';
import { getEngine } from './engine-node';
import { readActorOfMessage, copyErrorWithoutCause, readRunId } from './run-request';
import { getStatusText, getTitleText } from './i18n';

export const CONTROL_NODE_TYPE = 'gateway-fleet-control';
const CONTROL_ACTIONS = ['list', 'get', 'approve', 'pause', 'resume', 'cancel', 'repeat-failed', 'metrics'] as const;
type ControlAction = (typeof CONTROL_ACTIONS)[number];

const DEFAULT_LIST_LIMIT = 100;
const MAX_LIST_LIMIT = 10_000;

interface NodeConfig {
  readonly engine: string;
  /** The action of the node; undefined if the message selects it. */
  readonly operation: ControlAction | undefined;
  readonly limit: number;
}

/** The runtime of one `gateway-fleet-control` node. */
export class ControlNode {
  readonly #red: NodeAPI;
  readonly #node: Node;
  readonly #config: NodeConfig | GatewayError;

  constructor(red: NodeAPI, node: Node, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.#config = readConfig({ ...definition });
    if (this.#config instanceof GatewayError) this.#show('red', 'not-configured');
    onInput(node, (message, send, done) => this.#receive(message, send, done));
  }

  async #receive(received: Message, send: SendCallback, done: DoneCallback): Promise<void> {
    const message = normalizeMessage(received, ['payload', 'run']);
    let action: ControlAction | undefined;
    try {
      if (this.#config instanceof GatewayError) throw copyErrorWithoutCause(this.#config);
      action = this.#config.operation ?? parseAction((message as { operation?: unknown }).operation);
      const { engine } = await getEngine(this.#config.engine);
      const result = await performAction(engine, action, message, this.#config.limit);
      Object.assign(message, result);
      this.#show('green', 'ok');
      send(message);
      done();
    } catch (thrown) {
      const error = asGatewayError(thrown);
      const title = getTitleText(this.#red, action ? `control.operation.${action}` : 'control.title');
      error.cause ??= createEarlyFailureEnvelope(action ? `fleet.${action}` : 'fleet', '', error, title, translatorForPackage(this.#red));
      Object.assign(message, { envelope: error.cause });
      this.#show('red', 'failed');
      done(toPlainFailure(error));
    }
  }

  #show(fill: 'green' | 'red', key: 'ok' | 'failed' | 'not-configured'): void {
    this.#node.status({ fill, shape: fill === 'green' ? 'dot' : 'ring', text: getStatusText(this.#red, key) });
  }
}

async function performAction(engine: Engine, action: ControlAction, message: Message, limit: number): Promise<object> {
  if (action === 'list') return { payload: (await engine.store.listRuns(limit)).map(toListedRun) };
  if (action === 'metrics') {
    const { headers } = message as { headers?: object };
    return { payload: await engine.store.readMetrics(), headers: { ...headers, 'content-type': METRICS_CONTENT_TYPE } };
  }
  const run = requireRunId(message);
  const report = await engine.report(run);
  if (!report)
    throw new GatewayError(
      'NOT_FOUND',
      safeMessage`The run ${run} does not exist. Runs are stored for 30 days, or for one day if a node starts more than a thousand.`,
      { sent: false },
    );
  if (action === 'get') return { run, payload: { ...report.data, ...toRunState(report.run) }, envelope: report.envelope };
  const { as } = message as { as?: unknown };
  if (action === 'approve') {
    // The default id is the same each time, so a plan can be approved only once.
    const id = readRunId(as, () => `${run}~approved`);
    return { run: id, payload: { run: id, planOf: run, total: await engine.approve(run, id, readActorOfMessage(message).actor ?? null) } };
  }
  if (action === 'repeat-failed') {
    const id = readRunId(as, () => `${run}~${new Date().toISOString()}`);
    return { run: id, payload: { run: id, repeatOf: run, total: await engine.repeatFailed(run, id) } };
  }
  if (!(await engine.store.controlRun(run, action)))
    throw new GatewayError('CONFLICT', safeMessage`The run ${run} is over, so it cannot ${action}.`, { sent: false });
  return { run, payload: { run, ...toRunState((await engine.store.findRun(run)) ?? report.run) } };
}

type ReportedRun = NonNullable<Awaited<ReturnType<Engine['report']>>>['run'];

const toRunState = ({ state, stopped, created, ended, repeat_of, approved }: ReportedRun): object => ({
  state,
  ...(stopped && { stopped }),
  started: created.toISOString(),
  ...(ended && { ended: ended.toISOString() }),
  ...(repeat_of && { repeatOf: repeat_of }),
  ...(approved && { planOf: approved.plan }),
});

function toListedRun(row: Awaited<ReturnType<Engine['store']['listRuns']>>[number]): object {
  const { id, operation, selection, total, ok, failed, unknown, skipped, open } = row;
  return { run: id, operation, selection, ...toRunState(row), total, ok, failed, unknown, skipped, open };
}

/** Reads the id of a run from `msg.run`, or from a text payload. */
function requireRunId({ payload, ...message }: Message): string {
  const value = (message as { run?: unknown }).run ?? (typeof payload === 'string' ? payload : undefined);
  return readRunId(value, () => {
    throw badInput('msg.run is missing. Set it to the name of a run. The operation list shows all names.');
  });
}

function parseAction(value: unknown): ControlAction {
  const found = CONTROL_ACTIONS.find((one) => one === value);
  if (found) return found;
  throw badInput(`msg.operation must be one of ${CONTROL_ACTIONS.join(', ')}.`);
}

function readConfig(definition: Readonly<Record<string, unknown>>): NodeConfig | GatewayError {
  try {
    const properties = new NodeProperties(definition);
    const engine = properties.text('engine');
    if (engine === undefined) throw badConfig('No engine is chosen. Open the node and choose one.');
    const limit = properties.number('limit') ?? DEFAULT_LIST_LIMIT;
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIST_LIMIT)
      throw badConfig(`limit must be a whole number from 1 to ${MAX_LIST_LIMIT}.`);
    const operation = properties.choice('operation', [...CONTROL_ACTIONS, 'msg']);
    return { engine, operation: operation === 'msg' ? undefined : operation, limit };
  } catch (thrown) {
    return asGatewayError(thrown);
  }
}
