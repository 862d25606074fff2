import type { Node, NodeAPI } from 'node-red';
import { areas } from '../../src/areas';
import { badInput, type GatewayError } from '../../src/model/error';
import type { Gateway } from '../../src/gateway';
import { parseInput } from '../../src/model/input';
import { isObject, type JsonObject } from '../../src/model/json';
import type { Area, Operation } from '../../src/model/operation';
import { MASK, Redactor, redactSecrets } from '../../src/model/redaction';
import { findInputSecrets } from '../../src/model/secrets';
import { trusted, safeMessage } from '../../src/model/safe-message';
import { registerAdminRoute } from './admin-route';
import { readFlowNode } from './draft-config-nodes';
import { withDialogGateway } from './draft-gateways';
import { OperationSelector, type SelectedOperation } from '../message/operation-selector';
import { parseEnvReference } from '../common/rules';
import { findLastMessage, type LastMessage } from '../message/last-message';
import type { Message } from '../message/typed-value';

/** The preview shows at most this many requests and items. */
const MAX_PREVIEW_ITEMS = 50;
/** Value types that need nothing from this machine: values of the dialog or of the message. */
const LOCAL_VALUE_TYPES = ['op', 'str', 'num', 'bool', 'json', 'msg'];

/**
 * `POST /gateway-appliance/preview` returns what a node would send for a message; `…/last` returns the last message it received. Both
 * write nothing.
 */
export function registerPreviewRoutes(red: NodeAPI): void {
  registerAdminRoute(red, '/gateway-appliance/preview', (body, clientSignal) =>
    withDialogGateway(red, body, (gateway) => createPreview(red, gateway, body, clientSignal)),
  );
  registerAdminRoute(red, '/gateway-appliance/last', (body) => Promise.resolve(getLastMessage(body)));
}

/** Masks secrets as a plan does. */
function getLastMessage({ id }: Readonly<JsonObject>): Record<string, unknown> {
  const received = findLastMessage(id)?.read();
  if (!received) return { ok: true };
  const { at, message } = received;
  return { ok: true, at, message: redactSecrets(message) };
}

async function createPreview(
  red: NodeAPI,
  gateway: Gateway,
  body: Readonly<JsonObject>,
  clientSignal: AbortSignal,
): Promise<Record<string, unknown>> {
  const area = areas.find(({ name }) => `gateway-${name}` === body.type);
  // A preview of a login would log in.
  if (!area || area.name === 'login' || area.events) throw badInput('This node has no preview.');
  const selectedOperation = await selectOperation(red, area, body);
  const input = await selectedOperation.inputReader.read(readMessage(body));
  rejectLocalPaths(selectedOperation.operation, input);
  const { operation, name } = selectedOperation;
  if (operation.effect === 'read') return { operation: name, reads: true, plan: toMaskedRequest(operation, input), items: [], total: 0 };
  const { envelope, many } = await gateway.run(name, input, { signal: clientSignal, dryRun: true });
  // The operation needs no list, but the user wants to see the sessions.
  const items = name === 'sessions.kill-all' ? await listAllSessions(gateway, clientSignal) : (many?.results.map(({ item }) => item) ?? []);
  const { plan = [], summary } = envelope;
  const limited = { plan: plan.slice(0, MAX_PREVIEW_ITEMS), items: items.slice(0, MAX_PREVIEW_ITEMS), total: items.length };
  return { operation: name, summary, requests: plan.length, ...limited };
}

const readMessage = ({ message }: Readonly<JsonObject>): Message => (isObject(message) ? { ...message } : {}) as Message;

/** Returns the request of a single read. An operation with several requests shows none. */
function toMaskedRequest(operation: Operation, input: Readonly<Record<string, unknown>>): unknown[] {
  if (!operation.request) return [];
  const request = operation.request(parseInput(operation, input), '');
  return [new Redactor().with(findInputSecrets(operation.fields, input)).value(request)];
}

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
  return LOCAL_VALUE_TYPES.includes(String(type)) && parseEnvReference(value) === undefined;
}

function createNotDeployedError(name: string): GatewayError {
  return badInput(
    safeMessage`${trusted(name)} comes from a variable, a context store or an expression. A preview reads these only as deployed. Deploy the node and its appliance first.`,
  );
}

/** Permission to see an appliance must not open files on this machine. */
function rejectLocalPaths({ fields }: Operation, input: Readonly<Record<string, unknown>>): void {
  for (const [name, { kind, guard }] of Object.entries(fields)) {
    if (guard && kind === 'text' && input[name] !== undefined)
      throw badInput(
        safeMessage`${trusted(name)} is a path on the Node-RED machine, which a preview does not open. Use a dry run of the node.`,
      );
  }
}

async function listAllSessions(gateway: Gateway, signal: AbortSignal): Promise<JsonObject[]> {
  const { data } = await gateway.run('sessions.list', {}, { signal });
  return data.map((session) => Object.fromEntries(['session-id', 'active-user-name', 'source-ip'].map((name) => [name, session[name]])));
}
