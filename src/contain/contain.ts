import { randomUUID } from 'node:crypto';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import { mapConcurrently } from '../model/map-concurrently';
import type { JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import { isContainmentOver, getSubjectName, type ContainedAccount, type ContainmentRecord } from './containment-record';
import { readContainments, getContainmentStores, type StoredContainment, type ContainmentStore } from './containment-store';

/** Sessions that are ended at the same time. More would take all connections of the appliance. */
const CONCURRENCY = 8;

/** The actions that a containment performs at an appliance. All of them reject with a `GatewayError`. */
export interface ContainmentActions {
  /** The hash of the appliance. */
  readonly appliance: string;
  /** Nothing is written, here or at the appliance. */
  readonly isDryRun: boolean;
  /** Whether the local account is enabled. Undefined if the server has no such account. Errors: `NOT_FOUND` for the server. */
  isEnabled(server: string, name: string): Promise<boolean | undefined>;
  setEnabled(server: string, name: string, enabled: boolean): Promise<void>;
  /** All sessions, or those of one user. The appliance may compare names loosely. */
  listSessions(name?: string): Promise<JsonObject[]>;
  /** Whether a session has exactly this name, or this address. False for sessions of the account of this package. */
  isSessionOf(session: JsonObject, subject: { readonly name?: string; readonly 'source-ip'?: string }): boolean;
  /** Returns false for a session that had already ended. */
  endSession(session: JsonObject): Promise<boolean>;
  /** The fields of a session for data and events. */
  toReportedSession(session: JsonObject): JsonObject;
  /** Runs `work` while no other run changes containments of this appliance. */
  runExclusive<T>(work: () => Promise<T>): Promise<T>;
}

export interface ContainRequest {
  readonly name?: string;
  readonly 'source-ip'?: string;
  readonly servers: readonly string[];
  readonly minutes: number;
  readonly folder?: string | undefined;
  /** The maximum number of people contained at the same time. */
  readonly max: number;
}

/** The data of `contain`. */
export interface Containment {
  readonly id: string | null;
  readonly name?: string;
  readonly 'source-ip'?: string;
  readonly disabled: readonly string[];
  readonly ended: readonly JsonObject[];
  readonly until: string;
}

/**
 * Contains a person or an address: records it, disables the enabled local accounts and ends the sessions. A containment that exists keeps
 * its id and the later end. A step that fails after the record was written is an error, and the enforcement loop repeats it. Errors before
 * anything is done: `LIMIT` for more than `max`, `NOT_FOUND` for a server.
 */
export async function contain(request: ContainRequest, actions: ContainmentActions): Promise<Containment> {
  const store = getContainmentStores(actions.appliance).forFolder(request.folder);
  let fault: GatewayError | undefined;
  const record = await actions.runExclusive(async () => {
    const stored = await prepareRecord(request, actions, store);
    // A dry run writes nothing, here or at the appliance.
    if (!actions.isDryRun) await stored.store.put(stored.record);
    const accountResult = await disableAccounts(stored, actions);
    fault = accountResult.fault;
    return accountResult.record;
  });
  const sessionResult = await endSessions(record, actions);
  fault ??= sessionResult.fault;
  if (fault) throw stillContainedError(fault, record);
  const disabled = record.accounts.map(({ server }) => server);
  const { id, until } = record;
  return {
    id: actions.isDryRun ? null : id,
    ...pickSubject(record),
    disabled,
    ended: sessionResult.ended.map((session) => actions.toReportedSession(session)),
    until,
  };
}

/** Creates or extends the record. It is not written yet. */
async function prepareRecord(request: ContainRequest, actions: ContainmentActions, store: ContainmentStore): Promise<StoredContainment> {
  const subject = pickSubject(request);
  const all = await readContainments(actions.appliance);
  const present = all.find(({ record }) => record.name === subject.name && record['source-ip'] === subject['source-ip']);
  const otherCount = all.filter((stored) => stored !== present && !isContainmentOver(stored.record)).length;
  if (otherCount >= request.max) {
    throw new GatewayError(
      'LIMIT',
      safeMessage`${otherCount} people are already contained; the maximum is ${request.max}. Nothing was sent. Release a person, or raise max (Max people).`,
      { sent: false },
    );
  }
  const knownAccounts = present?.record.accounts ?? [];
  const newAccounts: ContainedAccount[] = [];
  for (const server of new Set(request.servers)) {
    if (knownAccounts.some((account) => account.server === server)) continue;
    if (await actions.isEnabled(server, getSubjectName(subject))) newAccounts.push({ server, state: 'wanted' });
  }
  const now = new Date();
  const until = new Date(now.getTime() + request.minutes * 60_000);
  const accounts = [...knownAccounts, ...newAccounts];
  if (!present) {
    const { appliance } = actions;
    const record = { id: randomUUID(), appliance, ...subject, accounts, ended: 0, since: now.toISOString(), until: until.toISOString() };
    return { record: { ...record, releasing: false }, store };
  }
  const isLater = isContainmentOver(present.record) || until.getTime() > Date.parse(present.record.until);
  return {
    store: present.store,
    record: { ...present.record, accounts, releasing: false, until: isLater ? until.toISOString() : present.record.until },
  };
}

/** Disables the wanted accounts and records each. Returns the first fault, and continues with the other accounts. */
export async function disableAccounts(
  { record, store }: StoredContainment,
  actions: ContainmentActions,
): Promise<{ record: ContainmentRecord; fault: GatewayError | undefined }> {
  let latest = record;
  let fault: GatewayError | undefined;
  for (const { server, state } of record.accounts) {
    if (state !== 'wanted') continue;
    try {
      await actions.setEnabled(server, getSubjectName(record), false);
      if (actions.isDryRun) continue;
      const accounts = latest.accounts.map((account): ContainedAccount =>
        account.server === server ? { server, state: 'disabled' } : account,
      );
      latest = { ...latest, accounts };
      await store.put(latest);
    } catch (thrown) {
      fault ??= asGatewayError(thrown);
    }
  }
  return { record: latest, fault };
}

/** Ends the present sessions. Returns the first fault, and continues with the other sessions. */
async function endSessions(
  record: ContainmentRecord,
  actions: ContainmentActions,
): Promise<{ ended: JsonObject[]; fault: GatewayError | undefined }> {
  let fault: GatewayError | undefined;
  try {
    const sessions = (await actions.listSessions(record.name)).filter((session) => actions.isSessionOf(session, record));
    const ended = await mapConcurrently(sessions, CONCURRENCY, (session) =>
      actions.endSession(session).catch((thrown: unknown) => {
        fault ??= asGatewayError(thrown);
        return false;
      }),
    );
    return { ended: sessions.filter((_session, index) => ended[index]), fault };
  } catch (thrown) {
    return { ended: [], fault: asGatewayError(thrown) };
  }
}

/** Ends a containment by id or name. Errors: `NOT_FOUND` if it does not exist. After other errors the enforcement loop continues. */
export async function release(
  { id, name }: { id?: string | undefined; name?: string | undefined },
  actions: ContainmentActions,
): Promise<{ id: string; enabled: string[]; 'ended-meanwhile': number }> {
  if ((id === undefined) === (name === undefined)) throw badInput('Enter either id or name (User).');
  return actions.runExclusive(async () => {
    const all = await readContainments(actions.appliance);
    const stored = all.find(({ record }) => (id === undefined ? getSubjectName(record) === name : record.id === id));
    if (!stored) {
      const message = safeMessage`${JSON.stringify(id ?? name)} is not contained at this appliance. Use List to see who is. If this Node-RED has not used the folder yet, enter it in folder.`;
      throw new GatewayError('NOT_FOUND', message, { sent: false });
    }
    const enabled = await endContainment(stored, actions);
    return { id: stored.record.id, enabled, 'ended-meanwhile': stored.record.ended };
  });
}

/** Ends a containment: enables the accounts that it disabled and removes the record. The end is recorded first, so that a restart finishes it. */
export async function endContainment({ record, store }: StoredContainment, actions: ContainmentActions): Promise<string[]> {
  const enabled: string[] = [];
  let latest: ContainmentRecord = { ...record, releasing: true };
  if (!actions.isDryRun && !record.releasing) await store.put(latest);
  for (const { server } of record.accounts) {
    // An administrator may have enabled or deleted the account meanwhile.
    if ((await actions.isEnabled(server, getSubjectName(record))) === false) {
      await actions.setEnabled(server, getSubjectName(record), true);
      enabled.push(server);
    }
    if (actions.isDryRun) continue;
    latest = { ...latest, accounts: latest.accounts.filter((account) => account.server !== server) };
    await store.put(latest);
  }
  if (!actions.isDryRun) await store.remove(record.id);
  return enabled;
}

/** The data of `list`. */
export async function listContained(appliance: string): Promise<JsonObject[]> {
  return (await readContainments(appliance)).map(({ record }) => ({
    id: record.id,
    ...pickSubject(record),
    disabled: record.accounts.map(({ server }) => server),
    since: record.since,
    until: record.until,
    'ended-meanwhile': record.ended,
  }));
}

export function pickSubject({ name, 'source-ip': address }: Pick<ContainmentRecord, 'name' | 'source-ip'>): {
  name?: string;
  'source-ip'?: string;
} {
  return name === undefined ? { ...(address !== undefined && { 'source-ip': address }) } : { name };
}

function stillContainedError(fault: GatewayError, record: ContainmentRecord): GatewayError {
  const message = safeMessage`${fault} ${getSubjectName(record)} stays contained. The failed step is repeated until ${record.until} or until a release.`;
  const extra = { ...fault.details.extra, id: record.id, until: record.until };
  return new GatewayError(fault.code, message, { ...fault.details, extra });
}
