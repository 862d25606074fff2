import { areas } from '../../src/areas';
import { selectFirstItems, listObjects, type LookupItem, type RunReadOperation } from '../../src/areas/object-lookup';
import { readResourceLinks } from '../../src/areas/links';
import { parseSessionFilter } from '../../src/areas/sessions/session-filter';
import { badInput } from '../../src/model/error';
import type { Gateway } from '../../src/gateway/gateway';
import { isObject, type JsonObject } from '../../src/model/json';
import { redactSecrets } from '../../src/model/redaction';
import { createPostRoute, createScriptRoute } from './admin-route';
import { listInventoryApplianceNames, listNamedAppliances } from '../appliance/appliance-node';
import { withDialogGateway } from './draft-gateways';

/** Maximum number of listed items. The search finds the others. */
const MAX_RESULTS = 100;
/** How long a list is cached, so that one list serves several keystrokes. */
const CACHE_TTL_MS = 15_000;
const MAX_LOOKUP_MS = 30_000;
const CONCURRENCY = 6;
const FIRST_PAGE_RECORDS = 200;

interface CachedLookup {
  readonly entries: Promise<LookupItem[]>;
  readonly expiresAt: number;
}

const lookupsByGateway = new WeakMap<Gateway, Map<string, CachedLookup>>();

/** The routes that dialogs use to look up values. All of them only read. */
export const lookupRoutes = [
  createPostRoute(
    '/gateway-appliance/list',
    (red, body) => withDialogGateway(red, body, (gateway) => searchItems(gateway, body)),
    CONCURRENCY,
  ),
  createPostRoute(
    '/gateway-appliance/read',
    (red, body, clientSignal) =>
      withDialogGateway(red, body, (gateway, isDeployedAddress) => readResource(gateway, body, isDeployedAddress, clientSignal)),
    CONCURRENCY,
  ),
  createPostRoute(
    '/gateway-appliance/count',
    (red, body) => withDialogGateway(red, body, (gateway) => countMatchingSessions(gateway, body)),
    CONCURRENCY,
  ),
  createScriptRoute('panels.js', 'gateway-appliance.write'),
];

/** Returns the matching items of a kind. `unknown` lists the requested values that do not exist. */
async function searchItems(gateway: Gateway, body: Readonly<JsonObject>): Promise<Record<string, unknown>> {
  const fieldValues = isObject(body.given) ? body.given : {};
  const all = LOCAL_LOOKUPS.get(body.kind)?.() ?? (await lookUpItems(gateway, String(body.kind), fieldValues, body));
  const search = typeof body.search === 'string' ? body.search.trim().toLowerCase() : '';
  const found = search === '' ? all : all.filter(({ value, note = '' }) => `${value}\n${note}`.toLowerCase().includes(search));
  const requestedValues = Array.isArray(body.values) ? body.values : [];
  const knownValues = new Set<unknown>(requestedValues.length > 0 ? all.map(({ value }) => value) : []);
  return {
    entries: selectFirstItems(String(body.kind), found, MAX_RESULTS),
    found: found.length,
    total: all.length,
    unknown: requestedValues.filter((value) => !knownValues.has(value)),
  };
}

/** Lists that come from this Node-RED and not from the appliance. */
const LOCAL_LOOKUPS: ReadonlyMap<unknown, () => LookupItem[]> = new Map([
  ['appliance', listApplianceItems],
  ['operation', listWriteOperations],
]);

function listWriteOperations(): LookupItem[] {
  return areas.flatMap(({ name, operations }) =>
    Object.entries(operations).flatMap(([operation, { effect }]) => (effect === 'read' ? [] : [{ value: `${name}.${operation}` }])),
  );
}

function listApplianceItems(): LookupItem[] {
  const configured = listNamedAppliances().map(({ label, properties }) => ({ value: label, note: String(properties.url) }));
  return [...configured, ...listInventoryApplianceNames().map((value) => ({ value }))];
}

function lookUpItems(
  gateway: Gateway,
  kind: string,
  fieldValues: JsonObject,
  { again, first }: Readonly<JsonObject>,
): Promise<LookupItem[]> {
  const cachedLookups = lookupsByGateway.get(gateway) ?? new Map<string, CachedLookup>();
  lookupsByGateway.set(gateway, cachedLookups);
  const key = JSON.stringify([kind, fieldValues]);
  const cached = cachedLookups.get(key);
  if (cached && again !== true && cached.expiresAt > performance.now()) return cached.entries;
  // One page of sessions is there long before all of them.
  if (first === true)
    return listObjects(kind, fieldValues, (operation, input = {}) =>
      runRead(gateway, operation, operation === 'sessions.list' ? { ...input, limit: FIRST_PAGE_RECORDS } : input),
    );
  const entries = listObjects(kind, fieldValues, (operation, input) =>
    operation === 'sessions.list' && again !== true ? readSessions(gateway) : runRead(gateway, operation, input),
  );
  for (const [oldKey, { expiresAt }] of cachedLookups) if (expiresAt <= performance.now()) cachedLookups.delete(oldKey);
  cachedLookups.set(key, { entries, expiresAt: performance.now() + CACHE_TTL_MS });
  // The next request tries again.
  entries.catch(() => cachedLookups.delete(key));
  return entries;
}

/** Loads a list without the signal of the client, because other requests can wait for the same list. */
const runRead = async (gateway: Gateway, ...[operation, input = {}]: Parameters<RunReadOperation>): Promise<unknown> =>
  (await gateway.run(operation, input, { signal: AbortSignal.timeout(MAX_LOOKUP_MS) })).data;

interface CachedSessions {
  readonly records: Promise<unknown>;
  readonly expiresAt: number;
}

const sessionsByGateway = new WeakMap<Gateway, CachedSessions>();

/** Returns all sessions. A filter with several conditions needs them for each list and for the count. */
function readSessions(gateway: Gateway): Promise<unknown> {
  const cached = sessionsByGateway.get(gateway);
  if (cached && cached.expiresAt > performance.now()) return cached.records;
  const records = runRead(gateway, 'sessions.list');
  sessionsByGateway.set(gateway, { records, expiresAt: performance.now() + CACHE_TTL_MS });
  // The next request tries again.
  records.catch(() => sessionsByGateway.delete(gateway));
  return records;
}

/** Returns how many sessions a filter matches at the moment. Errors: those of `parseSessionFilter`. */
async function countMatchingSessions(gateway: Gateway, { filter }: Readonly<JsonObject>): Promise<Record<string, unknown>> {
  if (!isObject(filter)) throw badInput('filter must be an object.');
  const matches = parseSessionFilter(filter);
  const records = await readSessions(gateway);
  const sessions = Array.isArray(records) ? records.filter(isObject) : [];
  return { matching: sessions.filter(matches).length, total: sessions.length };
}

/** Returns the links of a resource to its children, and the masked resource itself only for a deployed address. */
async function readResource(
  gateway: Gateway,
  body: Readonly<JsonObject>,
  isDeployedAddress: boolean,
  clientSignal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { path } = body;
  if (typeof path !== 'string' && !Array.isArray(path)) throw badInput('path must be text or an array.');
  const operation = body.root === 'request' ? 'request.get' : 'config.get';
  const { data, envelope } = await gateway.run(operation as string, { path }, { signal: clientSignal });
  const links = isObject(data) ? readResourceLinks(data) : [];
  return { ...(isDeployedAddress && { resource: redactSecrets(data) }), links, path: envelope.request?.path };
}
