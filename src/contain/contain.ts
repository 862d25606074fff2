import { randomUUID } from 'node:crypto';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { mapConcurrently } from '../model/map-concurrently';
import { readText, type JsonObject } from '../model/json';
import type { RecordSigner } from '../model/record-signer';
import { safeMessage, trusted } from '../model/safe-message';
import { isPastContainmentEnd, forgetContainmentEnd, recordContainmentEnd } from './containment-end';
import { createNameMatcher, findSimilarNames, NAME_MATCH_MODES, type NameMatchMode } from '../model/user-names';
import { getSubjectName, type ContainedAccount, type ContainmentRecord } from './containment-record';
import { readContainments, getContainmentStores, type StoredContainment, type ContainmentStore } from './containment-store';

/** Sessions that are ended at the same time. More would use all connections of the appliance. */
const CONCURRENCY = 8;

/** The actions that a containment performs at an appliance. All of them reject with a `GatewayError`. */
export interface ContainmentActions {
  /** The hash that identifies the appliance. */
  readonly appliance: string;
  /** Signs the records in folders. */
  readonly signer?: RecordSigner | undefined;
  /** True for a dry run: nothing is written, here or at the appliance. */
  readonly isDryRun: boolean;
  /** Whether the local account is enabled. Undefined if the server has no such account. Errors: `NOT_FOUND` for the server. */
  isEnabled(server: string, name: string): Promise<boolean | undefined>;
  setEnabled(server: string, name: string, enabled: boolean): Promise<void>;
  /** Lists all sessions, or those of one user. The appliance may compare names loosely. */
  listSessions(name?: string): Promise<JsonObject[]>;
  /** Lists sessions that can belong to a person or address. Reports similar names if nobody has the name. */
  listSessionsOf(subject: ContainedSubject): Promise<JsonObject[]>;
  /** Whether a session has this name or address. False for sessions of the own account. */
  isSessionOf(session: JsonObject, subject: ContainedSubject): boolean;
  /** Ends a session. Returns false if it had already ended. */
  endSession(session: JsonObject): Promise<boolean>;
  /** The fields of a session that data and events contain. */
  toReportedSession(session: JsonObject): JsonObject;
  /** Runs `work` while no other run changes containments of this appliance. */
  runExclusive<T>(work: () => Promise<T>): Promise<T>;
}

/** A contained person or address. */
type ContainedSubject = Pick<ContainmentRecord, 'name' | 'match' | 'source-ip'>;

