import type { FieldInfo } from '../operation-table';

/** A field value as stored in the flow file (contract, section 3). */
export interface ValueSource {
  type: string;
  value: string;
}

/** The property `fields` of a node: one entry for each field without the default source. */
export type ValueSources = Record<string, ValueSource>;

/** Reads the stored value sources. An imported flow can hold anything, so any value is accepted. */
export function readValueSources(value: unknown): ValueSources {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ValueSources) : {};
}

/** The type of a field without an entry. This type is never stored. */
export const DEFAULT_VALUE_TYPE = 'default';

const LITERAL_TYPES: Record<FieldInfo['kind'], readonly string[]> = {
  text: ['str'],
  number: ['num'],
  amount: ['num', 'str'],
  boolean: ['bool'],
  choice: ['str'],
  object: ['json'],
  list: ['str', 'json'],
  path: ['str', 'json'],
  records: ['str', 'json'],
  names: ['str', 'json'],
  data: ['str'],
  content: ['str', 'json'],
};
const DYNAMIC_TYPES = ['msg', 'flow', 'global', 'env', 'jsonata'];

/** Returns the types that a field accepts, in menu order. A secret is never a plain text. */
export function getValueTypes(field: FieldInfo): string[] {
  return [...(field.secret ? ['cred'] : LITERAL_TYPES[field.kind]), ...DYNAMIC_TYPES];
}

/** Describes where a field gets its value by default, as the runtime does it (contract, "Where a field's value comes from"). */
export function describeDefaultSource(node: RedNode, name: string, field: FieldInfo, isWholePayload: boolean): string {
  const property = `msg.payload.${name}`;
  if (field.guard) {
    if (field.default !== undefined) return node._('source.fixed', { value: formatValue(field.default) });
    if (field.required) return node._('source.here');
    return node._(field.kind === 'number' ? 'source.no-limit' : 'source.not-set');
  }
  if (field.subject && (field.kind !== 'object' || isWholePayload))
    return node._(field.required ? 'source.subject' : 'source.subject-optional', { property });
  if (field.required) return node._('source.required', { property });
  if (field.default !== undefined) return node._('source.else', { property, value: formatValue(field.default) });
  return node._('source.optional', { property });
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
