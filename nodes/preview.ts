import type { Node, NodeAPI } from 'node-red';
import { areas } from '../src/areas';
import { badInput, type GatewayError } from '../src/model/error';
import type { Gateway } from '../src/gateway';
import { readInput } from '../src/model/input';
import { isObject, type JsonObject } from '../src/model/json';
import type { Area, Operation } from '../src/model/operation';
import { MASK, Redactor, withoutSecrets } from '../src/model/redaction';
import { secretsOfInput } from '../src/model/secrets';
import { ours, sentence } from '../src/model/sentence';
import { adminRoute } from './admin';
import { textsOf } from './draft-nodes';
import { askAppliance } from './drafts';
import { Operations, type Chosen } from './operations';
import { variableOf } from './rules';
import { seenBy, type Seen } from './seen';
import type { Message } from './sources';

/** Of more the number is enough. */
const MOST_SHOWN = 50;
/** What the dialog holds, or the message; variables, stores and expressions are this machine's. */
const KNOWN = ['op', 'str', 'num', 'bool', 'json', 'msg'];

/**
 * `POST /gateway-appliance/preview`: what a node would send for a message; `…/last`: the last one that came to it. It reads, and
 * nothing here can write.
 */
export function registerPreview(red: NodeAPI): void {
  adminRoute(red, '/gateway-appliance/preview', (body, gone) => askAppliance(red, body, (gateway) => preview(red, gateway, body, gone)));
  adminRoute(red, '/gateway-appliance/last', (body) => Promise.resolve(lastOf(body)));
}

/** Secrets masked, as everywhere: in a plan they are not shown either. */
function lastOf({ id }: Readonly<JsonObject>): Record<string, unknown> {
  const last = seenBy(id)?.last();
  if (!last) return { ok: true };
  const { at, message } = last;
  return { ok: true, at, message: withoutSecrets(message) };
}

async function preview(red: NodeAPI, gateway: Gateway, body: Readonly<JsonObject>, gone: AbortSignal): Promise<Record<string, unknown>> {
  const area = areas.find(({ name }) => `gateway-${name}` === body.type);
  // A login would be one.
  if (!area || area.name === 'login' || area.events) throw badInput('There is no preview for this node.');
  const chosen = await chooseFor(red, area, body);
  const input = await chosen.fields.read(messageOf(body));
  refusePlaces(chosen.operation, input);
  const { operation, name } = chosen;
  if (operation.effect === 'read') return { operation: name, reads: true, plan: requestOf(operation, input), items: [], total: 0 };
  const { envelope, many } = await gateway.run(name, input, { signal: gone, dryRun: true });
  // It needs no list to end them all; who is asked before it happens wants one.
  const items = name === 'sessions.kill-all' ? await everySession(gateway, gone) : (many?.results.map(({ item }) => item) ?? []);
  const { plan = [], summary } = envelope;
  const shown = { plan: plan.slice(0, MOST_SHOWN), items: items.slice(0, MOST_SHOWN), total: items.length };
  return { operation: name, summary, ...shown };
}

const messageOf = ({ message }: Readonly<JsonObject>): Message => (isObject(message) ? { ...message } : {}) as Message;

/** Of several operations at once: one that reads in several exchanges is not told request by request. */
function requestOf(operation: Operation, input: Readonly<Record<string, unknown>>): unknown[] {
  if (!operation.request) return [];
  const request = operation.request(readInput(operation, input), '');
  return [new Redactor().with(secretsOfInput(operation.fields, input)).value(request)];
}

/**
 * The operation and its fields as the dialog holds them. What comes from a variable, a store or an expression is only read as it is
 * deployed, for an appliance that is: else who may open a dialog could have it sent to a host of his own.
 */
function chooseFor(red: NodeAPI, area: Area, body: Readonly<JsonObject>): Promise<Chosen> | Chosen {
  const { id, operation, operationType, allowDestroy } = body;
  const isDraft = !isObject(body.appliance) || body.appliance.url !== undefined;
  const seen = isDraft ? undefined : seenBy(id);
  const texts = seen ? textsOf(red, id).properties : {};
  const type = typeof operationType === 'string' && operationType !== '' ? operationType : 'op';
  const same = operation === texts.operation && type === texts.operationType;
  if (!(isKnown(type, operation) || (seen && same))) throw notHere('operation');
  const definition = {
    operation: isKnown(type, operation) ? operation : seen?.definition.operation,
    operationType: type,
    allowDestroy,
    fields: fieldsOf(body.fields, texts.fields, seen),
  };
  const node = seen?.node ?? ({ credentials: {} } as Node<Record<string, unknown>>);
  return new Operations(red, node, area, definition).choose(messageOf(body));
}

function fieldsOf(given: unknown, texts: unknown, seen: Seen | undefined): JsonObject {
  if (!isObject(given)) return {};
  const deployed = isObject(seen?.definition.fields) ? seen.definition.fields : {};
  return Object.fromEntries(
    Object.entries(given).map(([name, entry]) => {
      const { type, value } = isObject(entry) ? entry : {};
      if (type === 'cred') return [name, { type: 'str', value: MASK }];
      if (isKnown(type, value)) return [name, entry];
      const before = isObject(texts) ? texts[name] : undefined;
      if (seen && isObject(before) && before.type === type && before.value === value) return [name, deployed[name]];
      throw notHere(name);
    }),
  );
}

function isKnown(type: unknown, value: unknown): boolean {
  return KNOWN.includes(String(type)) && variableOf(value) === undefined;
}

function notHere(name: string): GatewayError {
  return badInput(
    sentence`${ours(name)} comes from a variable, a context store or an expression. A preview reads such only as they are deployed: deploy node and appliance first.`,
  );
}

/** Who may look at an appliance may not thereby open files of this machine. */
function refusePlaces({ fields }: Operation, input: Readonly<Record<string, unknown>>): void {
  for (const [name, { kind, guard }] of Object.entries(fields)) {
    if (guard && kind === 'text' && input[name] !== undefined)
      throw badInput(
        sentence`${ours(name)} is a place on the machine of Node-RED, which a preview does not open. Use a dry run of the node.`,
      );
  }
}

async function everySession(gateway: Gateway, signal: AbortSignal): Promise<JsonObject[]> {
  const { data } = await gateway.run('sessions.list', {}, { signal });
  return data.map((session) => Object.fromEntries(['session-id', 'active-user-name', 'source-ip'].map((name) => [name, session[name]])));
}
