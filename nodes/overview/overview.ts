import type { NodeAPI } from 'node-red';
import type { Gateway } from '../../src/gateway/gateway';
import { asGatewayError, GatewayError } from '../../src/model/error';
import { isObject, type JsonObject } from '../../src/model/json';
import { listWaitingPlans, type WaitingPlan } from '../action/approvals';
import { listDeployedAppliances } from '../appliance/appliance-node';
import { listInventoryAppliances } from '../inventory/inventory-node';
import {
  getOrCreateApplianceFacts,
  findApplianceFacts,
  toInventoryEntryKey,
  toApplianceNodeKey,
  type ApplianceFacts,
} from './appliance-facts';
import { JournalAndBackupReader } from './local-records';
import { mergeOutcomes, type SidebarOutcome } from './outcomes';

/** Maximum number of appliances in an overview. Those that need attention come first. */
const MAX_APPLIANCES = 200;

/** How the sidebar identifies an appliance: a node, or an entry of an inventory. */
interface ApplianceReference {
  readonly id?: string;
  readonly inventory?: string;
  readonly name?: string;
}

interface ListedAppliance {
  readonly reference: ApplianceReference;
  readonly name: string;
  readonly url: string;
  readonly key: string;
  readonly hasJournal: boolean;
  /** Returns the gateway; undefined for an inventory appliance that was not used yet. Errors: `BAD_CONFIG`. */
  readonly getGateway: () => Gateway | undefined;
}

/** The state of one appliance as far as it is known without contacting it. */
interface ApplianceOverview extends ApplianceReference {
  readonly contact: ApplianceFacts['contact'] | undefined;
  readonly sessions: ApplianceFacts['sessions'] | undefined;
  readonly licenses: ApplianceFacts['licenses'] | undefined;
  readonly backup: ApplianceFacts['backup'] | undefined;
  readonly name: string;
  readonly url: string;
  /** Why it cannot be used. */
  readonly fault?: string;
  readonly journal: boolean;
  readonly contained: readonly JsonObject[];
  readonly waiting: readonly Omit<WaitingPlan, 'decide' | 'applianceId'>[];
  readonly outcomes: readonly SidebarOutcome[];
  /** Local records that could not be read, as sentences. */
  readonly problems: readonly string[];
}

/** Lists what this Node-RED knows about its appliances. It reads local files and contacts no appliance. */
export async function readOverview(red: NodeAPI): Promise<{ appliances: ApplianceOverview[]; total: number }> {
  const all = listAppliances();
  const plans = listWaitingPlans();
  const waitingFor = (appliance: ListedAppliance): WaitingPlan[] => plans.filter((plan) => isPlanOf(plan, appliance));
  const rank = (appliance: ListedAppliance): number => {
    const facts = findApplianceFacts(appliance.key);
    return waitingFor(appliance).length > 0 ? 0 : facts?.contact?.value.code ? 1 : facts ? 2 : 3;
  };
  // A short list keeps its order, so that nothing moves under the pointer.
  const ranked = all.length <= MAX_APPLIANCES ? all : [...all].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_APPLIANCES);
  const appliances = ranked.map((appliance) => readAppliance(red, appliance, waitingFor(appliance).map(toShownPlan)));
  return { appliances: await Promise.all(appliances), total: all.length };
}

/** Finds the gateway of an appliance and the key of its facts. Errors: `BAD_CONFIG` for an unknown appliance. */
export function findAppliance({ id, inventory, name }: Readonly<JsonObject>): { gateway: Gateway; facts: ApplianceFacts } {
  const found = listAppliances().find(({ reference }) =>
    typeof id === 'string'
      ? reference.id === id
      : reference.id === undefined && reference.inventory === inventory && reference.name === name,
  );
  const gateway = found?.reference.id === undefined ? findListedGateway(inventory, name) : found.getGateway();
  if (!found || !gateway) throw new GatewayError('BAD_CONFIG', 'The appliance is not deployed or is disabled. Deploy it first.');
  return { gateway, facts: getOrCreateApplianceFacts(found.key) };
}

function findListedGateway(inventory: unknown, name: unknown): Gateway | undefined {
  return listInventoryAppliances()
    .find((appliance) => appliance.id === inventory && appliance.name === name)
    ?.gateway();
}

function listAppliances(): ListedAppliance[] {
  const nodes = listDeployedAppliances().map((appliance): ListedAppliance => {
    const { id, properties } = appliance;
    const { url, journal } = properties;
    return {
      reference: { id },
      name: appliance.label,
      url: typeof url === 'string' ? url : '',
      key: toApplianceNodeKey(id, url),
      hasJournal: typeof journal === 'string' && journal !== '',
      getGateway: () => appliance.gateway(),
    };
  });
  const listed = listInventoryAppliances().map((appliance): ListedAppliance => {
    const { id: inventory, name, url } = appliance;
    const key = toInventoryEntryKey(name);
    return { reference: { inventory, name }, name, url, key, hasJournal: true, getGateway: () => appliance.existingGateway };
  });
  return [...nodes, ...listed];
}

function isPlanOf({ applianceId, appliance }: WaitingPlan, { reference, name }: ListedAppliance): boolean {
  return applianceId === undefined ? reference.id === undefined && appliance === name : applianceId === reference.id;
}

function toShownPlan({ decide: _decide, applianceId: _id, ...shown }: WaitingPlan): Omit<WaitingPlan, 'decide' | 'applianceId'> {
  return shown;
}

async function readAppliance(
  red: NodeAPI,
  { reference, name, url, key, hasJournal, getGateway }: ListedAppliance,
  waiting: ApplianceOverview['waiting'],
): Promise<ApplianceOverview> {
  const { contact, sessions, licenses, backup } = findApplianceFacts(key) ?? {};
  const known = { ...reference, name, url, contact, sessions, licenses, backup, waiting };
  const empty = { journal: hasJournal, contained: [], outcomes: [], problems: [] };
  let gateway: Gateway | undefined;
  try {
    gateway = getGateway();
  } catch (thrown) {
    return { ...known, ...empty, fault: asGatewayError(thrown).message };
  }
  if (!gateway) return { ...known, ...empty };
  const facts = getOrCreateApplianceFacts(key);
  const records = new JournalAndBackupReader(gateway);
  const [contained, entries, oldBackup] = await Promise.all([
    records.readContained(),
    hasJournal ? records.readJournal(facts) : [],
    facts.backup ? undefined : records.readLastBackup(red, reference.id),
  ]);
  return {
    ...known,
    name: name === '' ? gateway.name : name,
    backup: facts.backup ?? oldBackup,
    journal: hasJournal && !records.hasNoJournal,
    contained,
    outcomes: mergeOutcomes(facts, entries.filter(isObject)),
    problems: records.problems,
  };
}
