import type { NodeAPI } from 'node-red';
import { runOnMany, type ApplianceResult, type InventoryAppliance } from '../../src/inventory';
import { asGatewayError } from '../../src/model/error';
import { isObject, type JsonObject } from '../../src/model/json';
import { unwrapSystemInformation } from '../../src/run/identity';
import { createPostRoute } from './admin-route';
import { readFlowNode } from './draft-config-nodes';
import { parseUrlOrigin } from './draft-settings';
import type { DialogRouteResult } from './draft-gateways';
import { loginAttemptLimit } from './login-attempt-limit';
import { getInventoryById, type InventoryNode } from '../inventory/inventory-node';
import { createDraftInventory } from './draft-inventory';
import { badConfig } from '../common/node-properties';

/** Maximum number of listed entries. The search finds the others. */
const MAX_RESULTS = 100;
const LIST_CONCURRENCY = 6;
const TEST_CONCURRENCY = 1;
/** Time limit of a connection test, long enough for a thousand appliances of which hundreds do not answer. */
const MAX_TEST_MS = 300_000;

/** One row of the result table of a connection test. */
interface TestRow {
  readonly appliance: string;
  readonly ok: boolean;
  readonly code?: string;
  readonly message?: string;
  /** What the appliance reported about itself, if it answered. */
  readonly system?: { host: unknown; release: unknown; serial: unknown };
  /** Name of an earlier row with the same serial number. */
  readonly same?: string;
}

/** The routes of the inventory dialog. They write nothing and read only deployed files. */
export const inventoryRoutes = [
  createPostRoute('/gateway-inventory/list', (_red, body) => toRouteResult(() => listAppliances(body)), LIST_CONCURRENCY),
  createPostRoute(
    '/gateway-inventory/test',
    (red, body, clientSignal) => toRouteResult(() => testAppliances(red, body, clientSignal)),
    TEST_CONCURRENCY,
  ),
];

async function toRouteResult(query: () => Promise<Record<string, unknown>>): Promise<DialogRouteResult> {
  try {
    return { ok: true, ...(await query()) };
  } catch (thrown) {
    const { code, message } = asGatewayError(thrown);
    return { ok: false, code, message };
  }
}

function requireInventory({ id }: Readonly<JsonObject>): InventoryNode {
  const found = typeof id === 'string' ? getInventoryById(id) : undefined;
  if (!found) throw badConfig('The inventory is not deployed or is disabled. Deploy it first.');
  return found;
}

/** Returns names and tags, the appliances that a selection matches, and the current fault of the file. */
async function listAppliances(body: Readonly<JsonObject>): Promise<Record<string, unknown>> {
  const inventory = requireInventory(body);
  await inventory.ready;
  const { appliances, fault } = inventory;
  const tags = new Map<string, number>();
  for (const appliance of appliances) for (const tag of appliance.tags) tags.set(tag, (tags.get(tag) ?? 0) + 1);
  const selected = typeof body.select === 'string' && body.select.trim() !== '' ? await inventory.select(body.select) : appliances;
  const search = typeof body.search === 'string' ? body.search.trim().toLowerCase() : '';
  return {
    total: appliances.length,
    selected: selected.length,
    entries: findMatches(selected, search).map(({ name, url, tags: applianceTags }) => ({
      value: name,
      note: [url, ...applianceTags].join(' '),
    })),
    tags: [...tags].map(([value, count]) => ({ value, count })).slice(0, MAX_RESULTS),
    ...(fault && { fault: fault.message }),
  };
}

/** Returns the first appliances whose name or address contains the text. The search ends at the last one that is listed. */
function findMatches(appliances: readonly InventoryAppliance[], search: string): InventoryAppliance[] {
  if (search === '') return appliances.slice(0, MAX_RESULTS);
  const found: InventoryAppliance[] = [];
  for (const appliance of appliances) {
    if (`${appliance.name}\n${appliance.url}`.toLowerCase().includes(search)) found.push(appliance);
    if (found.length === MAX_RESULTS) break;
  }
  return found;
}

/**
 * Reads the system information of each appliance. Existing API keys are used and rejected logins pause as usual, so the button cannot
 * guess passwords.
 */
