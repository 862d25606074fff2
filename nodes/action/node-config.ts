import type { Node, NodeAPI } from 'node-red';
import type { ApplianceTarget } from '../../src/inventory';
import { asGatewayError, type GatewayError } from '../../src/model/error';
import type { Area } from '../../src/model/operation';
import { getApplianceById, getApplianceByName } from '../appliance/appliance-node';
import { WaitingPlansOfNode } from './approvals';
import { ManyAppliancesRunner } from './many-appliances';
import { readFolderFixedInDialog, NodeContainmentEnforcement } from './containment';
import { OperationSelector } from '../message/operation-selector';
import { OutputProperty } from '../message/output-property';
import { badConfig, NodeProperties } from '../common/node-properties';
import { listOutputPorts } from '../common/rules';
import type { Message } from '../message/typed-value';
import type { StatusReporter } from '../status/node-status';

/** The dialog settings that apply to every message. */
export interface NodeConfig {
  readonly operationSelector: OperationSelector;
  readonly output: OutputProperty;
  readonly dryRun: boolean;
  /** Settings of the approval; undefined if the node needs none. */
  readonly approvals: WaitingPlansOfNode | undefined;
  /** Settings of the enforcement between messages; undefined if the node enforces nothing. */
  readonly enforcement: NodeContainmentEnforcement | undefined;
  /** The appliance node; undefined if the message names the appliance. */
  readonly applianceId: string | undefined;
  /** The selection of many appliances; undefined if the node uses one appliance. */
  readonly manyAppliances: ManyAppliancesRunner | undefined;
}

/** The Node-RED objects that the parser of the node properties uses. */
interface ActionNodeContext {
  readonly red: NodeAPI;
  readonly node: Node<Record<string, unknown>>;
  readonly area: Area;
  readonly status: StatusReporter;
  readonly hasFailureOutput: boolean;
}

type Definition = Readonly<Record<string, unknown>>;

/** Whether failures go to the second output. By default they go to Catch nodes. */
export function hasFailureOutput({ failures }: Definition): boolean {
  return failures === 'output';
}

/** Returns the parsed configuration, or the error that every message of this node gets. */
export function parseNodeConfig(context: ActionNodeContext, definition: Definition): NodeConfig | GatewayError {
  try {
    return readNodeConfig(context, definition);
  } catch (thrown) {
    return asGatewayError(thrown);
  }
}

/** Parses the node properties. Errors: `BAD_CONFIG` if one is invalid. */
function readNodeConfig(context: ActionNodeContext, definition: Definition): NodeConfig {
  const { red, node, area } = context;
  const properties = new NodeProperties(definition);
  properties.choice('failures', ['catch', 'output']);
  const applianceId = properties.text('appliance');
  const isNamedByMessage = properties.choice('applianceFrom', ['', 'msg']) === 'msg';
  const inventory = properties.text('inventory');
  if (applianceId === undefined && !isNamedByMessage && inventory === undefined)
    throw badConfig('No appliance is chosen. Open the node and choose one.', 'no-appliance');
  const manyAppliances = inventory === undefined ? undefined : new ManyAppliancesRunner(red, node, inventory, properties);
  return {
    operationSelector: new OperationSelector(red, node, area, definition),
    // An empty output is valid: the node then sets no data. A missing one means `payload`.
    output: new OutputProperty(red, definition.output === '' ? '' : (properties.text('output') ?? 'payload')),
    dryRun: properties.flag('dryRun'),
    approvals: area.dryRun === false ? undefined : createApprovals(context, properties),
    enforcement: createEnforcement(context, properties, { applianceId, fields: definition.fields, manyAppliances }),
    applianceId,
    manyAppliances,
  };
}

function createApprovals({ node, area, hasFailureOutput }: ActionNodeContext, properties: NodeProperties): WaitingPlansOfNode | undefined {
  if (!properties.flag('approval')) return undefined;
  return new WaitingPlansOfNode(
    node.id,
    properties.number('approvalMinutes'),
    listOutputPorts(hasFailureOutput, true, area.events !== undefined).indexOf('approve'),
  );
}

function createEnforcement(
  { red, node, area, status, hasFailureOutput }: ActionNodeContext,
  properties: NodeProperties,
  { applianceId, fields, manyAppliances }: Pick<NodeConfig, 'applianceId' | 'manyAppliances'> & { readonly fields: unknown },
): NodeContainmentEnforcement | undefined {
  if (!area.events) return undefined;
  const folder = readFolderFixedInDialog(red, node, fields);
  const selectTargets = manyAppliances && (() => manyAppliances.selectFixed());
  return new NodeContainmentEnforcement(red, node, status, {
    properties,
    ...area.events,
    hasFailureOutput,
    applianceId,
    selectTargets,
    folder,
  });
}

/** Whether the configured appliance or inventory rehearses. */
export function isConfiguredRehearsal({ applianceId, manyAppliances }: NodeConfig): boolean {
  if (manyAppliances) return manyAppliances.isRehearsal;
  return applianceId !== undefined && getApplianceById(applianceId)?.isRehearsal === true;
}

/** Whether the node refers to a configuration node that does not exist. */
export function hasMissingReference({ applianceId, manyAppliances }: NodeConfig): boolean {
  if (manyAppliances) return manyAppliances.hasMissingInventory;
  return applianceId !== undefined && !getApplianceById(applianceId);
}

/** Returns the appliance of a message. Errors: `BAD_CONFIG` if the appliance node is missing. */
export function getTargetAppliance({ applianceId }: NodeConfig, message: Message): ApplianceTarget {
  if (applianceId === undefined) return getApplianceByName(message.appliance);
  const appliance = getApplianceById(applianceId);
  if (!appliance)
    throw badConfig('The appliance node that this node refers to is missing or disabled. Open the node and choose one.', 'no-appliance');
  return appliance;
}
