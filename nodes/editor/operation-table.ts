import { listOutputPorts, type OutputPortName } from '../common/rules';
import type { AreaInfo, FieldInfo, OperationInfo } from './operation-table-types';

export type { AreaInfo, FieldInfo, OperationInfo };

let areasByName: Record<string, AreaInfo> = {};

/** Restores the kind `text` and the usual text keys, which the build omits. */
export function setOperationTable(table: Record<string, AreaInfo>): void {
  areasByName = table;
  for (const { operations } of Object.values(table))
    for (const { fields } of Object.values(operations))
      for (const [name, field] of Object.entries(fields))
        fields[name] = { ...field, kind: field.kind ?? 'text', text: field.text ?? `field.${name}` };
}

export function getAreaNames(): string[] {
  return Object.keys(areasByName);
}

/** Returns whether a node type has an operation table. Configuration nodes have none. */
export function hasArea(type: string): boolean {
  return type.startsWith('gateway-') && Object.hasOwn(areasByName, type.slice('gateway-'.length));
}

export function getAreaName(node: RedNode): string {
  return node.type.replace(/^gateway-/, '');
}

export function getOperations(node: RedNode): Record<string, OperationInfo> {
  return areasByName[getAreaName(node)]?.operations ?? {};
}

export function hasEventOutput(node: RedNode): boolean {
  return areasByName[getAreaName(node)]?.events === true;
}

/** Returns the optional parts of the shared form for a type. */
export function getSharedFormParts(type: string): ('events' | 'plans' | 'writes' | 'preview')[] {
  const { events, dryRun, operations = {} } = areasByName[type.slice('gateway-'.length)] ?? {};
  const hasWrites = Object.values(operations).some(({ effect }) => effect !== 'read');
  if (dryRun === false) return events ? ['events'] : [];
  return ['plans', ...(events ? (['events'] as const) : (['preview'] as const)), ...(hasWrites ? (['writes'] as const) : [])];
}

/** Returns the secret fields of a type. */
export function getCredentialFields(type: string): string[] {
  const fields = Object.values(areasByName[type.slice('gateway-'.length)]?.operations ?? {}).flatMap((operation) =>
    Object.entries(operation.fields),
  );
  return [...new Set(fields.filter(([, { secret }]) => secret).map(([name]) => name))];
}

/** Returns the outputs of the stored node, not of its open dialog. */
export function getNodePorts(node: RedNode): OutputPortName[] {
  return listOutputPorts(node.failures === 'output', String(node.approval) === 'true', hasEventOutput(node));
}

/** Returns the selected operation, or undefined if a message, a context, or an expression names it. */
export function findOperation(node: RedNode, operation: unknown, type: unknown): OperationInfo | undefined {
  if (type !== undefined && type !== '' && type !== 'op') return undefined;
  return getOperations(node)[String(operation)];
}

/**
 * Returns all fields of the area, for an operation that only a message knows. None is required, and a default must be the same everywhere.
 */
export function getFieldsOfAllOperations(node: RedNode): Record<string, FieldInfo> {
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

/** Returns the kind of a field; the most general one if operations use different kinds. */
function mergeKind(first: FieldInfo, field: FieldInfo): FieldInfo['kind'] {
  return first.kind === field.kind ? field.kind : 'records';
}
