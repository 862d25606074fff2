import { randomUUID } from 'node:crypto';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import { mapConcurrently } from '../model/map-concurrently';
import type { JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import type { ContainmentActions } from './containment-actions';
import { isContainmentOver, getSubjectName, type ContainedAccount, type ContainmentRecord } from './containment-record';
import { readContainments, getContainmentStores, type StoredContainment, type ContainmentStore } from './containment-store';

/** Ended at once; more would be as many as there are connections for everything else. */
const CONCURRENCY = 8;

export interface ContainRequest {
  readonly name?: string;
  readonly 'source-ip'?: string;
  readonly servers: readonly string[];
  readonly minutes: number;
  readonly folder?: string | undefined;
  /** Most people at once. */
  readonly max: number;
}

/** What `contain` gives. */
export interface Containment {
  readonly id: string | null;
  readonly name?: string;
  readonly 'source-ip'?: string;
  readonly disabled: readonly string[];
  readonly ended: readonly JsonObject[];
  readonly until: string;
}

/**
 * Keeps somebody out: disables the local accounts that are enabled, ends the sessions, and remembers it, so that what comes later is
 * ended too. Whoever is contained already stays so under the same id, until the later end. What fails once it is written down is
 * tried again by the keeper, and told. Errors: `LIMIT` for more than `max`, `NOT_FOUND` for a server; nothing was done then.
 */
export async function contain(request: ContainRequest, actions: ContainmentActions): Promise<Containment> {
  const store = getContainmentStores(actions.appliance).forFolder(request.folder);
  let fault: GatewayError | undefined;
  const record = await actions.runExclusive(async () => {
    const stored = await prepareRecord(request, actions, store);
    // A plan shows what would be written.
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

/** The record that keeps them out from now on; nothing is written yet. */
async function prepareRecord(request: ContainRequest, actions: ContainmentActions, store: ContainmentStore): Promise<StoredContainment> {
  const subject = pickSubject(request);
  const all = await readContainments(actions.appliance);
  const present = all.find(({ record }) => record.name === subject.name && record['source-ip'] === subject['source-ip']);
  const otherCount = all.filter((stored) => stored !== present && !isContainmentOver(stored.record)).length;
  if (otherCount >= request.max) {
    throw new GatewayError(
      'LIMIT',
      safeMessage`${otherCount} are contained already, and at most ${request.max} may be: nothing was done. Release somebody, or raise max (Most people).`,
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

/** Disables what is to be disabled, each written down as it is done. Gives the first fault, and goes on with the others. */
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

/** Ends the sessions that somebody has now. Gives the first fault, and goes on with the others. */
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

/** Errors: `NOT_FOUND` for an id or a name that is not contained. Others leave it to the keeper to go on. */
export async function release(
  { id, name }: { id?: string | undefined; name?: string | undefined },
  actions: ContainmentActions,
): Promise<{ id: string; enabled: string[]; 'ended-meanwhile': number }> {
  if ((id === undefined) === (name === undefined)) throw badInput('id or name has to be given, and only one of them.');
  return actions.runExclusive(async () => {
    const all = await readContainments(actions.appliance);
    const stored = all.find(({ record }) => (id === undefined ? getSubjectName(record) === name : record.id === id));
    if (!stored) {
      const message = safeMessage`Nobody is contained here under ${JSON.stringify(id ?? name)}. List tells who is; give the folder where they are kept, if this Node-RED has not used it yet.`;
      throw new GatewayError('NOT_FOUND', message, { sent: false });
    }
    const enabled = await endContainment(stored, actions);
    return { id: stored.record.id, enabled, 'ended-meanwhile': stored.record.ended };
  });
}

/** Ends a containment: enables exactly what it has disabled, and forgets it. That it ends is written down first, so that it will. */
export async function endContainment({ record, store }: StoredContainment, actions: ContainmentActions): Promise<string[]> {
  const enabled: string[] = [];
  let latest: ContainmentRecord = { ...record, releasing: true };
  if (!actions.isDryRun && !record.releasing) await store.put(latest);
  for (const { server } of record.accounts) {
    // Somebody else may have enabled or deleted it meanwhile.
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

/** What `list` tells of each. */
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
  const message = safeMessage`${fault} ${getSubjectName(record)} is contained all the same, and what failed is tried again until ${record.until}; release ends that.`;
  const extra = { ...fault.details.extra, id: record.id, until: record.until };
  return new GatewayError(fault.code, message, { ...fault.details, extra });
}
