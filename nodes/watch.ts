import { join } from 'node:path';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import { asGatewayError, badInput, GatewayError } from '../src/model/error';
import { isObject } from '../src/model/json';
import { ours, sentence } from '../src/model/sentence';
import { failureEnvelope } from '../src/run/envelope';
import { filterFrom, kindNamed, KINDS, Watcher, type Limit, type WatchEvent, type WatchKind, type WatchOptions } from '../src/watch';
import { applianceById } from './appliance';
import { plainFailure } from './failure';
import { badConfig, Properties } from './properties';
import { variableOf } from './rules';
import { onMessage, type Done } from './receive';
import type { Message } from './sources';
import { sayIn, textOf } from './texts';
import { tellReach } from './reach';
import { showWatch } from './watch-status';

export const WATCH = 'gateway-watch';

type Settings = Omit<WatchOptions, 'onEvent' | 'onError' | 'onState'>;

/** The runtime of one `gateway-watch` node: a watcher, whose events become messages. */
export class Watch {
  readonly #red: NodeAPI;
  readonly #node: Node;
  readonly #definition: Readonly<Record<string, unknown>>;
  readonly #started: Promise<void>;
  #watcher: Watcher | undefined;
  #fault: GatewayError | undefined;
  #appliance = '';
  #closed = false;

  constructor(red: NodeAPI, node: Node, definition: NodeDef) {
    this.#red = red;
    this.#node = node;
    this.#definition = { ...definition };
    // Nodes that the appliance refers to may start after this one.
    this.#started = new Promise((resolve) => setImmediate(() => resolve(this.#start())));
    onMessage(node, (message, _send, done) => this.#receive(message, done));
    // Node-RED counts the parameters: exactly two, or it does not wait.
    node.on('close', (_removed: boolean, done: () => void) => {
      this.#closed = true;
      void Promise.resolve(this.#watcher?.close()).finally(done);
    });
  }

  #start(): void {
    if (this.#closed) return;
    try {
      const properties = new Properties(this.#definition);
      const appliance = applianceById(properties.text('appliance') ?? '');
      if (!appliance) throw badConfig('No appliance is chosen, or it is missing or disabled. Open the node and choose one.');
      this.#appliance = appliance.label;
      const gateway = appliance.gateway();
      this.#appliance = gateway.name;
      this.#watcher = new Watcher(gateway, {
        ...settingsOf(properties, this.#definition, this.#node.id),
        onEvent: (event) => this.#send(event),
        onError: (error) => {
          tellReach(appliance.id, error);
          this.#tell(error);
        },
        onState: (state) => {
          showWatch(this.#red, this.#node, state);
          if (state.state === 'seen') tellReach(appliance.id);
          else if (state.state === 'away') tellReach(appliance.id, new GatewayError('CONNECTION', 'It is away.'));
        },
      });
      void this.#watcher.start();
    } catch (thrown) {
      this.#fault = asGatewayError(thrown);
      showWatch(this.#red, this.#node, { state: 'failed', code: this.#fault.code });
      this.#tell(this.#fault);
    }
  }

  /** Several events come from one check: each message has its own copy of what they share. */
  #send({ topic, payload, envelope }: WatchEvent): void {
    this.#node.send(this.#red.util.cloneMessage({ _msgid: this.#red.util.generateId(), topic, payload, envelope }));
  }

  async #receive(message: Message, done: Done): Promise<void> {
    try {
      const { pause } = message;
      if (pause !== undefined && pause !== null && typeof pause !== 'boolean')
        throw badInput('msg.pause has to be true or false. Without it, a message starts a check.');
      await this.#started;
      if (this.#fault) throw this.#fault;
      const watcher = this.#watcher;
      if (pause === true) watcher?.pause();
      else if (pause === false) await watcher?.resume();
      else await watcher?.check();
      done();
    } catch (thrown) {
      done(plainFailure(this.#caused(asGatewayError(thrown))));
    }
  }

  /** What keeps it from watching goes to Catch nodes; there is no message that it belongs to. */
  #tell(error: GatewayError): void {
    const failure = plainFailure(this.#caused(error));
    this.#node.error(failure, {
      _msgid: this.#red.util.generateId(),
      topic: `${String(this.#definition.watch)}/error`,
      envelope: failure.cause,
    });
  }

  #caused(error: GatewayError): GatewayError {
    error.cause ??= failureEnvelope('watch', this.#appliance, error, textOf(this.#red, 'watch.watch', 'Watch'), sayIn(this.#red));
    return error;
  }
}

/** Errors: `BAD_CONFIG` naming the property. */
function settingsOf(properties: Properties, definition: Readonly<Record<string, unknown>>, id: string): Settings {
  const watch = properties.choice('watch', Object.keys(KINDS) as [WatchKind, ...WatchKind[]]);
  const folder = properties.text('remember');
  return {
    watch,
    every: properties.number('every') ?? kindNamed(watch).every ?? 60,
    remember: folder === undefined ? undefined : join(folder, `watch-${encodeURIComponent(id)}.jsonl`),
    filter: watch === 'sessions' ? filterFrom(jsonOf('filter', definition.filter)) : undefined,
    limits: watch === 'health' || watch === 'license' ? (jsonOf('limits', definition.limits) as Limit[] | undefined) : undefined,
    days: watch === 'certificate' ? wordsOf('days', definition.days, /[\s,;]/) : undefined,
    path: watch === 'configuration' ? properties.text('path') : undefined,
    ignore: watch === 'configuration' ? wordsOf('ignore', definition.ignore, /[,;\n]/) : undefined,
  };
}

/** JSON as the dialog stores it, or what a flow written by hand has in its place. */
function jsonOf(name: string, value: unknown): unknown {
  const variable = variableOf(value);
  if (variable !== undefined)
    throw badConfig(sentence`${ours(name)} is to come from the environment variable ${variable}, which is not set.`);
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return value;
  if (value.trim() === '') return undefined;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw badConfig(sentence`${ours(name)} is no JSON. Open the node and enter it again.`);
  }
}

/** Words with one of these characters between them: `30,14,7,3,1`. */
function wordsOf(name: string, value: unknown, between: RegExp): string[] | undefined {
  if (Array.isArray(value)) return value.map(String);
  if (isObject(value)) throw badConfig(sentence`${ours(name)} has to be text, with commas between its words.`);
  const words = new Properties({ [name]: value }).text(name)?.split(between);
  const given = words?.map((word) => word.trim()).filter((word) => word !== '');
  return given && given.length > 0 ? given : undefined;
}
