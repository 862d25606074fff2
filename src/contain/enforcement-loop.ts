import { asGatewayError, GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { mapConcurrently } from '../model/map-concurrently';
import type { JsonObject } from '../model/json';
import type { RecordSigner } from '../model/record-signer';
import { disableAccounts, endContainment, readContainedSubject, type ContainmentActions } from './contain';
import { isContainmentOver, observeContainmentEnd } from './containment-end';
import type { ContainmentRecord } from './containment-record';
import { getContainmentStores, tryReadContainments, type StoredContainment } from './containment-store';

/** An event of the enforcement: a new session was ended, or a containment reached its end. */
export type ContainEvent = { readonly id: string; readonly name?: string; readonly 'source-ip'?: string } & (
  | { readonly event: 'ended'; readonly session: JsonObject }
  | { readonly event: 'released'; readonly enabled: readonly string[]; readonly 'ended-meanwhile': number }
);

/** A node or script that enforces containments. One participant acts for all of the same appliance. */
export interface EnforcementParticipant {
  /** The hash that identifies the appliance. */
  readonly appliance: string;
  /** Seconds between two polls. */
  readonly every: number;
  /** Whether the participant contains people. Such a participant acts first, because the journal names the one that acts. */
  readonly canContain: boolean;
  /** A folder with containments, in addition to the known ones. */
  readonly folder?: string | undefined;
  /** Signs the records in the folder. */
  readonly signer?: RecordSigner | undefined;
  /** Runs `work` and cancels its requests after `timeLimitMs`. */
  perform<T>(work: (actions: ContainmentActions) => Promise<T>, timeLimitMs: number): Promise<T>;
  onEvent(event: ContainEvent): void;
  /** Called after each poll with the number of contained people, and the fault if there was one. */
  onPoll(contained: number, fault: GatewayError | undefined): void;
}

/** Maximum number of users that are read by name. For more, one complete list costs less. */
const MAX_LOOKUPS_BY_NAME = 3;
const CONCURRENCY = 8;
const MAX_GRACE_MS = 500;
/** Shortest time after which a poll is ended, because a hanging request would let a person stay signed in. */
const MIN_TIME_LIMIT_MS = 5000;
const MAX_TIME_LIMIT_MS = 600_000;

const loops = new Map<string, EnforcementLoop>();

/** Starts to enforce containments until the returned function is called. */
export function startEnforcement(participant: EnforcementParticipant): () => void {
  if (participant.folder !== undefined) getContainmentStores(participant.appliance).forFolder(participant.folder, participant.signer);
  let loop = loops.get(participant.appliance);
  if (!loop) loops.set(participant.appliance, (loop = new EnforcementLoop(participant.appliance)));
  return loop.join(participant);
}

/** Whether any containment is enforced in this process. */
export function isEnforcementRunning(): boolean {
  return loops.size > 0;
}

/** Passes on a complete session list of another operation. `startedAt` is a value of `performance.now()`. */
export function offerSessionsToEnforcement(appliance: string, sessions: readonly JsonObject[], startedAt: number): void {
  loops.get(appliance)?.offer({ sessions, startedAt });
}

interface SessionList {
  readonly sessions: readonly JsonObject[];
  readonly startedAt: number;
}

/** Polls one appliance for all participants in this process. */
class EnforcementLoop {
  readonly #appliance: string;
  readonly #participants = new Set<EnforcementParticipant>();
  /** Ended sessions that the appliance still lists. Each is reported once. */
  #endedSessionIds = new Set<unknown>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;
  /** When the last poll started, by `performance.now()`. */
  #lastPollAt = -Infinity;
  /** Duration of the longest successful poll, and number of consecutive timeouts. */
  #longestPollMs = 0;
  #consecutiveTimeouts = 0;

  constructor(appliance: string) {
    this.#appliance = appliance;
  }

  join(participant: EnforcementParticipant): () => void {
    this.#participants.add(participant);
    this.#schedule(0);
    return () => {
      this.#participants.delete(participant);
      if (this.#participants.size > 0) return;
      clearTimeout(this.#timer);
      if (loops.get(this.#appliance) === this) loops.delete(this.#appliance);
    };
  }

  get #intervalMs(): number {
    return 1000 * Math.min(...[...this.#participants].map(({ every }) => every));
  }

  /** Uses the session list of a watch in place of a poll, unless the last poll was very recent. */
  offer(sessionList: SessionList): void {
    if (this.#isPolling || sessionList.startedAt - this.#lastPollAt < this.#intervalMs / 4) return;
    clearTimeout(this.#timer);
    void this.#poll(sessionList);
  }

  /** Plans the next poll. A running poll plans the one after it. */
  #schedule(ms: number): void {
    if (this.#isPolling) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#poll(), ms);
    // The timer must not keep a script alive.
    this.#timer.unref();
  }

  async #poll(sessionList?: SessionList): Promise<void> {
    const participants = [...this.#participants];
    const participant = participants.find(({ canContain }) => canContain) ?? participants[0];
    if (!participant) return;
    this.#isPolling = true;
    const startedAt = sessionList?.startedAt ?? performance.now();
    this.#lastPollAt = startedAt;
    let contained = 0;
    let fault: GatewayError | undefined;
    try {
      const { containments, fault: readFault } = await tryReadContainments(this.#appliance);
      fault = readFault;
      for (const { record } of containments) observeContainmentEnd(record);
      contained = containments.filter(({ record }) => !isContainmentOver(record)).length;
      // Without containments nothing is sent.
      if (containments.length > 0) {
        const workFault = await this.#pollWithTimeLimit((timeLimitMs) =>
          participant.perform((actions) => this.#enforce(containments, actions, sessionList?.sessions), timeLimitMs),
        );
        fault = workFault ?? fault;
      }
    } catch (thrown) {
      fault = asGatewayError(thrown);
    }
    this.#isPolling = false;
    for (const each of this.#participants) each.onPoll(contained, fault);
    if (this.#participants.size === 0) return;
    const intervalMs = this.#intervalMs;
    // The reader of the last list may read the next one a little later, so wait for it.
    const graceMs = sessionList ? Math.min(intervalMs / 20, MAX_GRACE_MS) : 0;
    // An unreachable appliance is polled as often, because people sign in as soon as it is back.
    this.#schedule(Math.max(0, intervalMs + graceMs - (performance.now() - startedAt)));
  }

  /** Ends a poll that takes much longer than the others, so that the next one can start. Each timeout doubles the limit. */
  async #pollWithTimeLimit(poll: (timeLimitMs: number) => Promise<GatewayError | undefined>): Promise<GatewayError | undefined> {
    const usualMs = Math.max(this.#intervalMs, MIN_TIME_LIMIT_MS, 3 * this.#longestPollMs);
    const timeLimitMs = Math.min(usualMs * 2 ** Math.min(this.#consecutiveTimeouts, 10), MAX_TIME_LIMIT_MS);
    const startedAt = performance.now();
    const fault = await poll(timeLimitMs).catch((thrown: unknown) => asGatewayError(thrown));
    const elapsedMs = performance.now() - startedAt;
    const isTimeout = fault !== undefined && elapsedMs >= timeLimitMs;
    this.#consecutiveTimeouts = isTimeout ? this.#consecutiveTimeouts + 1 : 0;
    if (!fault) this.#longestPollMs = Math.max(this.#longestPollMs, elapsedMs);
    if (!isTimeout) return fault;
    const message = safeMessage`The check of the contained people took longer than ${Math.round(timeLimitMs / 1000)} s. It is repeated at once.`;
    return new GatewayError('TIMEOUT', message, fault.details);
  }

  /** Performs one poll. Returns the first error, and continues with the other containments. */
  async #enforce(
    containments: readonly StoredContainment[],
    actions: ContainmentActions,
    knownSessions?: readonly JsonObject[],
  ): Promise<GatewayError | undefined> {
    // In a dry run no write may be sent.
    if (actions.isDryRun) return undefined;
    let fault: GatewayError | undefined;
    const addFault = (thrown: unknown): void => void (fault ??= asGatewayError(thrown));
    const active = containments.map(({ record }) => record).filter((record) => !isContainmentOver(record));
    // Sessions come first, because a change of an account may wait for another process.
    if (active.length > 0) await this.#endNewSessions(active, actions, addFault, knownSessions).catch(addFault);
    if (containments.some(({ record }) => isContainmentOver(record) || record.accounts.some(({ state }) => state !== 'disabled'))) {
      await actions.runExclusive(() => this.#updateAccounts(actions, addFault)).catch(addFault);
    }
    return fault;
  }

  /** Finishes started and ended containments. It reads them again, because other processes may have changed them until now. */
  async #updateAccounts(actions: ContainmentActions, addFault: (thrown: unknown) => void): Promise<void> {
    for (const containment of (await tryReadContainments(this.#appliance)).containments) {
      const { record } = containment;
      try {
        if (isContainmentOver(record)) {
          const enabled = await endContainment(containment, actions);
          this.#emit({ event: 'released', id: record.id, ...readContainedSubject(record), enabled, 'ended-meanwhile': record.ended });
        } else {
          const { fault } = await disableAccounts(containment, actions);
          if (fault) addFault(fault);
        }
      } catch (thrown) {
        addFault(thrown);
      }
    }
  }

  async #endNewSessions(
    active: readonly ContainmentRecord[],
    actions: ContainmentActions,
    addFault: (thrown: unknown) => void,
    knownSessions: readonly JsonObject[] | undefined,
  ): Promise<void> {
    const sessions = knownSessions ?? (await listSessionsOf(active, actions));
    const sessionsById = new Map(sessions.map((session) => [session['session-id'], session]));
    this.#endedSessionIds = new Set([...this.#endedSessionIds].filter((id) => sessionsById.has(id)));
    const matching = [...sessionsById.values()].filter((session) => active.some((record) => actions.isSessionOf(session, record)));
    const newSessions = matching.filter((session) => !this.#endedSessionIds.has(session['session-id']));
    if (newSessions.length === 0) return;
    // A person who was released while the list was read may stay.
    const stillActive = (await tryReadContainments(this.#appliance)).containments.filter(({ record }) => !isContainmentOver(record));
    const counts = new Map<string, number>();
    await mapConcurrently(newSessions, CONCURRENCY, async (session) => {
      const record = stillActive.find((containment) => actions.isSessionOf(session, containment.record))?.record;
      if (!record) return;
      try {
        if (!(await actions.endSession(session))) return;
        this.#endedSessionIds.add(session['session-id']);
        counts.set(record.id, (counts.get(record.id) ?? 0) + 1);
        this.#emit({ event: 'ended', id: record.id, ...readContainedSubject(record), session: actions.toReportedSession(session) });
      } catch (thrown) {
        addFault(thrown);
      }
    });
    if (counts.size > 0) await actions.runExclusive(() => this.#addToEnded(counts));
  }

  /** Adds counts only to existing records, because a written count must not contain a released person again. */
  async #addToEnded(counts: ReadonlyMap<string, number>): Promise<void> {
    for (const { record, store } of (await tryReadContainments(this.#appliance)).containments) {
      const newlyEnded = counts.get(record.id);
      if (newlyEnded !== undefined) await store.put({ ...record, ended: record.ended + newlyEnded });
    }
  }

  #emit(event: ContainEvent): void {
    for (const participant of this.#participants) participant.onEvent(event);
  }
}

/** Lists the sessions that can belong to the contained people. */
async function listSessionsOf(records: readonly ContainmentRecord[], actions: ContainmentActions): Promise<readonly JsonObject[]> {
  const names = records.map(({ name, match }) => (match === undefined ? name : undefined)).filter((name) => name !== undefined);
  const byName = names.length === records.length && names.length <= MAX_LOOKUPS_BY_NAME;
  return byName ? (await mapConcurrently(names, CONCURRENCY, (name) => actions.listSessions(name))).flat() : actions.listSessions();
}
