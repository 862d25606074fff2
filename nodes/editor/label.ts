import { likelyAppliance, likelyMissing } from './likely';
import { entriesIn } from './sources';
import { setPlaced } from './state';
import { areaNameOf, operationOf, portsOfNode, type FieldInfo } from './table';

const LONGEST = 30;

/** Label in the workspace: its name, else what it does to what; marked where nothing leaves, where something is destroyed, and where something is missing. */
export function label(node: RedNode): string {
  if (node.name) return node.name;
  const area = areaNameOf(node);
  const operation = operationOf(node, node.operation, node.operationType);
  if (!operation) return node._(`${area}.label`);
  const verb = node._(`${area}.operation.${String(node.operation)}.label`);
  const words = ofTarget(node, verb, operation.fields) ?? ofAppliance(node, verb) ?? verb;
  const marks = [
    operation.effect === 'destroy' ? '⚠' : '',
    operation.effect !== 'read' && isDry(node) ? `(${node._('action.dry-run-mark')})` : '',
    operation.effect !== 'read' && node.approval === true ? `(${node._('action.approval-mark')})` : '',
    ofMissing(node, operation.fields),
  ];
  return [words, ...marks].filter(Boolean).join(' ');
}

/** What no message can be expected to bring, in the words that the status has for it when one comes without. */
function ofMissing(node: RedNode, fields: Record<string, FieldInfo>): string {
  // Others are not looked at: this is asked whenever the node is drawn.
  if (node.valid !== false) return '';
  const missing = likelyMissing(node).map((name) => node._(`${areaNameOf(node)}.${fields[name]?.text ?? ''}.label`));
  return missing.length > 0 ? `(${node._('status.needs', { field: missing.join(', ') })})` : '';
}

/** Operations that read better in an order of their own have one in the catalogue. */
function ofTarget(node: RedNode, operation: string, fields: Record<string, FieldInfo>): string | undefined {
  const target = targetOf(node, fields);
  if (target === undefined) return undefined;
  return worded(node, 'title.of', { target }) ?? node._('title.any', { operation, target });
}

/** An appliance is no user: *Disable vpn-1* would be read as what it is not. */
function ofAppliance(node: RedNode, operation: string): string | undefined {
  const target = severalAppliances(node);
  if (target === undefined) return undefined;
  return worded(node, 'title.at', { target }) ?? node._('title.any', { operation, target });
}

/** Of a key that it does not have Node-RED gives the key. */
function worded(node: RedNode, place: string, values: { target: string }): string | undefined {
  const key = `${place}.${areaNameOf(node)}.${String(node.operation)}`;
  const words = node._(key, values);
  return words.endsWith(key) ? undefined : words;
}

/** What stands in the dialog for the thing that the operation is about. */
function targetOf(node: RedNode, fields: Record<string, FieldInfo>): string | undefined {
  const entries = entriesIn(node.fields);
  const order = Object.entries(fields).sort(([, a], [, b]) => Number(b.subject === true) - Number(a.subject === true));
  for (const [name, field] of order) {
    const entry = entries[name];
    const told = entry?.type === 'str' && entry.value !== '' && field.secret !== true && (field.names !== undefined || field.required);
    if (!told) continue;
    const text = field.kind === 'path' ? lastOf(entry.value) : entry.value;
    return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
  }
  return undefined;
}

function lastOf(path: string): string {
  const names = path.split('/').filter(Boolean);
  const last = names.at(-1) ?? path;
  return names.length > 1 ? `…/${last.includes('%') ? decoded(last) : last}` : last;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** With one appliance everybody knows which; with several it tells nodes apart. */
function severalAppliances(node: RedNode): string | undefined {
  if (typeof node.inventory === 'string' && node.inventory !== '') return typeof node.select === 'string' ? node.select : undefined;
  if (typeof node.appliance !== 'string' || node.appliance === '' || node.applianceFrom === 'msg') return undefined;
  let count = 0;
  RED.nodes.eachConfig((config) => {
    if (config.type === 'gateway-appliance') count += 1;
  });
  const appliance = count > 1 ? RED.nodes.node(node.appliance) : null;
  return typeof appliance?.name === 'string' && appliance.name !== '' ? appliance.name : undefined;
}

function isDry(node: RedNode): boolean {
  const appliance = typeof node.appliance === 'string' ? RED.nodes.node(node.appliance) : null;
  return node.dryRun === true || appliance?.dryRun === true;
}

export function outputLabel(node: RedNode, index: number): string {
  return node._(`action.port-${portsOfNode(node)[index] ?? 'failure'}`);
}

export function inputLabel(node: RedNode): string {
  return node._('action.port-message');
}

/** A node that was just placed means the appliance that the tab uses. */
export function addAction(node: RedNode): void {
  node.appliance = likelyAppliance(node) ?? '';
  setPlaced(node);
}
