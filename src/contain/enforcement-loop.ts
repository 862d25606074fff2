import { asGatewayError, GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { mapConcurrently } from '../model/map-concurrently';
import type { JsonObject } from '../model/json';
import { disableAccounts, endContainment, pickSubject } from './contain';
import type { ContainmentActions } from './containment-actions';
import { isContainmentOver, type ContainmentRecord } from './containment-record';
import { getContainmentStores, tryReadContainments, type StoredContainment } from './containment-store';

/** What happened by itself: a new session was ended, or a containment has come to its end. */
export type ContainEvent = { readonly id: string; readonly name?: string; readonly 'source-ip'?: string } & (
  | { readonly event: 'ended'; readonly session: JsonObject }
  | { readonly event: 'released'; readonly enabled: readonly string[]; readonly 'ended-meanwhile': number }
);

/** Somebody who keeps people out of an appliance: one of these does it for all of the same appliance. */
export interface EnforcementParticipant {
  /** Which appliance, as a hash. */
  readonly appliance: string;
  /** Seconds from one look to the next. */
  readonly every: number;
  /** Whether it is one that contains people: then a journal names this one, and not one that only lists them. */
  readonly canContain: boolean;
  /** Looked into beside what is known. */
  readonly folder?: string | undefined;
  /** What is still under way after so long is cancelled. */
  perform<T>(work: (actions: ContainmentActions) => Promise<T>, timeLimitMs: number): Promise<T>;
  onEvent(event: ContainEvent): void;
  /** Each look: how many are kept out, or what went wrong. */
  onPoll(contained: number, fault: GatewayError | undefined): void;
}

/** More than so many users at once cost more one by one than the whole list. */
const MAX_LOOKUPS_BY_NAME = 3;
const CONCURRENCY = 8;
const MAX_GRACE_MS = 500;
/** One request that hangs must not let somebody stay for as long as requests may take. */
const MIN_TIME_LIMIT_MS = 5000;
const MAX_TIME_LIMIT_MS = 600_000;

const loops = new Map<string, EnforcementLoop>();

/** Keeps out whoever is contained, until the answer is called. */
export function startEnforcement(participant: EnforcementParticipant): () => void {
  if (participant.folder !== undefined) getContainmentStores(participant.appliance).forFolder(participant.folder);
  let loop = loops.get(participant.appliance);
  if (!loop) loops.set(participant.appliance, (loop = new EnforcementLoop(participant.appliance)));
  return loop.join(participant);
}

/** Whether anybody keeps people out of anywhere. */
export function isEnforcing(): boolean {
  return loops.size > 0;
}

/** All sessions of an appliance, as somebody else has read them; `began` by `performance.now()`. */
export function offerSessions(appliance: string, sessions: readonly JsonObject[], startedAt: number): void {
  loops.get(appliance)?.offer({ sessions, startedAt });
}

interface SessionList {
  readonly sessions: readonly JsonObject[];
  readonly startedAt: number;
}

/** The one who looks, for all keepers of an appliance in this process. */
class EnforcementLoop {
  readonly #appliance: string;
  readonly #participants = new Set<EnforcementParticipant>();
  /** Sessions that were ended and are still listed: told once. */
  #endedSessionIds = new Set<unknown>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;
  /** When the last look began. */
  #lastPollAt = -Infinity;
  /** The longest that went well, and how many in a row took too long. */
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
    return 1000 * Math.min(...[...this.#participants].map((each) => each.every));
  }

  /** A list that a watch has read is a look, unless the last one has just been. */
  offer(sessionList: SessionList): void {
    if (this.#isPolling || sessionList.startedAt - this.#lastPollAt < this.#intervalMs / 4) return;
    clearTimeout(this.#timer);
    void this.#poll(sessionList);
  }

  /** In so many milliseconds; after a look that is under way, as that one says. */
  #schedule(ms: number): void {
    if (this.#isPolling) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#poll(), ms);
    // Node-RED is kept alive by others; a script ends when it is done.
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
      contained = containments.filter(({ record }) => !isContainmentOver(record)).length;
      // With nobody to keep out nothing is sent.
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
    // Whoever read the last list reads the next one a little sooner or later.
    const graceMs = sessionList ? Math.min(intervalMs / 20, MAX_GRACE_MS) : 0;
    // As often where the appliance is away: whoever signs in as soon as it is back is not to wait for us.
    this.#schedule(Math.max(0, intervalMs + graceMs - (performance.now() - startedAt)));
  }

  /** A look that takes much longer than others do is ended, and the next one begins; each has twice the time, should all of them be slow. */
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
    const message = safeMessage`The appliance took longer than ${Math.round(timeLimitMs / 1000)} s over who is kept out. It is asked again at once.`;
    return new GatewayError('TIMEOUT', message, fault.details);
  }

  /** One look. Gives the first fault; one at one of them does not keep it from the others. */
  async #enforce(
    containments: readonly StoredContainment[],
    actions: ContainmentActions,
    knownSessions?: readonly JsonObject[],
  ): Promise<GatewayError | undefined> {
    // The settings want no write to leave.
    if (actions.isDryRun) return undefined;
    let fault: GatewayError | undefined;
    const addFault = (thrown: unknown): void => void (fault ??= asGatewayError(thrown));
    const active = containments.map(({ record }) => record).filter((record) => !isContainmentOver(record));
    // Sessions first: to change an account may have to wait for another process.
    if (active.length > 0) await this.#endNewSessions(active, actions, addFault, knownSessions).catch(addFault);
    if (containments.some(({ record }) => isContainmentOver(record) || record.accounts.some(({ state }) => state === 'wanted'))) {
      await actions.runExclusive(() => this.#updateAccounts(actions, addFault)).catch(addFault);
    }
    return fault;
  }

  /** Finishes what was begun and what is over. Read again: this is the first moment that nobody else changes it. */
  async #updateAccounts(actions: ContainmentActions, addFault: (thrown: unknown) => void): Promise<void> {
    for (const containment of (await tryReadContainments(this.#appliance)).containments) {
      const { record } = containment;
      try {
        if (isContainmentOver(record)) {
          const enabled = await endContainment(containment, actions);
          this.#emit({ event: 'released', id: record.id, ...pickSubject(record), enabled, 'ended-meanwhile': record.ended });
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
    // The list took its time: who was released meanwhile is let in.
    const stillActive = (await tryReadContainments(this.#appliance)).containments.filter(({ record }) => !isContainmentOver(record));
    const counts = new Map<string, number>();
    await mapConcurrently(newSessions, CONCURRENCY, async (session) => {
      const record = stillActive.find((containment) => actions.isSessionOf(session, containment.record))?.record;
      if (!record) return;
      try {
        if (!(await actions.endSession(session))) return;
        this.#endedSessionIds.add(session['session-id']);
        counts.set(record.id, (counts.get(record.id) ?? 0) + 1);
        this.#emit({ event: 'ended', id: record.id, ...pickSubject(record), session: actions.toReportedSession(session) });
      } catch (thrown) {
        addFault(thrown);
      }
    });
    if (counts.size > 0) await actions.runExclusive(() => this.#addToEnded(counts));
  }

  /** Only where it is still there: nobody is contained anew by being counted. */
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

/** All among which those of the people are. */
async function listSessionsOf(records: readonly ContainmentRecord[], actions: ContainmentActions): Promise<readonly JsonObject[]> {
  const names = records.map(({ name }) => name).filter((name) => name !== undefined);
  const byName = names.length === records.length && names.length <= MAX_LOOKUPS_BY_NAME;
  return byName ? (await mapConcurrently(names, CONCURRENCY, (name) => actions.listSessions(name))).flat() : actions.listSessions();
}
