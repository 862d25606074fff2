import type { Node, NodeAPI } from 'node-red';
import type { ContainEvent } from '../../src/contain/enforcement-loop';
import { asGatewayError, type GatewayError } from '../../src/model/error';
import { isObject } from '../../src/model/json';
import type { ApplianceTarget } from '../../src/inventory';
import { getApplianceById, listNamedAppliances } from '../appliance/appliance-node';
import { describeNodeAndFlow } from '../common/node-origin';
import { badConfig, type NodeProperties } from '../common/node-properties';
import { listOutputPorts } from '../common/rules';
import { statusForContainedUsers, statusForErrorCode } from '../status/status-text';
import type { StatusReporter } from '../status/node-status';

const MAX_POLL_SECONDS = 86_400;

/** The dialog properties that the enforcement uses. */
interface EnforcementConfig {
  readonly properties: NodeProperties;
  /** Default poll interval in seconds. */
  readonly every: number;
  readonly hasFailureOutput: boolean;
  /** The appliance of the node; undefined if messages name the appliance. */
  readonly applianceId: string | undefined;
  /** Returns the appliances of the inventory that the dialog selects. Undefined without an inventory. */
  readonly selectTargets: (() => Promise<readonly ApplianceTarget[]>) | undefined;
  readonly folder: string | undefined;
}

/** Enforces containments between the messages of a node and sends each event to a separate output. */
export class NodeContainmentEnforcement {
  readonly #red: NodeAPI;
  readonly #node: Node;
  readonly #status: StatusReporter;
  readonly #config: EnforcementConfig;
  readonly #pollSeconds: number;
  readonly #port: number;
  /** Running enforcements. The key is the appliance object, because a deploy creates a new one. */
  readonly #stopByAppliance = new Map<ApplianceTarget, () => void>();
  readonly #startImmediate: NodeJS.Immediate;
  #reportedStatus = '';
  #closed = false;

  /** Reads the properties of the node. Errors: `BAD_CONFIG` if the poll interval is out of range. */
  constructor(red: NodeAPI, node: Node, status: StatusReporter, config: EnforcementConfig) {
    this.#red = red;
    this.#node = node;
    this.#status = status;
    this.#config = config;
    this.#pollSeconds = config.properties.number('every') ?? config.every;
    if (!(this.#pollSeconds > 0 && this.#pollSeconds <= MAX_POLL_SECONDS)) {
      throw badConfig(
        `every is ${this.#pollSeconds}, but must be more than 0 and at most ${MAX_POLL_SECONDS} seconds. Open the node and enter it again.`,
      );
    }
    this.#port = listOutputPorts(config.hasFailureOutput, false, true).indexOf('event');
    // Nodes that the appliance refers to can start after this one.
    this.#startImmediate = setImmediate(() => this.#start());
  }

  /** Starts the enforcement on this appliance unless it already runs. */
  enforceAt(appliance: ApplianceTarget): void {
    if (this.#stopByAppliance.has(appliance)) return;
    const gateway = appliance.gateway();
    const stop = gateway.enforceContainments({
      every: this.#pollSeconds,
      folder: this.#config.folder,
      initiator: describeNodeAndFlow(this.#red, this.#node),
      canContain: this.#config.properties.text('operation') === 'contain',
      onEvent: (event) => this.#sendEvent(event, gateway.name),
      onPoll: (contained, fault) => this.#reportStatus(contained, fault),
    });
    this.#stopByAppliance.set(appliance, stop);
  }

  close(): void {
    this.#closed = true;
    clearImmediate(this.#startImmediate);
    for (const stop of this.#stopByAppliance.values()) stop();
    this.#stopByAppliance.clear();
  }

  #start(): void {
    const { applianceId, selectTargets } = this.#config;
    const fixedAppliance = applianceId === undefined ? undefined : getApplianceById(applianceId);
    if (selectTargets) void this.#enforceAtAll(selectTargets);
    else
      for (const appliance of fixedAppliance ? [fixedAppliance] : applianceId === undefined ? listNamedAppliances() : [])
        this.tryEnforceAt(appliance);
  }

  async #enforceAtAll(selectTargets: () => Promise<readonly ApplianceTarget[]>): Promise<void> {
    try {
      const targets = await selectTargets();
      if (!this.#closed) for (const target of targets) this.tryEnforceAt(target);
    } catch (thrown) {
      this.#status.report(statusForErrorCode(asGatewayError(thrown).code));
    }
  }

  /** Starts the enforcement and shows a failure in the status. The next message reports the failure too. */
  tryEnforceAt(appliance: ApplianceTarget): void {
    try {
      this.enforceAt(appliance);
    } catch (thrown) {
      this.#status.report(statusForErrorCode(asGatewayError(thrown).code));
    }
  }

  #sendEvent(event: ContainEvent, appliance: string): void {
    const message = { topic: `contain/${event.event}`, payload: { ...event, appliance } };
    this.#node.send([...new Array<null>(this.#port).fill(null), message]);
  }

  /** Updates the status only after a change, so that the outcome of a message stays visible. */
  #reportStatus(contained: number, fault: GatewayError | undefined): void {
    // The status shows the running messages. The next poll reports the number.
    if (!fault && this.#status.isBusy) return;
    const statusKey = fault ? fault.code : String(contained);
    if (statusKey === this.#reportedStatus) return;
    const isFirstReport = this.#reportedStatus === '';
    this.#reportedStatus = statusKey;
    if (fault) {
      this.#node.warn(fault.message);
      this.#status.report(statusForErrorCode(fault.code));
    } else if (!isFirstReport || contained > 0) this.#status.report(statusForContainedUsers(contained));
  }
}

/** Returns the folder that the dialog sets; undefined if the folder depends on the message. */
export function readFolderFixedInDialog(red: NodeAPI, node: Node, fields: unknown): string | undefined {
  const entry = isObject(fields) ? fields['folder'] : undefined;
  if (!isObject(entry) || typeof entry['value'] !== 'string' || entry['value'].trim() === '') return undefined;
  if (entry['type'] === 'str') return entry['value'];
  if (entry['type'] !== 'env') return undefined;
  const value: unknown = red.util.evaluateNodeProperty(entry['value'], 'env', node, {});
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
