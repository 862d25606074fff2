import { parseSessionFilter } from '../../../src/areas/sessions/session-filter';
import { isOutOfRange, matchesRule } from '../../../src/model/rules';
import { MAX_APPROVAL_MINUTES, RESERVED_PROPERTIES } from '../../common/rules';
import { isForManyAppliances } from './many-appliances';
import { findMissingFields } from '../flow-hints';
import { readValueSources, getValueTypes, type ValueSource } from '../fields/value-types';
import { getAreaName, getAllFields, findOperation, getOperations, type FieldInfo } from '../operation-table';
import { isBeingEdited, getCurrentValue } from '../dialog-state';
import { isVariable, toPropertyText } from '../text';

type JsonObject = Record<string, unknown>;
type Verdict = true | string;

/** The appliance is chosen here, unless each message names it. */
export function checkAppliance(node: RedNode, value: unknown): Verdict {
  if (getCurrentValue(node, 'applianceFrom') === 'msg' || isForManyAppliances(node)) return true;
  if (typeof value !== 'string' || value === '' || value === '_ADD_') return node._('check.appliance-missing');
  const appliance = RED.nodes.node(value);
  if (!appliance) return node._('check.appliance-unknown');
  return appliance.valid === false ? node._('check.appliance-invalid') : true;
}

export function checkOperation(node: RedNode, value: unknown): Verdict {
  const type = toPropertyText(getCurrentValue(node, 'operationType')) || 'op';
  if (typeof value !== 'string' || value === '') return node._('check.operation-missing');
  if (type === 'op') return Object.hasOwn(getOperations(node), value) ? true : node._('check.operation-unknown', { operation: value });
  return RED.utils.validateTypedProperty(value, type, {});
}

export function checkOutput(node: RedNode, value: unknown): Verdict {
  const property = toPropertyText(value);
  if (property === '' || isVariable(property)) return true;
  const first = property.split(/[.[]/, 1)[0] ?? '';
  if (RESERVED_PROPERTIES.has(first)) return node._('check.output-reserved', { property: first });
  return RED.utils.validateTypedProperty(property, 'msg', {});
}

/** How long a plan waits to be approved; more than a timer can be is none. */
export function checkApprovalMinutes(node: RedNode, value: unknown): Verdict {
  const text = toPropertyText(value);
  const minutes = Number(text);
  return text === '' || isVariable(text) || (minutes > 0 && minutes <= MAX_APPROVAL_MINUTES)
    ? true
    : node._('check.minutes', { most: MAX_APPROVAL_MINUTES });
}

/** How often a node looks by itself. */
export function checkPollInterval(node: RedNode, value: unknown): Verdict {
  const text = toPropertyText(value);
  const seconds = Number(text);
  return text === '' || isVariable(text) || (seconds > 0 && seconds <= 86_400) ? true : node._('check.every');
}

/** All complaints about the fields of a node that is not open; the dialog tells them one by one. */
export function checkFields(node: RedNode, value: unknown): true | string[] {
  if (isBeingEdited(node)) return true;
  const entries = readValueSources(value);
  const fields = findOperation(node, node.operation, node.operationType)?.fields ?? getAllFields(node);
  const complaints = Object.entries(fields).flatMap(([name, field]) => {
    const complaint = checkField(node, field, entries[name], hasCredential(node, name));
    return complaint === undefined ? [] : [`${node._(`${getAreaName(node)}.${field.text}.label`)}: ${complaint}`];
  });
  const missing = findMissingFields(node).map((name) => {
    const label = node._(`${getAreaName(node)}.${fields[name]?.text ?? ''}.label`);
    return `${label}: ${node._('check.nowhere')}`;
  });
  const all = [...missing, ...complaints];
  return all.length === 0 ? true : all;
}

/** Credentials that the editor has not asked for are thought to be there. */
function hasCredential(node: RedNode, name: string): boolean {
  if (!node.credentials) return true;
  return Boolean(node.credentials[name]) || node.credentials[`has_${name}`] === true;
}

/**
 * In words what is wrong with one field, or undefined; without an entry it comes from where its row says, if it may. `credential`: there is
 * something in the credentials store.
 */
export function checkField(node: RedNode, field: FieldInfo, entry: ValueSource | undefined, hasSecret: boolean): string | undefined {
  if (entry) return checkEntry(node, field, entry, hasSecret);
  return field.required && field.guard ? node._('check.needed') : undefined;
}

function checkEntry(node: RedNode, field: FieldInfo, entry: ValueSource, hasSecret: boolean): string | undefined {
  const { type, value } = entry;
  if (!getValueTypes(field).includes(type)) return node._('check.type');
  if (type === 'cred') return hasSecret ? undefined : node._('check.empty');
  if (value === '') return node._('check.empty');
  if (isVariable(value)) return undefined;
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
  return rule === undefined || matchesRule(rule, value) ? undefined : node._(`check.rule-${rule}`);
}

/** What the runtime would say of it. */
function findFilterError(filter: JsonObject): string | undefined {
  try {
    parseSessionFilter(filter);
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

function checkRange(node: RedNode, { range }: FieldInfo, value: number): string | undefined {
  return !isOutOfRange(range, value) ? undefined : node._(`check.${range}`);
}

function checkShape(node: RedNode, field: FieldInfo, value: unknown): string | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (field.kind === 'object' && !isObject) return node._('check.object');
  if (field.editor === 'session-filter') return findFilterError(value as JsonObject);
  if (field.kind === 'list' || field.kind === 'path')
    return Array.isArray(value) || typeof value === 'string' ? undefined : node._('check.array');
  return undefined;
}
