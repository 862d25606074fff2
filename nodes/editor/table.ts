import { portsOf, type Port } from '../rules';
import type { AreaInfo, FieldInfo, OperationInfo } from './table-info';

export type { AreaInfo, FieldInfo, OperationInfo };

let areas: Record<string, AreaInfo> = {};

export function use(table: Record<string, AreaInfo>): void {
  areas = table;
}

export function areaNames(): string[] {
  return Object.keys(areas);
}

/** Whether a node type is one of the table's; the appliance is not. */
export function hasArea(type: string): boolean {
  return type.startsWith('gateway-') && Object.hasOwn(areas, type.slice('gateway-'.length));
}

export function areaNameOf(node: RedNode): string {
  return node.type.replace(/^gateway-/, '');
}

export function operationsOf(node: RedNode): Record<string, OperationInfo> {
  return areas[areaNameOf(node)]?.operations ?? {};
}

export function hasEvents(node: RedNode): boolean {
  return areas[areaNameOf(node)]?.events === true;
}

/** Which parts of the form that all share its type has. */
export function partsOf(type: string): ('events' | 'plans' | 'writes' | 'preview')[] {
  const { events, dryRun, operations = {} } = areas[type.slice('gateway-'.length)] ?? {};
  const writes = Object.values(operations).some(({ effect }) => effect !== 'read');
  if (dryRun === false) return events ? ['events'] : [];
  return ['plans', ...(events ? (['events'] as const) : (['preview'] as const)), ...(writes ? (['writes'] as const) : [])];
}

/** The fields of a type that are credentials of the node. */
export function secretsOf(type: string): string[] {
  const fields = Object.values(areas[type.slice('gateway-'.length)]?.operations ?? {}).flatMap((one) => Object.entries(one.fields));
  return [...new Set(fields.filter(([, { secret }]) => secret).map(([name]) => name))];
}

/** Its outputs as it stands in the flow, not in an open dialog. */
export function portsOfNode(node: RedNode): Port[] {
  return portsOf(node.failures === 'output', String(node.approval) === 'true', hasEvents(node));
}

/** Where a choice between operations leads: one of the table's, or whatever a message, a context or an expression names. */
export function operationOf(node: RedNode, operation: unknown, type: unknown): OperationInfo | undefined {
  if (type !== undefined && type !== '' && type !== 'op') return undefined;
  return operationsOf(node)[String(operation)];
}

/**
 * Fields of the node when the operation is only known at run time: all of its area. Nothing is required of all of them; a guard keeps
 * its default only where every operation has the same.
 */
export function everyField(node: RedNode): Record<string, FieldInfo> {
  const all: Record<string, FieldInfo> = {};
  for (const { fields } of Object.values(operationsOf(node))) {
    for (const [name, field] of Object.entries(fields)) all[name] = merged(all[name], field);
  }
  return all;
}

function merged(first: FieldInfo | undefined, field: FieldInfo): FieldInfo {
  if (!first) return { ...field, required: false, subject: false };
  const { default: byDefault, ...rest } = first;
  const choices = first.choices && field.choices ? { choices: [...new Set([...first.choices, ...field.choices])] } : {};
  return { ...rest, ...choices, ...(byDefault === field.default && { default: byDefault }), kind: kindOf(first, field) };
}

/** Where operations read the same field differently, the kind that takes every form. */
function kindOf(first: FieldInfo, field: FieldInfo): FieldInfo['kind'] {
  return first.kind === field.kind ? field.kind : 'records';
}
