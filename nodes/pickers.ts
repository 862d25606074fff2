import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeAPI } from 'node-red';
import { areas } from '../src/areas';
import { firstOf, listThings, type Entry, type Read } from '../src/areas/catalogue';
import { links } from '../src/areas/links';
import { badInput } from '../src/model/error';
import type { Gateway } from '../src/gateway';
import { isObject, type JsonObject } from '../src/model/json';
import { withoutSecrets } from '../src/model/redaction';
import { adminRoute } from './admin';
import { listedNames, namedAppliances } from './appliance';
import { askAppliance } from './drafts';

/** More are never shown at once: the search finds the others. */
const MOST_SHOWN = 100;
/** While somebody types, the list need not be fetched for each letter. */
const FRESH_MS = 15_000;
const LONGEST_MS = 30_000;
const AT_ONCE = 6;

interface Listed {
  readonly entries: Promise<Entry[]>;
  readonly until: number;
}

const listed = new WeakMap<Gateway, Map<string, Listed>>();

/** What the dialogs ask of an appliance while somebody fills them in. All of it reads; nothing here can write. */
export function registerPickers(red: NodeAPI): void {
  adminRoute(red, '/gateway-appliance/list', (body) => askAppliance(red, body, (gateway) => list(gateway, body)), AT_ONCE);
  adminRoute(red, '/gateway-appliance/read', (body, gone) => askAppliance(red, body, (gateway) => read(gateway, body, gone)), AT_ONCE);
  let script: string | undefined;
  red.httpAdmin.get('/gateway-appliance/late.js', red.auth.needsPermission('gateway-appliance.write'), (_request, response) => {
    script ??= readFileSync(join(__dirname, 'late.js'), 'utf8');
    response.type('application/javascript').set('Cache-Control', 'no-cache').send(script);
  });
}

/** What there is of a kind, as far as it fits the search. `known`: whether the value that the field has now is among all of it. */
async function list(gateway: Gateway, body: Readonly<JsonObject>): Promise<Record<string, unknown>> {
  const given = isObject(body.given) ? body.given : {};
  const all = OF_NODE_RED.get(body.kind)?.() ?? (await fresh(gateway, String(body.kind), given, body.again === true));
  const search = typeof body.search === 'string' ? body.search.trim().toLowerCase() : '';
  const found = search === '' ? all : all.filter(({ value, note = '' }) => `${value}\n${note}`.toLowerCase().includes(search));
  const wanted = Array.isArray(body.values) ? body.values : [];
  const names = new Set<unknown>(wanted.length > 0 ? all.map(({ value }) => value) : []);
  return {
    entries: firstOf(String(body.kind), found, MOST_SHOWN),
    found: found.length,
    total: all.length,
    unknown: wanted.filter((value) => !names.has(value)),
  };
}

/** What is of this Node-RED, not of the appliance. */
const OF_NODE_RED: ReadonlyMap<unknown, () => Entry[]> = new Map([
  ['appliance', appliances],
  ['operation', writingOperations],
]);

function writingOperations(): Entry[] {
  return areas.flatMap(({ name, operations }) =>
    Object.entries(operations).flatMap(([operation, { effect }]) => (effect === 'read' ? [] : [{ value: `${name}.${operation}` }])),
  );
}

function appliances(): Entry[] {
  const own = namedAppliances().map(({ label, properties }) => ({ value: label, note: String(properties.url) }));
  return [...own, ...listedNames().map((value) => ({ value }))];
}

function fresh(gateway: Gateway, kind: string, given: JsonObject, again: boolean): Promise<Entry[]> {
  const lists = listed.get(gateway) ?? new Map<string, Listed>();
  listed.set(gateway, lists);
  const name = JSON.stringify([kind, given]);
  const there = lists.get(name);
  if (there && !again && there.until > performance.now()) return there.entries;
  // Others may wait for the same list when the one who asked first has gone.
  const late = AbortSignal.timeout(LONGEST_MS);
  const run: Read = async (operation, input = {}) => (await gateway.run(operation, input, { signal: late })).data;
  const entries = listThings(kind, given, run);
  for (const [old, { until }] of lists) if (until <= performance.now()) lists.delete(old);
  lists.set(name, { entries, until: performance.now() + FRESH_MS });
  // The next one asks anew; who waits for this one hears of the fault.
  entries.catch(() => lists.delete(name));
  return entries;
}

/** One resource, its secrets masked, and what is below it. */
async function read(gateway: Gateway, body: Readonly<JsonObject>, gone: AbortSignal): Promise<Record<string, unknown>> {
  const { path } = body;
  if (typeof path !== 'string' && !Array.isArray(path)) throw badInput('path has to be text or an array.');
  const operation = body.root === 'request' ? 'request.get' : 'config.get';
  const { data, envelope } = await gateway.run(operation as string, { path }, { signal: gone });
  const resource = withoutSecrets(data);
  return { resource, links: isObject(data) ? links(data) : [], path: envelope.request?.path };
}
