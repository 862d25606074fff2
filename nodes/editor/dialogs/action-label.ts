import { guessAppliance, findMissingFields } from '../flow-hints';
import { readValueSources } from '../fields/value-types';
import { markJustPlaced } from '../dialog-state';
import { getAreaName, findOperation, getNodePorts, type FieldInfo } from '../operation-table';

const MAX_TARGET_LENGTH = 30;

/** Label in the workspace: its name, else what it does to what; marked where nothing leaves, where something is destroyed, and where something is missing. */
export function actionLabel(node: RedNode): string {
  if (node.name) return node.name;
  const area = getAreaName(node);
  const operation = findOperation(node, node.operation, node.operationType);
  if (!operation) return node._(`${area}.label`);
  const verb = node._(`${area}.operation.${String(node.operation)}.label`);
  const title = targetTitle(node, verb, operation.fields) ?? applianceTitle(node, verb) ?? verb;
  const marks = [
    operation.effect === 'destroy' ? '⚠' : '',
    operation.effect !== 'read' && isDryRun(node) ? `(${node._('action.dry-run-mark')})` : '',
    operation.effect !== 'read' && node.approval === true ? `(${node._('action.approval-mark')})` : '',
    missingFieldsMark(node, operation.fields),
  ];
  return [title, ...marks].filter(Boolean).join(' ');
}

/** What no message can be expected to bring, in the words that the status has for it when one comes without. */
function missingFieldsMark(node: RedNode, fields: Record<string, FieldInfo>): string {
  // Others are not looked at: this is asked whenever the node is drawn.
  if (node.valid !== false) return '';
  const missing = findMissingFields(node).map((name) => node._(`${getAreaName(node)}.${fields[name]?.text ?? ''}.label`));
  return missing.length > 0 ? `(${node._('status.needs', { field: missing.join(', ') })})` : '';
}

/** Operations that read better in an order of their own have one in the catalogue. */
function targetTitle(node: RedNode, operation: string, fields: Record<string, FieldInfo>): string | undefined {
  const target = findTarget(node, fields);
  if (target === undefined) return undefined;
  return findTitle(node, 'title.of', { target }) ?? node._('title.any', { operation, target });
}

/** An appliance is no user: *Disable vpn-1* would be read as what it is not. */
function applianceTitle(node: RedNode, operation: string): string | undefined {
  const target = findApplianceName(node);
  if (target === undefined) return undefined;
  return findTitle(node, 'title.at', { target }) ?? node._('title.any', { operation, target });
}

/** Of a key that it does not have Node-RED gives the key. */
function findTitle(node: RedNode, prefix: string, values: { target: string }): string | undefined {
  const key = `${prefix}.${getAreaName(node)}.${String(node.operation)}`;
  const title = node._(key, values);
  return title.endsWith(key) ? undefined : title;
}

/** What stands in the dialog for the thing that the operation is about. */
function findTarget(node: RedNode, fields: Record<string, FieldInfo>): string | undefined {
  const entries = readValueSources(node.fields);
  const order = Object.entries(fields).sort(([, a], [, b]) => Number(b.subject === true) - Number(a.subject === true));
  for (const [name, field] of order) {
    const entry = entries[name];
    const isTarget = entry?.type === 'str' && entry.value !== '' && field.secret !== true && (field.names !== undefined || field.required);
    if (!isTarget) continue;
    const text = field.kind === 'path' ? shortenPath(entry.value) : entry.value;
    return text.length > MAX_TARGET_LENGTH ? `${text.slice(0, MAX_TARGET_LENGTH - 1)}…` : text;
  }
  return undefined;
}

function shortenPath(path: string): string {
  const names = path.split('/').filter(Boolean);
  const last = names.at(-1) ?? path;
  return names.length > 1 ? `…/${last.includes('%') ? decodeSegment(last) : last}` : last;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** With one appliance everybody knows which; with several it tells nodes apart. */
function findApplianceName(node: RedNode): string | undefined {
  if (typeof node.inventory === 'string' && node.inventory !== '') return typeof node.select === 'string' ? node.select : undefined;
  if (typeof node.appliance !== 'string' || node.appliance === '' || node.applianceFrom === 'msg') return undefined;
  let count = 0;
  RED.nodes.eachConfig((config) => {
    if (config.type === 'gateway-appliance') count += 1;
  });
  const appliance = count > 1 ? RED.nodes.node(node.appliance) : null;
  return typeof appliance?.name === 'string' && appliance.name !== '' ? appliance.name : undefined;
}

function isDryRun(node: RedNode): boolean {
  const appliance = typeof node.appliance === 'string' ? RED.nodes.node(node.appliance) : null;
  return node.dryRun === true || appliance?.dryRun === true;
}

export function outputLabel(node: RedNode, index: number): string {
  return node._(`action.port-${getNodePorts(node)[index] ?? 'failure'}`);
}

export function inputLabel(node: RedNode): string {
  return node._('action.port-message');
}

/** A node that was just placed means the appliance that the tab uses. */
export function presetAppliance(node: RedNode): void {
  node.appliance = guessAppliance(node) ?? '';
  markJustPlaced(node);
}