async function testAppliances(red: NodeAPI, body: Readonly<JsonObject>, clientSignal: AbortSignal): Promise<Record<string, unknown>> {
  const select = typeof body.select === 'string' && body.select !== '' ? body.select : '*';
  // An id alone means the deployed inventory. With a source it is a draft. A rehearsal uses the copies of the deployed one.
  if (body.source === undefined || isDraftRehearsal(red, body)) {
    const targets = await requireInventory(body).select(select);
    return createTestTable(await queryAppliances(targets, clientSignal));
  }
  loginAttemptLimit.assertAllowed();
  const { inventory, redactor } = await createDraftInventory(red, body);
  try {
    const targets = inventory.select(select);
    const results = await queryAppliances(targets, clientSignal);
    loginAttemptLimit.recordRefusals(countMaxRefusals(targets, results));
    return redactor.value(createTestTable(results));
  } finally {
    inventory.close();
  }
}

/** Whether the draft rehearses. Errors: `BAD_CONFIG` if the folder of the dialog is not deployed. */
function isDraftRehearsal(red: NodeAPI, { id, rehearsal }: Readonly<JsonObject>): boolean {
  const deployed = typeof id === 'string' ? getInventoryById(id) : undefined;
  if (rehearsal === undefined) return deployed?.isRehearsal === true;
  if (typeof rehearsal !== 'string' || rehearsal.trim() === '') return false;
  if (!deployed?.isRehearsal || readFlowNode(red, deployed.id).properties.rehearsal !== rehearsal)
    throw badConfig('The folder of the rehearsal is read only as deployed. Press Done and deploy, then try again.');
  return true;
}

function createTestTable(results: readonly ApplianceResult[]): Record<string, unknown> {
  const rows = toTestRows(results);
  const failed = rows.filter(({ ok, same }) => !ok || same !== undefined);
  return {
    total: rows.length,
    well: rows.filter(({ ok }) => ok).length,
    rows: [...failed, ...rows.filter((row) => !failed.includes(row))].slice(0, 10 * MAX_RESULTS),
  };
}

/** Returns the number of rejected logins at the address with the most. Each address can have another password. */
function countMaxRefusals(targets: readonly InventoryAppliance[], results: readonly ApplianceResult[]): number {
  const counts = new Map<string, number>();
  results.forEach(({ error }, index) => {
    const origin = parseUrlOrigin(targets[index]?.url) ?? '';
    // Some releases answer wrong credentials with 403.
    if (error?.code === 'LOGIN_REJECTED' || error?.code === 'FORBIDDEN') counts.set(origin, (counts.get(origin) ?? 0) + 1);
  });
  return [...counts.values()].reduce((max, count) => Math.max(max, count), 0);
}

/** Tests all appliances. If all failed, the results are in the error. Errors: as for `runOnMany` if nothing was tried. */
async function queryAppliances(targets: readonly InventoryAppliance[], clientSignal: AbortSignal): Promise<ApplianceResult[]> {
  const signal = AbortSignal.any([clientSignal, AbortSignal.timeout(MAX_TEST_MS)]);
  try {
    return (await runOnMany(targets, 'system.info', {}, { signal })).data.results;
  } catch (thrown) {
    const error = asGatewayError(thrown);
    const results = error.cause?.['results'];
    if (!Array.isArray(results)) throw error;
    return results as ApplianceResult[];
  }
}

function toTestRows(results: readonly ApplianceResult[]): TestRow[] {
  const bySerial = new Map<unknown, string>();
  return results.map(({ appliance, ok, data, error, skipped }) => {
    if (!ok) {
      const message = error?.message ?? (skipped ? 'Not tried.' : '');
      // The row already shows the name.
      const ownMessage = message.startsWith(`${appliance}: `) ? message.slice(appliance.length + 2) : message;
      return { appliance, ok, code: error?.code ?? 'ABORTED', message: ownMessage };
    }
    const system = isObject(data) ? unwrapSystemInformation(data) : {};
    const serial = system['serial-number'];
    const same = serial === undefined ? undefined : bySerial.get(serial);
    if (serial !== undefined && same === undefined) bySerial.set(serial, appliance);
    return {
      appliance,
      ok,
      system: { host: system['host-name'], release: system['os-version'], serial },
      ...(same !== undefined && { same }),
    };
  });
}
