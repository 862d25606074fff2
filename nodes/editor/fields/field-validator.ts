import { parseSessionFilter } from '../../../src/areas/sessions/session-filter';
import { isNumberOutOfRange, matchesTextFormat } from '../../../src/model/rules';
import type { FieldInfo } from '../operation-table';
import { isVariableReference } from '../text';
import { getValueTypes, type ValueSource } from './value-types';

type JsonObject = Record<string, unknown>;

/** Returns the error of one field; undefined if there is none. A field without an entry uses its default source. */
export function checkField(node: RedNode, field: FieldInfo, entry: ValueSource | undefined, hasSecret: boolean): string | undefined {
  if (entry) return checkEntry(node, field, entry, hasSecret);
  return field.required && field.guard ? node._('check.needed') : undefined;
}

function checkEntry(node: RedNode, field: FieldInfo, entry: ValueSource, hasSecret: boolean): string | undefined {
  const { type, value } = entry;
  if (!getValueTypes(field).includes(type)) return node._('check.type');
  if (type === 'cred') return hasSecret ? undefined : node._('check.empty');
  if (value === '') return node._('check.empty');
  if (isVariableReference(value)) return undefined;
  if (type === 'str') return checkChoice(node, field, value) ?? checkRule(node, field, value);
  if (type === 'bool' || type === 'env') return undefined;
  const verdict = RED.utils.validateTypedProperty(value, type, {});
  if (verdict !== true) return verdict;
  if (type === 'num') return checkRange(node, field, Number(value));
  return type === 'json' ? checkShape(node, field, JSON.parse(value)) : undefined;
}

function checkChoice(node: RedNode, field: FieldInfo, value: string): string | undefined {
  if (!field.choices || field.choices.includes(value)) return undefined;
  return node._('check.choice', { choices: field.choices.join(', ') });
}

function checkRule(node: RedNode, { rule }: FieldInfo, value: string): string | undefined {
  return rule === undefined || matchesTextFormat(rule, value) ? undefined : node._(`check.rule-${rule}`);
}

/** Returns the error message of the runtime for this filter. */
function findFilterError(filter: JsonObject): string | undefined {
  try {
    parseSessionFilter(filter);
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

function checkRange(node: RedNode, { range }: FieldInfo, value: number): string | undefined {
  return !isNumberOutOfRange(range, value) ? undefined : node._(`check.${range}`);
}

function checkShape(node: RedNode, field: FieldInfo, value: unknown): string | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (field.kind === 'object' && !isObject) return node._('check.object');
  if (field.editor === 'session-filter') return findFilterError(value as JsonObject);
  if (field.kind === 'list' || field.kind === 'path')
    return Array.isArray(value) || typeof value === 'string' ? undefined : node._('check.array');
  return undefined;
}
