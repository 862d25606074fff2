import { SESSION_FILTER_FIELDS } from '../../../src/areas/sessions/session-filter';
import type { FieldInfo } from '../operation-table-types';

export type FilterLookupKind = NonNullable<FieldInfo['names']>;

export type FilterOperator = 'is' | 'begins' | 'like' | 'any' | 'network' | 'older';

/** One row of the filter builder. */
export interface FilterCondition {
  field: string;
  operator: FilterOperator;
  value: string;
}

export const SESSION_AGE_FIELD = 'older-than';
const ADDRESSES = ['source-ip', 'network-connect-ip', 'network-connect-ipv6'];

/** Common fields come first. */
const COMMON_FIELDS = [
  ...['active-user-name', 'authentication-realm', 'source-ip', 'user-roles'],
  ...['older-than', 'agent-type', 'login-node', 'device-id'],
];
export const FILTER_FIELDS = [...COMMON_FIELDS, ...SESSION_FILTER_FIELDS.filter((name) => !COMMON_FIELDS.includes(name))];

/** The lists of the value picker that the appliance has for a field. For other fields it lists the values of the sessions. */
const LOOKUP_KINDS: Readonly<Record<string, FilterLookupKind>> = {
  'active-user-name': 'session-user',
  'authentication-realm': 'user-realm',
  'primary-auth-server-name': 'auth-server',
  'secondary-auth-server-name': 'auth-server',
  'user-roles': 'user-role',
  'session-id': 'session',
};

/** Returns the kind of list that the value picker shows for a field. */
export function getLookupKind(field: string): FilterLookupKind | undefined {
  return field === SESSION_AGE_FIELD ? undefined : (LOOKUP_KINDS[field] ?? 'session-value');
}

/** Returns whether the list has every possible value, so that another one does not exist. */
export function isCompleteList({ field, operator }: FilterCondition): boolean {
  const kind = getLookupKind(field);
  return (operator === 'is' || operator === 'any') && kind !== undefined && !kind.startsWith('session');
}

export function getFilterOperators(field: string): readonly FilterOperator[] {
  if (field === SESSION_AGE_FIELD) return ['older'];
  return ADDRESSES.includes(field) ? ['is', 'any', 'network', 'like'] : ['is', 'begins', 'any', 'like'];
}

export function createFilterCondition(field: string): FilterCondition {
  return { field, operator: getFilterOperators(field)[0] ?? 'is', value: '' };
}

/** Returns the conditions of a filter object, or undefined if the builder cannot show them. */
export function parseFilterConditions(filter: unknown): FilterCondition[] | undefined {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) return undefined;
  const conditions = Object.entries(filter).map(([field, value]) => parseCondition(field, value));
  return conditions.every((one) => one !== undefined) ? conditions : undefined;
}

function parseCondition(field: string, rawValue: unknown): FilterCondition | undefined {
  if (!SESSION_FILTER_FIELDS.includes(field)) return undefined;
  if (Array.isArray(rawValue)) {
    const texts = (rawValue as unknown[]).filter((one) => typeof one === 'string' && !/[,*/]/.test(one));
    return texts.length === rawValue.length ? { field, operator: 'any', value: texts.join(', ') } : undefined;
  }
  if (typeof rawValue !== 'string' && typeof rawValue !== 'number') return undefined;
  const value = String(rawValue);
  if (field === SESSION_AGE_FIELD) return { field, operator: 'older', value };
  if (ADDRESSES.includes(field) && value.includes('/')) return { field, operator: 'network', value };
  if (!value.includes('*')) return { field, operator: 'is', value };
  if (!ADDRESSES.includes(field) && /^[^*]+\*$/.test(value)) return { field, operator: 'begins', value: value.slice(0, -1) };
  return { field, operator: 'like', value };
}

/** Returns the texts of a list with commas. */
export function splitTextList(text: string): string[] {
  return text.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]));
}

/** Returns the filter object of all complete conditions. */
export function toSessionFilter(conditions: readonly FilterCondition[]): Record<string, unknown> {
  return Object.fromEntries(
    conditions
      .filter(({ value }) => value.trim() !== '')
      .map(({ field, operator, value }): [string, string | string[]] => {
        if (operator === 'any') return [field, splitTextList(value)];
        return [field, operator === 'begins' ? `${value.trim()}*` : value.trim()];
      }),
  );
}
