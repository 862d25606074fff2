import { operations } from '../../src/areas';
import { readLeaseShares } from '../../src/watch/limit-trackers';
import type { EndedRun } from '../../src/gateway/gateway-options';
import { UNREACHABLE_CODES } from '../../src/model/error-codes';
import { isObject, type JsonObject } from '../../src/model/json';

/** Maximum number of appliances whose facts are kept. The oldest are dropped first. */
const MAX_APPLIANCES = 2000;
const MAX_OUTCOMES = 20;
const NO_ENTRIES: readonly string[] = Object.freeze([]);

/** A value with the time when it was read. */
export interface ValueWithTime<T> {
  readonly at: string;
  readonly value: T;
}

/** The result of a run that may have changed something or made a backup. */
export interface FinishedRunRecord {
  readonly at: string;
  readonly operation: string;
  readonly ok: boolean;
  readonly code: string | null;
  readonly changed: boolean | null;
  readonly summary: string;
  readonly actor: string | null;
  /** The initiating node as the journal records it. */
  readonly node: string | null;
  /** Ids of the journal entries of the run. */
  readonly entries: readonly string[];
}

/** Whether the appliance answered the last run that sent a request. If it did not, `code` is the error. */
export interface LastContact {
  readonly code: string | null;
  readonly message: string | null;
}

export interface LastBackup {
  readonly ok: boolean;
  /** Name of the backup, or the reason why it failed. */
  readonly text: string;
  readonly changed: boolean | null;
}

/** The facts about one appliance that the runs of this process have found. */
export interface ApplianceFacts {
  contact?: ValueWithTime<LastContact>;
  sessions?: ValueWithTime<number>;
  /** Leased licenses in percent by feature, or the reason why they cannot be read. */
  licenses?: ValueWithTime<readonly { readonly name: string; readonly value: number }[] | string>;
  backup?: ValueWithTime<LastBackup>;
  /** The newest first. */
  readonly runs: FinishedRunRecord[];
  /** Ids of journal entries that were undone since the start of Node-RED. */
  readonly undone: Set<string>;
  /** A number that changes after each run that sent a request or failed. */
  version: number;
}

const factsByAppliance = new Map<string, ApplianceFacts>();
let onChanged = (): void => undefined;

/** Returns the key of an appliance node. It contains the address, because another address is another appliance. */
export const toApplianceNodeKey = (id: string, url: unknown): string => JSON.stringify([id, url]);

/** Returns the key of an appliance without a node. */
export const toInventoryEntryKey = (name: string): string => JSON.stringify([name]);

export function findApplianceFacts(key: string): ApplianceFacts | undefined {
  return factsByAppliance.get(key);
}

export function getOrCreateApplianceFacts(key: string): ApplianceFacts {
  let facts = factsByAppliance.get(key);
  if (facts) return facts;
  const [oldest] = factsByAppliance.keys();
  if (factsByAppliance.size >= MAX_APPLIANCES && oldest !== undefined) factsByAppliance.delete(oldest);
  factsByAppliance.set(key, (facts = { runs: [], undone: new Set(), version: 0 }));
  return facts;
}

/** Sets the listener that is called after each change of the facts. */
export function setApplianceFactsListener(listener: () => void): void {
  onChanged = listener;
}

export function notifyApplianceFactsChanged(): void {
  onChanged();
}

/** Records what a run shows about its appliance. Runs of a rehearsal and runs that only read local folders show nothing. */
export function recordRun(key: string, run: EndedRun): void {
  const { operation, envelope } = run;
  const isOutcome = operation === 'backup.run' || (operations.get(operation)?.effect ?? 'read') !== 'read';
  const isContact = envelope.requests > 0 || envelope.logins > 0 || UNREACHABLE_CODES.has(envelope.code ?? 'BAD_INPUT');
  if (envelope.rehearsal || (!isContact && !(isOutcome && !envelope.dryRun))) return;
  const facts = getOrCreateApplianceFacts(key);
  facts.version++;
  if (isContact) recordContact(facts, run);
  if (envelope.ok) recordValues(facts, run);
  if (isOutcome && !envelope.dryRun) recordOutcome(facts, run);
  notifyApplianceFactsChanged();
}

function recordContact(facts: ApplianceFacts, { envelope: { at, code, message } }: EndedRun): void {
  const isUnreachable = code !== undefined && UNREACHABLE_CODES.has(code);
  facts.contact = { at, value: { code: isUnreachable ? code : null, message: isUnreachable ? (message ?? null) : null } };
}

function recordValues(facts: ApplianceFacts, { operation, input, data, envelope }: EndedRun): void {
  const { at, total } = envelope;
  // The total of a search is not that of the appliance.
  if (operation === 'sessions.list' && typeof total === 'number' && (input['name'] ?? '') === '') facts.sessions = { at, value: total };
  if (operation === 'license.lease-info' && isObject(data)) facts.licenses = { at, value: readLeaseShares(data) };
  if (operation === 'backup.run' && isObject(data)) facts.backup = toBackup(at, data);
}

function toBackup(at: string, { backup, changed }: JsonObject): ValueWithTime<LastBackup> {
  return { at, value: { ok: true, text: String(backup), changed: typeof changed === 'boolean' ? changed : null } };
}

function recordOutcome(facts: ApplianceFacts, { operation, envelope, initiator }: EndedRun): void {
  const { at, ok, code = null, changed, summary, message = '', journal } = envelope;
  if (operation === 'backup.run' && !ok) facts.backup = { at, value: { ok, text: message, changed: null } };
  facts.runs.unshift({
    at,
    operation,
    ok,
    code,
    changed,
    summary: ok ? (summary ?? operation) : [summary, message].filter(Boolean).join(' '),
    actor: initiator?.actor ?? null,
    node: initiator?.node ?? null,
    entries: journal === undefined ? NO_ENTRIES : (Array.isArray(journal) ? journal : [journal]).filter((id) => typeof id === 'string'),
  });
  if (facts.runs.length > MAX_OUTCOMES) facts.runs.pop();
}

/** Clears all facts, for tests. */
export function resetApplianceFacts(): void {
  factsByAppliance.clear();
}
