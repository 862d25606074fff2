import { MAX_APPROVAL_MINUTES, RESERVED_MESSAGE_PROPERTIES } from '../../common/rules';
import { isForManyAppliances } from './many-appliances';
import { findMissingFields } from '../flow-hints';
import { checkField } from '../fields/field-validator';
import { readValueSources } from '../fields/value-types';
import { getAreaName, getFieldsOfAllOperations, findOperation, getOperations } from '../operation-table';
import { isNodeBeingEdited, getDialogValue } from '../dialog-state';
import { isVariableReference, readTextProperty } from '../text';

type Verdict = true | string;

/** Checks the selected appliance, unless each message names one. */
export function checkAppliance(node: RedNode, value: unknown): Verdict {
  if (getDialogValue(node, 'applianceFrom') === 'msg' || isForManyAppliances(node)) return true;
  if (typeof value !== 'string' || value === '' || value === '_ADD_') return node._('check.appliance-missing');
  const appliance = RED.nodes.node(value);
  if (!appliance) return node._('check.appliance-unknown');
  return appliance.valid === false ? node._('check.appliance-invalid') : true;
}

export function checkOperation(node: RedNode, value: unknown): Verdict {
  const type = readTextProperty(getDialogValue(node, 'operationType')) || 'op';
  if (typeof value !== 'string' || value === '') return node._('check.operation-missing');
  if (type === 'op') return Object.hasOwn(getOperations(node), value) ? true : node._('check.operation-unknown', { operation: value });
  return RED.utils.validateTypedProperty(value, type, {});
}

export function checkOutputProperty(node: RedNode, value: unknown): Verdict {
  const property = readTextProperty(value);
  if (property === '' || isVariableReference(property)) return true;
  const first = property.split(/[.[]/, 1)[0] ?? '';
  if (RESERVED_MESSAGE_PROPERTIES.has(first)) return node._('check.output-reserved', { property: first });
  return RED.utils.validateTypedProperty(property, 'msg', {});
}

/** Checks the minutes that a plan waits for approval. The maximum is what a timer supports. */
export function checkApprovalMinutes(node: RedNode, value: unknown): Verdict {
  const text = readTextProperty(value);
  const minutes = Number(text);
  return text === '' || isVariableReference(text) || (minutes > 0 && minutes <= MAX_APPROVAL_MINUTES)
    ? true
    : node._('check.minutes', { most: MAX_APPROVAL_MINUTES });
}

/** Checks the poll interval in seconds. */
export function checkPollInterval(node: RedNode, value: unknown): Verdict {
  const text = readTextProperty(value);
  const seconds = Number(text);
  return text === '' || isVariableReference(text) || (seconds > 0 && seconds <= 86_400) ? true : node._('check.every');
}

/** Returns all field errors of a node whose dialog is closed. In an open dialog, each row shows its own error. */
export function checkFields(node: RedNode, value: unknown): true | string[] {
  if (isNodeBeingEdited(node)) return true;
  const entries = readValueSources(value);
  const fields = findOperation(node, node.operation, node.operationType)?.fields ?? getFieldsOfAllOperations(node);
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

/** Returns whether a credential exists. True until the editor has loaded the credentials. */
function hasCredential(node: RedNode, name: string): boolean {
  if (!node.credentials) return true;
  return Boolean(node.credentials[name]) || node.credentials[`has_${name}`] === true;
}
