import type { Node, NodeAPI } from 'node-red';
import type { Target } from '../src/inventory';
import { asGatewayError, type GatewayError } from '../src/model/error';
import type { Area } from '../src/model/operation';
import { applianceById, applianceNamed } from './appliance';
import { Approver } from './approver';
import { Fleet } from './fleet';
import { fixedFolder, NodeKeeper } from './keeper';
import { Operations } from './operations';
import { Output } from './output';
import { badConfig, Properties } from './properties';
import { portsOf } from './rules';
import type { Message } from './sources';
import type { Status } from './status';

/** What the dialog fixes for every message. */
export interface Setup {
  readonly operations: Operations;
  readonly output: Output;
  readonly dryRun: boolean;
  /** Undefined: nothing has to be approved. */
  readonly approver: Approver | undefined;
  /** Undefined: nothing happens without a message. */
  readonly keeper: NodeKeeper | undefined;
  /** Undefined: the message names it. */
  readonly applianceId: string | undefined;
  /** Undefined: it is one appliance. */
  readonly fleet: Fleet | undefined;
}

/** An action node, as far as its properties are read for it. */
interface Of {
  readonly red: NodeAPI;
  readonly node: Node<Record<string, unknown>>;
  readonly area: Area;
  readonly status: Status;
  readonly failsToOutput: boolean;
}

type Definition = Readonly<Record<string, unknown>>;

/** Whether failures leave by an output; where the dialog does not know, they go to Catch nodes. */
export function failsToOutput({ failures }: Definition): boolean {
  return failures === 'output';
}

/** What is wrong with it is the outcome of every message. */
export function readSetup(of: Of, definition: Definition): Setup | GatewayError {
  try {
    return setupOf(of, definition);
  } catch (thrown) {
    return asGatewayError(thrown);
  }
}

/** Errors: `BAD_CONFIG` for what cannot be of any use. */
function setupOf(of: Of, definition: Definition): Setup {
  const { red, node, area } = of;
  const properties = new Properties(definition);
  properties.choice('failures', ['catch', 'output']);
  const applianceId = properties.text('appliance');
  const byMessage = properties.choice('applianceFrom', ['', 'msg']) === 'msg';
  const inventory = properties.text('inventory');
  if (applianceId === undefined && !byMessage && inventory === undefined)
    throw badConfig('No appliance is chosen. Open the node and choose one.');
  const fleet = inventory === undefined ? undefined : new Fleet(red, node, inventory, properties);
  return {
    operations: new Operations(red, node, area, definition),
    // Empty means something here, absent does not.
    output: new Output(red, definition.output === '' ? '' : (properties.text('output') ?? 'payload')),
    dryRun: properties.flag('dryRun'),
    approver: area.dryRun === false ? undefined : approverOf(of, properties),
    keeper: keeperOf(of, properties, { applianceId, fields: definition.fields, fleet }),
    applianceId,
    fleet,
  };
}

function approverOf({ area, failsToOutput }: Of, properties: Properties): Approver | undefined {
  if (!properties.flag('approval')) return undefined;
  return new Approver(properties.number('approvalMinutes'), portsOf(failsToOutput, true, area.events !== undefined).indexOf('approve'));
}

function keeperOf(
  { red, node, area, status, failsToOutput }: Of,
  properties: Properties,
  { applianceId, fields, fleet }: Pick<Setup, 'applianceId' | 'fleet'> & { readonly fields: unknown },
): NodeKeeper | undefined {
  if (!area.events) return undefined;
  const folder = fixedFolder(red, node, fields);
  const selected = fleet && (() => fleet.fixed());
  return new NodeKeeper(red, node, status, { properties, ...area.events, failsToOutput, applianceId, selected, folder });
}

/** It refers to something that is not there. */
export function isLost({ applianceId, fleet }: Setup): boolean {
  if (fleet) return fleet.isLost;
  return applianceId !== undefined && !applianceById(applianceId);
}

/** Errors: `BAD_CONFIG` where there is none. */
export function applianceOf({ applianceId }: Setup, message: Message): Target {
  if (applianceId === undefined) return applianceNamed(message.appliance);
  const appliance = applianceById(applianceId);
  if (!appliance) throw badConfig('The appliance node that this node refers to is missing or disabled. Open the node and choose one.');
  return appliance;
}