interface ContainRequest extends ContainedSubject {
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
export async function containUsers(request: ContainRequest, actions: ContainmentActions): Promise<Containment> {
  const store = getContainmentStores(actions.appliance).forFolder(request.folder, actions.signer);
  let fault: GatewayError | undefined;
  const record = await actions.runExclusive(async () => {
    const { stored, enabledServers, isLater } = await prepareRecord(request, actions, store);
    // A dry run writes nothing, here or at the appliance.
    if (!actions.isDryRun) {
      await stored.store.put(stored.record);
      if (isLater) recordContainmentEnd(stored.record);
    }
    const accountResult = await disableAccounts(stored, actions, enabledServers);
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
    ...readContainedSubject(record),
    disabled,
    ended: sessionResult.ended.map((session) => actions.toReportedSession(session)),
    until,
  };
}

interface PreparedRecord {
  readonly stored: StoredContainment;
  /** Servers on which the account is enabled. */
  readonly enabledServers: ReadonlySet<string>;
  /** Whether the record has a new end. */
  readonly isLater: boolean;
}

/** Creates or extends the record without writing it. */
async function prepareRecord(request: ContainRequest, actions: ContainmentActions, store: ContainmentStore): Promise<PreparedRecord> {
  const subject = readContainedSubject(request);
  const all = await readContainments(actions.appliance);
  const present = all.find(({ record }) => record.name === subject.name && record['source-ip'] === subject['source-ip']);
  const otherCount = all.filter((stored) => stored !== present && !isPastContainmentEnd(stored.record)).length;
  if (otherCount >= request.max) {
    throw new GatewayError(
      'LIMIT',
      safeMessage`${otherCount} people are already contained; the maximum is ${request.max}. Nothing was sent. Release a person, or raise max (Max people).`,
      { sent: false },
    );
  }
  await assertMaxPeople(request, otherCount, actions);
  const accounts = new Map(present?.record.accounts.map((account) => [account.server, account]));
  const enabledServers = new Set<string>();
  // Known accounts are checked too, because an administrator may have enabled one since.
  for (const server of new Set([...accounts.keys(), ...request.servers])) {
    if (!(await actions.isEnabled(server, getSubjectName(subject)))) continue;
    enabledServers.add(server);
    accounts.set(server, { server, state: 'wanted' });
  }
  const now = new Date();
  const until = new Date(now.getTime() + request.minutes * 60_000);
  const record: ContainmentRecord = {
    ...{ id: randomUUID(), appliance: actions.appliance, ...subject, ended: 0, since: now.toISOString(), until: until.toISOString() },
    ...present?.record,
    ...{ accounts: [...accounts.values()], releasing: false },
    ...toMatch(request.match, present?.record.match),
  };
  const isLater = !present || isPastContainmentEnd(present.record) || until.getTime() > Date.parse(present.record.until);
  return {
    stored: { record: isLater ? { ...record, until: until.toISOString() } : record, store: present?.store ?? store },
    enabledServers,
    isLater,
  };
}

/** An address or a loose name can stand for many people. Errors: `LIMIT` if more than `max` would be contained now. */
async function assertMaxPeople(request: ContainRequest, otherCount: number, actions: ContainmentActions): Promise<void> {
  const { name, match, max } = request;
  if (name !== undefined && (match ?? 'exact') === 'exact') return;
  const subject: ContainedSubject = { ...readContainedSubject(request), ...(match && { match }) };
  const sessions = (await actions.listSessionsOf(subject)).filter((session) => actions.isSessionOf(session, subject));
  const people = new Set(sessions.map((session) => readText(session['active-user-name']).trim().toLowerCase()));
  if (otherCount + people.size <= max) return;
  throw new GatewayError(
    'LIMIT',
    safeMessage`${people.size} people have sessions of ${getSubjectName(subject)}, and ${otherCount} others are contained; the maximum is ${max}. Nothing was sent. Contain single people, or raise max (Max people).`,
    { sent: false },
  );
}

/** Returns the wider of two name comparisons: a second containment must not let anybody in. */
function toMatch(first: NameMatchMode = 'exact', second: NameMatchMode = 'exact'): { match?: NameMatchMode } {
  const match = NAME_MATCH_MODES.indexOf(first) > NAME_MATCH_MODES.indexOf(second) ? first : second;
  return match === 'exact' ? {} : { match };
}

/** Errors after which the account is certainly still enabled. */
const REFUSAL_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'REJECTED',
  'FORBIDDEN',
  'UNAUTHORIZED',
  'BAD_INPUT',
  'CONFLICT',
  'LIMIT',
]);

/**
 * Disables the wanted accounts and records each. `enabledServers` were just seen as enabled and are not read again. Returns the first fault, and
 * continues with the other accounts.
 */
export async function disableAccounts(
  { record, store }: StoredContainment,
  actions: ContainmentActions,
  enabledServers: ReadonlySet<string> = new Set(),
): Promise<{ record: ContainmentRecord; fault: GatewayError | undefined }> {
  const name = getSubjectName(record);
  let latest = record;
  let fault: GatewayError | undefined;
  const save = async (server: string, state: ContainedAccount['state'] | undefined): Promise<void> => {
    if (actions.isDryRun) return;
    const accounts = latest.accounts.flatMap((account): ContainedAccount[] => {
      if (account.server !== server) return [account];
      return state === undefined ? [] : [{ server, state }];
    });
    latest = { ...latest, accounts };
    await store.put(latest);
  };
  for (const { server, state } of record.accounts) {
    if (state === 'disabled') continue;
    try {
      if (!enabledServers.has(server) && !(await actions.isEnabled(server, name))) {
        // An account that is disabled without our request was disabled by an administrator, so a release must not enable it.
        await save(server, state === 'sending' ? 'disabled' : undefined);
        continue;
      }
      await save(server, 'sending');
      await actions.setEnabled(server, name, false);
      await save(server, 'disabled');
    } catch (thrown) {
      const error = asGatewayError(thrown);
      fault ??= error;
      const isRefused = error.details.sent === false || REFUSAL_CODES.has(error.code);
      if (isRefused) await save(server, 'wanted').catch(() => undefined);
    }
  }
  return { record: latest, fault };
}

