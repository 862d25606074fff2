import type { Node, NodeAPI } from 'node-red';
import { areas } from '../../src/areas';
import { badInput, type GatewayError } from '../../src/model/error';
import { isObject, type JsonObject } from '../../src/model/json';
import type { Area, Operation } from '../../src/model/operation';
import { MASK } from '../../src/model/redaction';
import { trusted, safeMessage } from '../../src/model/safe-message';
import { readFlowNode } from './draft-config-nodes';
import { OperationSelector, type SelectedOperation } from '../message/operation-selector';
import { parseVariableReference } from '../common/rules';
import { findLastMessage, type LastMessage } from '../message/last-message';
import type { Message } from '../message/typed-value';

/** Value types that read nothing from this machine: values of the dialog or of the message. */
const LOCAL_VALUE_TYPES = ['op', 'str', 'num', 'bool', 'json', 'msg'];

/** The operation and the input that a dialog describes, for its sample message. */
interface DialogOperation {
  readonly name: string;
  readonly operation: Operation;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Reads the operation and its input from a dialog. Errors: `BAD_INPUT` if there is no operation or a value needs the deployed node. */
export async function readDialogOperation(red: NodeAPI, body: Readonly<JsonObject>): Promise<DialogOperation> {
  const area = areas.find(({ name }) => `gateway-${name}` === body.type);
  // A preview of a login would log in.
  if (!area || area.name === 'login' || area.events) throw badInput('This node has no preview.');
  const { operation, name, inputReader } = await selectOperation(red, area, body);
  const input = await inputReader.read(readMessage(body));
  rejectLocalPaths(operation, input);
  return { name, operation, input };
}

const readMessage = ({ message }: Readonly<JsonObject>): Message => (isObject(message) ? { ...message } : {}) as Message;

/**
 * Reads the operation and fields of the dialog. Variables, stores and expressions must be deployed, and so must the appliance. Otherwise
 * somebody with access to a dialog could send their values to his own host.
 */
function selectOperation(red: NodeAPI, area: Area, body: Readonly<JsonObject>): Promise<SelectedOperation> | SelectedOperation {
  const { id, operation, operationType, allowDestroy } = body;
  const isDraft = !isObject(body.appliance) || body.appliance.url !== undefined;
  const lastMessage = isDraft ? undefined : findLastMessage(id);
  const flowProperties = lastMessage ? readFlowNode(red, id).properties : {};
  const type = typeof operationType === 'string' && operationType !== '' ? operationType : 'op';
  const isUnchanged = operation === flowProperties.operation && type === flowProperties.operationType;
  if (!(isLocalValue(type, operation) || (lastMessage && isUnchanged))) throw createNotDeployedError('operation');
  const definition = {
    operation: isLocalValue(type, operation) ? operation : lastMessage?.definition.operation,
    operationType: type,
    allowDestroy,
    fields: readDraftFields(body.fields, flowProperties.fields, lastMessage),
  };
  const node = lastMessage?.node ?? ({ credentials: {} } as Node<Record<string, unknown>>);
  return new OperationSelector(red, node, area, definition).select(readMessage(body));
}

function readDraftFields(draftFields: unknown, flowFields: unknown, lastMessage: LastMessage | undefined): JsonObject {
  if (!isObject(draftFields)) return {};
  const deployed = isObject(lastMessage?.definition.fields) ? lastMessage.definition.fields : {};
  return Object.fromEntries(
    Object.entries(draftFields).map(([name, entry]) => {
      const { type, value } = isObject(entry) ? entry : {};
      if (type === 'cred') return [name, { type: 'str', value: MASK }];
      if (isLocalValue(type, value)) return [name, entry];
      const flowField = isObject(flowFields) ? flowFields[name] : undefined;
      if (lastMessage && isObject(flowField) && flowField.type === type && flowField.value === value) return [name, deployed[name]];
      throw createNotDeployedError(name);
    }),
  );
}

function isLocalValue(type: unknown, value: unknown): boolean {
  return LOCAL_VALUE_TYPES.includes(String(type)) && parseVariableReference(value) === undefined;
}

function createNotDeployedError(name: string): GatewayError {
  return badInput(
    safeMessage`${trusted(name)} comes from a variable, a context store or an expression. The dialog reads these only as deployed. Deploy the node and its appliance first.`,
  );
}

/** Rejects fields that open files or other hosts, because permission to edit a dialog does not cover them. */
function rejectLocalPaths({ fields }: Operation, input: Readonly<Record<string, unknown>>): void {
  for (const [name, { kind, guard, secret }] of Object.entries(fields)) {
    const value = input[name];
    if (!guard || secret || value === undefined) continue;
    // A text in a field for records names a file with them.
    if (kind === 'text' || (kind === 'records' && typeof value === 'string'))
      throw badInput(
        safeMessage`${trusted(name)} leads to the Node-RED machine or to another host, which the dialog does not open. Use a dry run of the node, or run it.`,
      );
  }
}
