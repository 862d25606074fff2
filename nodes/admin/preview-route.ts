import type { NodeAPI } from 'node-red';
import type { Gateway } from '../../src/gateway/gateway';
import { parseInput } from '../../src/model/input';
import type { JsonObject } from '../../src/model/json';
import type { Operation } from '../../src/model/operation';
import { Redactor, redactSecrets } from '../../src/model/redaction';
import { findInputSecrets } from '../../src/model/secrets';
import { createPostRoute } from './admin-route';
import { readDialogOperation } from './dialog-operation';
import { withDialogGateway } from './draft-gateways';
import { findLastMessage } from '../message/last-message';

/** Maximum number of requests and items in a preview. */
const MAX_PREVIEW_ITEMS = 50;

/**
 * `POST /gateway-appliance/preview` returns what a node would send for a message; `…/last` returns the last message it received. Both
 * write nothing.
 */
export const previewRoutes = [
  createPostRoute('/gateway-appliance/preview', (red, body, clientSignal) =>
    withDialogGateway(red, body, (gateway, isDeployedAddress) => createPreview(red, gateway, body, isDeployedAddress, clientSignal)),
  ),
  createPostRoute('/gateway-appliance/last', (_red, body) => Promise.resolve(getLastMessage(body))),
];

/** Returns the last message of a node, with secrets masked as in a plan. */
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
  isDeployedAddress: boolean,
  clientSignal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { operation, name, input } = await readDialogOperation(red, body);
  if (operation.effect === 'read') return { operation: name, reads: true, plan: toMaskedRequest(operation, input), items: [], total: 0 };
  const { envelope, many } = await gateway.run(name, input, { signal: clientSignal, dryRun: true });
  // The operation needs no list, but the user wants to see the sessions.
  const items = name === 'sessions.kill-all' ? await listAllSessions(gateway, clientSignal) : (many?.results.map(({ item }) => item) ?? []);
  const { plan = [], summary } = envelope;
  // A planned body may contain what was read.
  const isPlanOfInput = isDeployedAddress || operation.request !== undefined;
  const shownPlan = plan.slice(0, MAX_PREVIEW_ITEMS).map((request) => (isPlanOfInput ? request : { ...request, body: undefined }));
  const limited = { plan: shownPlan, items: items.slice(0, MAX_PREVIEW_ITEMS), total: items.length };
  return { operation: name, summary, requests: plan.length, ...limited };
}

/** Returns the request of an operation with a single read; undefined for operations with several requests. */
function toMaskedRequest(operation: Operation, input: Readonly<Record<string, unknown>>): unknown[] {
  if (!operation.request) return [];
  const request = operation.request(parseInput(operation, input), '');
  return [new Redactor().with(findInputSecrets(operation.fields, input)).value(request)];
}

async function listAllSessions(gateway: Gateway, signal: AbortSignal): Promise<JsonObject[]> {
  const { data } = await gateway.run('sessions.list', {}, { signal });
  return data.map((session) => Object.fromEntries(['session-id', 'active-user-name', 'source-ip'].map((name) => [name, session[name]])));
}
