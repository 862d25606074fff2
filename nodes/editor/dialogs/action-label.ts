import { guessAppliance, findMissingFields } from '../flow-hints';
import { readValueSources } from '../fields/value-types';
import { readTextProperty } from '../text';
import { markNodeAsJustPlaced } from '../dialog-state';
import { getAreaName, findOperation, getNodePorts, type FieldInfo } from '../operation-table';

const MAX_TARGET_LENGTH = 30;

/** Returns the label in the workspace: the name, or else the operation and its target. Marks are badges (node-marks.ts). */
export function getActionLabel(node: RedNode): string {
  if (node.name) return node.name;
  const area = getAreaName(node);
  const operation = findOperation(node, node.operation, node.operationType);
  if (!operation) return node._(`${area}.label`);
  const verb = node._(`${area}.operation.${String(node.operation)}.label`);
  return targetTitle(node, verb, operation.fields) ?? applianceTitle(node, verb) ?? verb;
}

/** Returns what a user must see on the canvas: destructive, rehearsal, dry run, needs approval, or missing fields. */
export function findNodeMarks(node: RedNode): string[] {
  const operation = findOperation(node, node.operation, node.operationType);
  if (!operation) return [];
  return [
    operation.effect === 'destroy' ? `⚠ ${node._('action.destroys-mark')}` : '',
    isRehearsal(node) ? node._('action.rehearsal-mark') : '',
    operation.effect !== 'read' && isDryRun(node) ? node._('action.dry-run-mark') : '',
    operation.effect !== 'read' && node.approval === true ? node._('action.approval-mark') : '',
    missingFieldsMark(node, operation.fields),
  ].filter(Boolean);
}

/** Names the missing required fields with the text of the node status. */
function missingFieldsMark(node: RedNode, fields: Record<string, FieldInfo>): string {
  // Skips valid nodes, because Node-RED calls this on every redraw.
  if (node.valid !== false) return '';
  const missing = findMissingFields(node).map((name) => node._(`${getAreaName(node)}.${fields[name]?.text ?? ''}.label`));
  return missing.length > 0 ? node._('status.needs', { field: missing.join(', ') }) : '';
}

/** Joins operation and target in the word order of the catalog, if it has one. */
function targetTitle(node: RedNode, operation: string, fields: Record<string, FieldInfo>): string | undefined {
  const target = findTarget(node, fields);
  if (target === undefined) return undefined;
  return findTitle(node, 'title.of', { target }) ?? node._('title.any', { operation, target });
}

/** Returns the title of an operation whose target is an appliance and not a user: "Disable vpn-1" would be misleading. */
function applianceTitle(node: RedNode, operation: string): string | undefined {
  const target = findApplianceName(node);
  if (target === undefined) return undefined;
  return findTitle(node, 'title.at', { target }) ?? node._('title.any', { operation, target });
}

/** Returns a text of the catalog, or undefined, because Node-RED returns the key if there is no text. */
function findTitle(node: RedNode, prefix: string, values: { target: string }): string | undefined {
  const key = `${prefix}.${getAreaName(node)}.${String(node.operation)}`;
  const title = node._(key, values);
  return title.endsWith(key) ? undefined : title;
}

/** Finds the literal value that names the target of the operation. */
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
  return names.length > 1 ? `…/${last.includes('%') ? decodePathSegment(last) : last}` : last;
}

function decodePathSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Returns the appliance name only if the flows have several appliances. */
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

/** Whether the node rehearses. The inventory decides if the node has one. */
function isRehearsal({ inventory, appliance }: RedNode): boolean {
  const id = typeof inventory === 'string' && inventory !== '' ? inventory : appliance;
  const rehearsal = typeof id === 'string' ? RED.nodes.node(id)?.rehearsal : undefined;
  return typeof rehearsal === 'string' && rehearsal.trim() !== '';
}

function isDryRun(node: RedNode): boolean {
  const appliance = typeof node.appliance === 'string' ? RED.nodes.node(node.appliance) : null;
  return node.dryRun === true || appliance?.dryRun === true;
}

export function getActionOutputLabel(node: RedNode, index: number): string {
  return node._(`action.port-${getNodePorts(node)[index] ?? 'failure'}`);
}

export function getActionInputLabel(node: RedNode): string {
  return node._('action.port-message');
}

/** Gives a new node the appliance that its tab uses most. A pasted node, for which Node-RED calls this too, keeps its appliance. */
export function presetApplianceOfNewNode(node: RedNode): void {
  if (readTextProperty(node.appliance) + readTextProperty(node.inventory) !== '' || node.applianceFrom === 'msg') return;
  node.appliance = guessAppliance(node) ?? '';
  markNodeAsJustPlaced(node);
}
