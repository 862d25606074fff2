import type { Node, NodeAPI } from 'node-red';
import { areas } from '../src/areas';
import { badInput } from '../src/model/error';
import type { Gateway } from '../src/gateway';
import { isObject, type JsonObject } from '../src/model/json';
import type { Operation } from '../src/model/operation';
import { MASK } from '../src/model/redaction';
import { ours, sentence } from '../src/model/sentence';
import { adminRoute } from './admin';
import { askAppliance } from './drafts';
import { Operations } from './operations';
import type { Message } from './sources';

/** Of more the number is enough. */
const MOST_SHOWN = 50;
/** What the dialog holds, or the sample; variables, stores and expressions are only known when a message comes. */
const KNOWN = ['str', 'num', 'bool', 'json', 'msg'];

/** `POST /gateway-appliance/preview`: what a node would send for a sample message. It reads, and nothing here can write. */
export function registerPreview(red: NodeAPI): void {
  adminRoute(red, '/gateway-appliance/preview', (body, gone) => askAppliance(red, body, (gateway) => preview(red, gateway, body, gone)));
}

async function preview(red: NodeAPI, gateway: Gateway, body: Readonly<JsonObject>, gone: AbortSignal): Promise<Record<string, unknown>> {
  const area = areas.find(({ name }) => `gateway-${name}` === body.type);
  // A login would be one.
  if (!area || area.name === 'login' || area.events) throw badInput('There is no preview for this node.');
  const definition = { operation: body.operation, operationType: 'op', fields: knownFields(body.fields) };
  const message = (isObject(body.message) ? { ...body.message } : {}) as Message;
  const chosen = await new Operations(red, { credentials: {} } as Node<Record<string, unknown>>, area, definition).choose(message);
  const input = await chosen.fields.read(message);
  refusePlaces(chosen.operation, input);
  if (chosen.operation.effect === 'read') return { reads: true, plan: [], items: [], total: 0 };
  const { envelope, many } = await gateway.run(chosen.name, input, { signal: gone, dryRun: true });
  // It needs no list to end them all; who is asked before it happens wants one.
  const items = chosen.name === 'sessions.kill-all' ? await everySession(gateway, gone) : (many?.results.map(({ item }) => item) ?? []);
  const { plan = [] } = envelope;
  return { summary: envelope.summary, plan: plan.slice(0, MOST_SHOWN), items: items.slice(0, MOST_SHOWN), total: items.length };
}

function knownFields(fields: unknown): JsonObject {
  if (!isObject(fields)) return {};
  return Object.fromEntries(
    Object.entries(fields).map(([name, entry]) => {
      const type = isObject(entry) ? entry.type : undefined;
      if (type === 'cred') return [name, { type: 'str', value: MASK }];
      if (typeof type === 'string' && KNOWN.includes(type)) return [name, entry];
      throw badInput(sentence`${name} is only known when a message comes. Use a dry run of the node to see what it sends.`);
    }),
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
