import { listOutputPorts, type OutputPort } from '../common/rules';
import type { AreaInfo, FieldInfo, OperationInfo } from './operation-table-types';

export type { AreaInfo, FieldInfo, OperationInfo };

let areasByName: Record<string, AreaInfo> = {};

export function setOperationTable(table: Record<string, AreaInfo>): void {
  areasByName = table;
}

export function getAreaNames(): string[] {
  return Object.keys(areasByName);
}

/** Whether a node type is one of the table's; the appliance is not. */
export function hasArea(type: string): boolean {
  return type.startsWith('gateway-') && Object.hasOwn(areasByName, type.slice('gateway-'.length));
}

export function getAreaName(node: RedNode): string {
  return node.type.replace(/^gateway-/, '');
}

export function getOperations(node: RedNode): Record<string, OperationInfo> {
  return areasByName[getAreaName(node)]?.operations ?? {};
}

export function hasEvents(node: RedNode): boolean {
  return areasByName[getAreaName(node)]?.events === true;
}

/** Which parts of the form that all share its type has. */
export function getFormParts(type: string): ('events' | 'plans' | 'writes' | 'preview')[] {
  const { events, dryRun, operations = {} } = areasByName[type.slice('gateway-'.length)] ?? {};
  const hasWrites = Object.values(operations).some(({ effect }) => effect !== 'read');
  if (dryRun === false) return events ? ['events'] : [];
  return ['plans', ...(events ? (['events'] as const) : (['preview'] as const)), ...(hasWrites ? (['writes'] as const) : [])];
}

/** The fields of a type that are credentials of the node. */
export function getCredentialFields(type: string): string[] {
  const fields = Object.values(areasByName[type.slice('gateway-'.length)]?.operations ?? {}).flatMap((operation) =>
    Object.entries(operation.fields),
  );
  return [...new Set(fields.filter(([, { secret }]) => secret).map(([name]) => name))];
}

/** Its outputs as it stands in the flow, not in an open dialog. */
export function getNodePorts(node: RedNode): OutputPort[] {
  return listOutputPorts(node.failures === 'output', String(node.approval) === 'true', hasEvents(node));
}

/** Where a choice between operations leads: one of the table's, or whatever a message, a context or an expression names. */
export function findOperation(node: RedNode, operation: unknown, type: unknown): OperationInfo | undefined {
  if (type !== undefined && type !== '' && type !== 'op') return undefined;
  return getOperations(node)[String(operation)];
}

/**
 * Fields of the node when the operation is only known at run time: all of its area. Nothing is required of all of them; a guard keeps
 * its default only where every operation has the same.
 */
export function getAllFields(node: RedNode): Record<string, FieldInfo> {
  const all: Record<string, FieldInfo> = {};
  for (const { fields } of Object.values(getOperations(node))) {
    for (const [name, field] of Object.entries(fields)) all[name] = mergeField(all[name], field);
  }
  return all;
}

function mergeField(first: FieldInfo | undefined, field: FieldInfo): FieldInfo {
  if (!first) return { ...field, required: false, subject: false };
  const { default: byDefault, ...rest } = first;
  const choices = first.choices && field.choices ? { choices: [...new Set([...first.choices, ...field.choices])] } : {};
  return { ...rest, ...choices, ...(byDefault === field.default && { default: byDefault }), kind: mergeKind(first, field) };
}

/** Where operations read the same field differently, the kind that takes every form. */
function mergeKind(first: FieldInfo, field: FieldInfo): FieldInfo['kind'] {
  return first.kind === field.kind ? field.kind : 'records';
}
