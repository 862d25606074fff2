import { join } from 'node:path';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import { asGatewayError, badInput, GatewayError } from '../../src/model/error';
import { isObject } from '../../src/model/json';
import { trusted, safeMessage } from '../../src/model/safe-message';
import { createEarlyFailureEnvelope } from '../../src/run/envelope';
import {
  parseWatchFilter,
  getWatchKind,
  WATCH_KINDS,
  Watcher,
  type WatchLimit,
  type WatchEvent,
  type WatchKind,
  type WatchOptions,
} from '../../src/watch';
import { getApplianceById } from '../appliance/appliance-node';
import { toPlainFailure } from '../message/failure';
import { badConfig, NodeProperties, createUnsetVariableError } from '../common/node-properties';
import { parseVariableReference } from '../common/rules';
import { onInput, type DoneCallback } from '../message/on-input';
import type { Message } from '../message/typed-value';
import { translatorFor, translateText } from '../common/i18n';
import { reportReachability } from '../status/reachability';
import { showWatchStatus } from './watch-status';

export const WATCH_NODE_TYPE = 'gateway-watch';

type WatchSettings = Omit<WatchOptions, 'onEvent' | 'onError' | 'onState'>;

/** The runtime of a `gateway-watch` node. Each event of its watcher becomes a message. */
export class WatchNode {
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
    // Nodes that the appliance refers to can start after this one.
    this.#started = new Promise((resolve) => setImmediate(() => resolve(this.#start())));
    onInput(node, (message, _send, done) => this.#receive(message, done));
    // Node-RED waits for `done` only if the handler has exactly two parameters.
    node.on('close', (_removed: boolean, done: () => void) => {
      this.#closed = true;
      void Promise.resolve(this.#watcher?.close()).finally(done);
    });
  }

  #start(): void {
    if (this.#closed) return;
    try {
      const properties = new NodeProperties(this.#definition);
      const appliance = getApplianceById(properties.text('appliance') ?? '');
      if (!appliance) throw badConfig('No appliance is chosen, or it is missing or disabled. Open the node and choose one.');
      this.#appliance = appliance.label;
      const gateway = appliance.gateway();
      this.#appliance = gateway.name;
      this.#watcher = new Watcher(gateway, {
        ...readWatchSettings(properties, this.#definition, this.#node.id, gateway.isRehearsal),
        onEvent: (event) => this.#send(event),
        onError: (error) => {
          reportReachability(appliance.id, error);
          this.#reportError(error);
        },
        onState: (state) => {
          showWatchStatus(this.#red, this.#node, state, gateway.isRehearsal);
          if (state.state === 'checked') reportReachability(appliance.id);
          else if (state.state === 'unreachable') reportReachability(appliance.id, new GatewayError('CONNECTION', 'It is unreachable.'));
        },
      });
      void this.#watcher.start();
    } catch (thrown) {
      this.#fault = asGatewayError(thrown);
      showWatchStatus(this.#red, this.#node, { state: 'failed', code: this.#fault.code });
      this.#reportError(this.#fault);
    }
  }

  /** Clones the message, because the events of one check share objects. */
  #send({ topic, payload, envelope }: WatchEvent): void {
    this.#node.send(this.#red.util.cloneMessage({ _msgid: this.#red.util.generateId(), topic, payload, envelope }));
  }

  async #receive(message: Message, done: DoneCallback): Promise<void> {
    try {
      const { pause } = message;
      if (pause !== undefined && pause !== null && typeof pause !== 'boolean')
        throw badInput('msg.pause must be true or false. A message without it starts a check.');
      await this.#started;
      if (this.#fault) throw this.#fault;
      const watcher = this.#watcher;
      if (pause === true) watcher?.pause();
      else if (pause === false) await watcher?.resume();
      else await watcher?.check();
      done();
    } catch (thrown) {
      done(toPlainFailure(this.#withCause(asGatewayError(thrown))));
    }
  }

  /** Sends an error of the watch to Catch nodes. It belongs to no message. */
  #reportError(error: GatewayError): void {
    const failure = toPlainFailure(this.#withCause(error));
    this.#node.error(failure, {
      _msgid: this.#red.util.generateId(),
      topic: `${String(this.#definition.watch)}/error`,
      envelope: failure.cause,
    });
  }

  #withCause(error: GatewayError): GatewayError {
    error.cause ??= createEarlyFailureEnvelope(
      'watch',
      this.#appliance,
      error,
      translateText(this.#red, 'watch.watch', 'Watch'),
      translatorFor(this.#red),
    );
    return error;
  }
}

/** Parses the properties of the node. Errors: `BAD_CONFIG`, which names the property. */
function readWatchSettings(
  properties: NodeProperties,
  definition: Readonly<Record<string, unknown>>,
  id: string,
  isRehearsal: boolean,
): WatchSettings {
  const watch = properties.choice('watch', Object.keys(WATCH_KINDS) as [WatchKind, ...WatchKind[]]);
  const folder = properties.text('remember');
  return {
    watch,
    every: properties.number('every') ?? getWatchKind(watch).defaultIntervalSeconds ?? 60,
    // A rehearsal must not report the differences between the appliance and its copy.
    stateFile: folder === undefined ? undefined : join(folder, `watch-${isRehearsal ? 'rehearsal-' : ''}${encodeURIComponent(id)}.jsonl`),
    filter: watch === 'sessions' ? parseWatchFilter(parseJsonProperty('filter', definition.filter)) : undefined,
    limits:
      watch === 'health' || watch === 'license' || watch === 'sessions'
        ? (parseJsonProperty('limits', definition.limits) as WatchLimit[] | undefined)
        : undefined,
    days: watch === 'certificate' ? splitWords('days', definition.days, /[\s,;]/) : undefined,
    path: watch === 'configuration' ? properties.text('path') : undefined,
    ignore: watch === 'configuration' ? splitWords('ignore', definition.ignore, /[,;\n]/) : undefined,
    unordered: watch === 'configuration' ? splitWords('unordered', definition.unordered, /[,;\n]/) : undefined,
    rules: watch === 'audit' ? properties.text('rules') : undefined,
    exceptions: watch === 'audit' ? properties.text('exceptions') : undefined,
    off: watch === 'audit' ? splitWords('off', definition.off, /[\s,;]/) : undefined,
  };
}

/** Reads a JSON text of the dialog. A handwritten flow may have the value itself. */
function parseJsonProperty(name: string, value: unknown): unknown {
  const variable = parseVariableReference(value);
  if (variable !== undefined) throw createUnsetVariableError(name, variable);
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return value;
  if (value.trim() === '') return undefined;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw badConfig(safeMessage`${trusted(name)} is not valid JSON. Open the node and enter it again.`);
  }
}

/** Splits a text such as `30,14,7,3,1` at these characters. */
function splitWords(name: string, value: unknown, separator: RegExp): string[] | undefined {
  if (Array.isArray(value)) return value.map(String);
  if (isObject(value)) throw badConfig(safeMessage`${trusted(name)} must be text with commas between its words.`);
  const words = new NodeProperties({ [name]: value }).text(name)?.split(separator);
  const nonEmptyWords = words?.map((word) => word.trim()).filter((word) => word !== '');
  return nonEmptyWords && nonEmptyWords.length > 0 ? nonEmptyWords : undefined;
}
