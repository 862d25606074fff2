import { guessAppliance } from './flow-hints';
import { getDialogValue } from './dialog-state';
import { readTextProperty } from './text';

/** The response of an admin route, or the failure that stands for a missing response. */
export type ApiResult = { ok: true; [name: string]: unknown } | { ok: false; code: string; reason?: string; message: string };

export const APPLIANCE_PROPERTIES = [
  ...['name', 'url', 'login', 'realm', 'secondFactor', 'tls', 'proxy'],
  ...['timeout', 'transferTimeout', 'connections', 'vendor', 'brand'],
  ...['pin', 'permissions', 'rate', 'waiting', 'rehearsal'],
];
export const APPLIANCE_CREDENTIALS = ['username', 'password', 'secondUsername', 'secondPassword', 'totpSecret', 'apiKey', 'signingKey'];

/** The appliance of an action node for an admin route: its id, or all its settings if it is not deployed. */
export function toApplianceReference(node: RedNode): Record<string, unknown> | undefined {
  const inventory = getDialogValue(node, 'inventory');
  // The first selected appliance stands for all appliances of an inventory.
  if (typeof inventory === 'string' && RED.nodes.node(inventory)) return { inventory, select: getSelection(node) };
  const applianceId = getDialogValue(node, 'applianceFrom') === 'msg' ? guessAppliance(node) : getDialogValue(node, 'appliance');
  const appliance = typeof applianceId === 'string' ? RED.nodes.node(applianceId) : null;
  if (!appliance) return undefined;
  const nodes = collectDraftNodes(appliance.tls, appliance.proxy);
  if (appliance.changed !== true && Object.keys(nodes).length === 0) return { id: appliance.id };
  return {
    id: appliance.id,
    ...Object.fromEntries(APPLIANCE_PROPERTIES.map((name) => [name, appliance[name] ?? ''])),
    dryRun: appliance.dryRun === true,
    credentials: pickTexts(appliance.credentials, APPLIANCE_CREDENTIALS),
    nodes,
  };
}

/** Collects the TLS and proxy nodes of an appliance that have undeployed changes. */
export function collectDraftNodes(tls: unknown, proxy: unknown): Record<string, object> {
  const found = Object.entries({ tls, proxy }).flatMap(([name, id]): [string, object][] => {
    const node = typeof id === 'string' ? RED.nodes.node(id) : null;
    const { defaults = {}, credentials = {} } = (node && RED.nodes.getType(node.type)) ?? {};
    if (!node || node.changed !== true) return [];
    const properties = Object.keys(defaults).map((property) => [property, node[property]]);
    const secrets = pickTexts(node.credentials, Object.keys(credentials));
    return [[name, { ...Object.fromEntries(properties), id: node.id, credentials: secrets } as object]];
  });
  return Object.fromEntries(found);
}

/** Collects the credentials that were changed. Node-RED adds the others for the address that they were deployed for. */
function pickTexts(credentials: Record<string, unknown> = {}, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (typeof credentials[name] === 'string' ? [[name, credentials[name]]] : [])));
}

/** Returns the selection of appliances: all of them if a message selects, because the editor does not know which. */
function getSelection(node: RedNode): unknown {
  return ['', 'str'].includes(readTextProperty(getDialogValue(node, 'selectType'))) ? getDialogValue(node, 'select') : '*';
}

/** Calls an admin route below gateway-appliance/. The promise never rejects: a failure is a result too. */
export function postToAppliance(node: RedNode, route: string, body: Record<string, unknown>): Promise<ApiResult> {
  return postJson(node, `gateway-appliance/${route}`, body);
}

export function postJson(node: RedNode, url: string, body: Record<string, unknown>): Promise<ApiResult> {
  return new Promise((resolve) => {
    $.ajax({
      url,
      method: 'POST',
      contentType: 'application/json',
      data: JSON.stringify(body),
      dataType: 'json',
    })
      .done((result: ApiResult) => resolve(result))
      .fail((request) => resolve(toFailure(node, request)));
  });
}

function toFailure(node: RedNode, { status, responseJSON }: JQuery.jqXHR): ApiResult {
  const body = responseJSON as { message?: unknown } | undefined;
  if (status === 429 && typeof body?.message === 'string') return { ok: false, code: 'LIMIT', message: body.message };
  if (status === 401 || status === 403) return { ok: false, code: 'DENIED', message: node._('test.denied-help') };
  return { ok: false, code: 'UNREACHABLE', message: node._('test.unreachable-help') };
}

/** Network error codes that have a heading of their own. */
const CONNECTION_REASONS = ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ECONNRESET'];
const KNOWN_CODES = [
  ...['BAD_CONFIG', 'LOGIN_REJECTED', 'LOGIN_PAUSED', 'SECOND_FACTOR_REQUIRED', 'UNAUTHORIZED'],
  ...['FORBIDDEN', 'NOT_FOUND', 'BAD_RESPONSE', 'TIMEOUT', 'CONNECTION', 'TLS'],
];

/** Returns a short heading for an error. The message next to it has the details. */
export function getErrorHeading(node: RedNode, { code, reason }: { code: string; reason?: string }): string {
  if (code === 'DENIED') return node._('test.denied');
  if (code === 'UNREACHABLE') return node._('test.unreachable');
  if (reason !== undefined && CONNECTION_REASONS.includes(reason)) return node._(`test.reason.${reason}`);
  return node._(KNOWN_CODES.includes(code) ? `test.code.${code}` : 'test.code.other');
}

/** Heading for other errors of tools that read from the appliance. */
const FAILED_KEYS = { list: 'list.failed', tree: 'tree.failed', preview: 'preview.failed', try: 'try.failed' } as const;
type FieldToolName = keyof typeof FAILED_KEYS;

/** Returns the heading for an error of a tool. `object` is what the tool reads, as the dialog names it. */
export function getFieldToolErrorHeading(
  node: RedNode,
  error: { code: string; reason?: string },
  tool: FieldToolName,
  object = '',
): string {
  switch (error.code) {
    case 'NOT_FOUND':
      return node._('list.not-there');
    case 'FORBIDDEN':
      return object === '' ? node._('list.forbidden-any') : node._('list.forbidden', { object });
    case 'DENIED':
    case 'UNREACHABLE':
    case 'LOGIN_REJECTED':
    case 'LOGIN_PAUSED':
    case 'SECOND_FACTOR_REQUIRED':
    case 'UNAUTHORIZED':
    case 'TIMEOUT':
    case 'CONNECTION':
    case 'TLS':
      return getErrorHeading(node, error);
    default:
      return node._(FAILED_KEYS[tool]);
  }
}
