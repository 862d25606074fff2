import type { Node, NodeAPI } from 'node-red';
import type { ContainEvent } from '../src/contain/keeper';
import { asGatewayError, type GatewayError } from '../src/model/error';
import { isObject } from '../src/model/json';
import type { Target } from '../src/inventory';
import { applianceById, namedAppliances } from './appliance';
import { placeOf } from './place';
import { badConfig, type Properties } from './properties';
import { portsOf } from './rules';
import { shownContained, shownFailure } from './shown';
import type { Status } from './status';

const MOST_SECONDS = 86_400;

/** What of the dialog a keeper needs. */
interface KeeperOf {
  readonly properties: Properties;
  /** Default of the seconds from one look to the next. */
  readonly every: number;
  readonly failsToOutput: boolean;
  /** Undefined: messages name it, and any that has a name may be meant. */
  readonly applianceId: string | undefined;
  /** Of an inventory, in place of one: those that the dialog selects. */
  readonly selected: (() => Promise<readonly Target[]>) | undefined;
  readonly folder: string | undefined;
}

/** Keeps people out between the messages of a node, and tells by an output of its own what it does. */
export class NodeKeeper {
  readonly #red: NodeAPI;
  readonly #node: Node;
  readonly #status: Status;
  readonly #of: KeeperOf;
  readonly #every: number;
  readonly #port: number;
  /** By the appliance's node, whose deploy makes another one. */
  readonly #kept = new Map<Target, () => void>();
  readonly #begin: NodeJS.Immediate;
  #shown = '';
  #closed = false;

  /** Errors: `BAD_CONFIG` for a time that cannot be. */
  constructor(red: NodeAPI, node: Node, status: Status, of: KeeperOf) {
    this.#red = red;
    this.#node = node;
    this.#status = status;
    this.#of = of;
    this.#every = of.properties.number('every') ?? of.every;
    if (!(this.#every > 0 && this.#every <= MOST_SECONDS)) {
      throw badConfig(`every has to be more than 0 and at most ${MOST_SECONDS} seconds. Open the node and enter it again.`);
    }
    this.#port = portsOf(of.failsToOutput, false, true).indexOf('event');
    // What the appliance node refers to may start after this one.
    this.#begin = setImmediate(() => this.#start());
  }

  /** Keeps at this appliance from now on, if it does not yet. */
  at(appliance: Target): void {
    if (this.#kept.has(appliance)) return;
    const gateway = appliance.gateway();
    const stop = gateway.keepContained({
      every: this.#every,
      folder: this.#of.folder,
      by: placeOf(this.#red, this.#node),
      contains: this.#of.properties.text('operation') === 'contain',
      onEvent: (event) => this.#tell(event, gateway.name),
      onLook: (contained, fault) => this.#show(contained, fault),
    });
    this.#kept.set(appliance, stop);
  }

  close(): void {
    this.#closed = true;
    clearImmediate(this.#begin);
    for (const stop of this.#kept.values()) stop();
    this.#kept.clear();
  }

  #start(): void {
    const { applianceId, selected } = this.#of;
    const own = applianceId === undefined ? undefined : applianceById(applianceId);
    if (selected) void this.#atAll(selected);
    else for (const appliance of own ? [own] : applianceId === undefined ? namedAppliances() : []) this.tryAt(appliance);
  }

  async #atAll(selected: () => Promise<readonly Target[]>): Promise<void> {
    try {
      const targets = await selected();
      if (!this.#closed) for (const target of targets) this.tryAt(target);
    } catch (thrown) {
      this.#status.report(shownFailure(asGatewayError(thrown).code));
    }
  }

  /** The same where a fault is told elsewhere: a message hears of it too, and until then the status does. */
  tryAt(appliance: Target): void {
    try {
      this.at(appliance);
    } catch (thrown) {
      this.#status.report(shownFailure(asGatewayError(thrown).code));
    }
  }

  #tell(event: ContainEvent, appliance: string): void {
    const message = { topic: `contain/${event.event}`, payload: { ...event, appliance } };
    this.#node.send([...new Array<null>(this.#port).fill(null), message]);
  }

  /** Only what has changed: the outcome of a message stays until then. */
  #show(contained: number, fault: GatewayError | undefined): void {
    // Nobody would see it: the next look says it.
    if (!fault && this.#status.isBusy) return;
    const shown = fault ? fault.code : String(contained);
    if (shown === this.#shown) return;
    const first = this.#shown === '';
    this.#shown = shown;
    if (fault) {
      this.#node.warn(fault.message);
      this.#status.report(shownFailure(fault.code));
    } else if (!first || contained > 0) this.#status.report(shownContained(contained));
  }
}

/** The folder that the dialog names, as far as that is known without a message. */
export function fixedFolder(red: NodeAPI, node: Node, fields: unknown): string | undefined {
  const entry = isObject(fields) ? fields['folder'] : undefined;
  if (!isObject(entry) || typeof entry['value'] !== 'string' || entry['value'].trim() === '') return undefined;
  if (entry['type'] === 'str') return entry['value'];
  if (entry['type'] !== 'env') return undefined;
  const value: unknown = red.util.evaluateNodeProperty(entry['value'], 'env', node, {});
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