/** Ends the present sessions. Returns the first error, and continues with the other sessions. */
async function endSessions(
  record: ContainmentRecord,
  actions: ContainmentActions,
): Promise<{ ended: JsonObject[]; fault: GatewayError | undefined }> {
  let fault: GatewayError | undefined;
  try {
    const sessions = (await actions.listSessionsOf(record)).filter((session) => actions.isSessionOf(session, record));
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

/** Which containment to end. `match` says how the name is compared. */
interface ReleaseRequest {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly match?: NameMatchMode;
}

/**
 * Ends a containment by id or name. Errors: `NOT_FOUND` if it does not exist, `BAD_INPUT` if the name matches several. After other errors
 * the enforcement loop continues.
 */
export async function releaseContainment(
  request: ReleaseRequest,
  actions: ContainmentActions,
): Promise<{ id: string; enabled: string[]; 'ended-meanwhile': number }> {
  if ((request.id === undefined) === (request.name === undefined)) throw badInput('Enter either id or name (User).');
  return actions.runExclusive(async () => {
    const stored = findContainment(request, await readContainments(actions.appliance));
    const enabled = await endContainment(stored, actions);
    return { id: stored.record.id, enabled, 'ended-meanwhile': stored.record.ended };
  });
}

function findContainment({ id, name = '', match }: ReleaseRequest, all: readonly StoredContainment[]): StoredContainment {
  const matches = createNameMatcher(name, match);
  const [stored, second] = all.filter(({ record }) => (id === undefined ? matches(getSubjectName(record)) : record.id === id));
  if (stored && second)
    throw badInput(
      safeMessage`${JSON.stringify(name)} matches several contained names: ${getSubjectName(stored.record)} and ${getSubjectName(second.record)}. Release each by its id. Nothing was sent.`,
    );
  if (stored) return stored;
  const names = id === undefined ? all.map(({ record }) => getSubjectName(record)) : [];
  const similar = findSimilarNames(name, names);
  const hint = similar.length > 0 ? safeMessage` Similar names are contained: ${similar.join(', ')}.` : trusted('');
  const message = safeMessage`${JSON.stringify(id ?? name)} is not contained at this appliance.${hint} Use List to see who is. If this Node-RED has not used the folder yet, enter it in folder.`;
  throw new GatewayError('NOT_FOUND', message, { sent: false, ...(similar.length > 0 && { extra: { similar } }) });
}

/** Ends a containment: enables the accounts that it disabled and removes the record. The end is recorded first, so that a restart finishes it. */
export async function endContainment({ record, store }: StoredContainment, actions: ContainmentActions): Promise<string[]> {
  const enabled: string[] = [];
  let latest: ContainmentRecord = { ...record, releasing: true };
  if (!actions.isDryRun && !record.releasing) await store.put(latest);
  for (const { server, state } of record.accounts) {
    // An account that is still wanted was never disabled by us. An administrator may have enabled or deleted the others meanwhile.
    if (state !== 'wanted' && (await actions.isEnabled(server, getSubjectName(record))) === false) {
      await actions.setEnabled(server, getSubjectName(record), true);
      enabled.push(server);
    }
    if (actions.isDryRun) continue;
    latest = { ...latest, accounts: latest.accounts.filter((account) => account.server !== server) };
    await store.put(latest);
  }
  if (!actions.isDryRun) {
    await store.remove(record.id);
    forgetContainmentEnd(record.id);
  }
  return enabled;
}

/** The data of `list`. */
export async function listContainments(appliance: string): Promise<JsonObject[]> {
  return (await readContainments(appliance)).map(({ record }) => ({
    id: record.id,
    ...readContainedSubject(record),
    ...(record.match && { match: record.match }),
    disabled: record.accounts.filter(({ state }) => state === 'disabled').map(({ server }) => server),
    pending: record.accounts.filter(({ state }) => state !== 'disabled').map(({ server }) => server),
    since: record.since,
    until: record.until,
    'ended-meanwhile': record.ended,
  }));
}

export function readContainedSubject({ name, 'source-ip': address }: Pick<ContainmentRecord, 'name' | 'source-ip'>): {
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
