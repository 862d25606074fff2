import { asGatewayError, GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import { inParallel } from '../model/in-parallel';
import type { JsonObject } from '../model/json';
import { disableWanted, enableAgain, whom } from './contain';
import type { Hands } from './hands';
import { isOver, type Contained } from './record';
import { placesOf, readable, type Kept } from './store';

/** What happened by itself: a new session was ended, or a containment has come to its end. */
export type ContainEvent = { readonly id: string; readonly name?: string; readonly 'source-ip'?: string } & (
  | { readonly event: 'ended'; readonly session: JsonObject }
  | { readonly event: 'released'; readonly enabled: readonly string[]; readonly 'ended-meanwhile': number }
);

/** Somebody who keeps people out of an appliance: one of these does it for all of the same appliance. */
export interface Keeper {
  /** Which appliance, as a hash. */
  readonly appliance: string;
  /** Seconds from one look to the next. */
  readonly every: number;
  /** Whether it is one that contains people: then a journal names this one, and not one that only lists them. */
  readonly contains: boolean;
  /** Looked into beside what is known. */
  readonly folder?: string | undefined;
  /** What is still under way after so long is cancelled. */
  perform<T>(work: (hands: Hands) => Promise<T>, limitMs: number): Promise<T>;
  onEvent(event: ContainEvent): void;
  /** Each look: how many are kept out, or what went wrong. */
  onLook(contained: number, fault: GatewayError | undefined): void;
}

/** More than so many users at once cost more one by one than the whole list. */
const MOST_BY_NAME = 3;
const AT_ONCE = 8;
const LONGEST_GRACE_MS = 500;
/** One request that hangs must not let somebody stay for as long as requests may take. */
const LEAST_LIMIT_MS = 5000;
const MOST_LIMIT_MS = 600_000;

const guards = new Map<string, Guard>();

/** Keeps out whoever is contained, until the answer is called. */
export function keep(keeper: Keeper): () => void {
  if (keeper.folder !== undefined) placesOf(keeper.appliance).of(keeper.folder);
  let guard = guards.get(keeper.appliance);
  if (!guard) guards.set(keeper.appliance, (guard = new Guard(keeper.appliance)));
  return guard.join(keeper);
}

/** Whether anybody keeps people out of anywhere. */
export function isKept(): boolean {
  return guards.size > 0;
}

/** All sessions of an appliance, as somebody else has read them; `began` by `performance.now()`. */
export function offerSessions(appliance: string, sessions: readonly JsonObject[], began: number): void {
  guards.get(appliance)?.offer({ sessions, began });
}

interface Listed {
  readonly sessions: readonly JsonObject[];
  readonly began: number;
}

/** The one who looks, for all keepers of an appliance in this process. */
class Guard {
  readonly #appliance: string;
  readonly #keepers = new Set<Keeper>();
  /** Sessions that were ended and are still listed: told once. */
  #ended = new Set<unknown>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  /** When the last look began. */
  #looked = -Infinity;
  /** The longest that went well, and how many in a row took too long. */
  #longestMs = 0;
  #late = 0;

  constructor(appliance: string) {
    this.#appliance = appliance;
  }

  join(keeper: Keeper): () => void {
    this.#keepers.add(keeper);
    this.#schedule(0);
    return () => {
      this.#keepers.delete(keeper);
      if (this.#keepers.size > 0) return;
      clearTimeout(this.#timer);
      if (guards.get(this.#appliance) === this) guards.delete(this.#appliance);
    };
  }

  get #everyMs(): number {
    return 1000 * Math.min(...[...this.#keepers].map((each) => each.every));
  }

  /** A list that a watch has read is a look, unless the last one has just been. */
  offer(listed: Listed): void {
    if (this.#looking || listed.began - this.#looked < this.#everyMs / 4) return;
    clearTimeout(this.#timer);
    void this.#look(listed);
  }

  /** In so many milliseconds; after a look that is under way, as that one says. */
  #schedule(ms: number): void {
    if (this.#looking) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), ms);
    // Node-RED is kept alive by others; a script ends when it is done.
    this.#timer.unref();
  }

  async #look(listed?: Listed): Promise<void> {
    const keepers = [...this.#keepers];
    const keeper = keepers.find(({ contains }) => contains) ?? keepers[0];
    if (!keeper) return;
    this.#looking = true;
    const began = listed?.began ?? performance.now();
    this.#looked = began;
    let contained = 0;
    let fault: GatewayError | undefined;
    try {
      const { kept, fault: unreadable } = await readable(this.#appliance);
      fault = unreadable;
      contained = kept.filter(({ record }) => !isOver(record)).length;
      // With nobody to keep out nothing is sent.
      if (kept.length > 0) {
        const found = await this.#timed((limitMs) => keeper.perform((hands) => this.#work(kept, hands, listed?.sessions), limitMs));
        fault = found ?? fault;
      }
    } catch (thrown) {
      fault = asGatewayError(thrown);
    }
    this.#looking = false;
    for (const each of this.#keepers) each.onLook(contained, fault);
    if (this.#keepers.size === 0) return;
    const every = this.#everyMs;
    // Whoever read the last list reads the next one a little sooner or later.
    const grace = listed ? Math.min(every / 20, LONGEST_GRACE_MS) : 0;
    // As often where the appliance is away: whoever signs in as soon as it is back is not to wait for us.
    this.#schedule(Math.max(0, every + grace - (performance.now() - began)));
  }

  /** A look that takes much longer than others do is ended, and the next one begins; each has twice the time, should all of them be slow. */
  async #timed(look: (limitMs: number) => Promise<GatewayError | undefined>): Promise<GatewayError | undefined> {
    const usual = Math.max(this.#everyMs, LEAST_LIMIT_MS, 3 * this.#longestMs);
    const limitMs = Math.min(usual * 2 ** Math.min(this.#late, 10), MOST_LIMIT_MS);
    const began = performance.now();
    const fault = await look(limitMs).catch((thrown: unknown) => asGatewayError(thrown));
    const took = performance.now() - began;
    const isLate = fault !== undefined && took >= limitMs;
    this.#late = isLate ? this.#late + 1 : 0;
    if (!fault) this.#longestMs = Math.max(this.#longestMs, took);
    if (!isLate) return fault;
    const words = sentence`The appliance took longer than ${Math.round(limitMs / 1000)} s over who is kept out. It is asked again at once.`;
    return new GatewayError('TIMEOUT', words, fault.details);
  }

  /** One look. Gives the first fault; one at one of them does not keep it from the others. */
  async #work(kept: readonly Kept[], hands: Hands, all?: readonly JsonObject[]): Promise<GatewayError | undefined> {
    // The settings want no write to leave.
    if (hands.planned) return undefined;
    let fault: GatewayError | undefined;
    const note = (thrown: unknown): void => void (fault ??= asGatewayError(thrown));
    const present = kept.map(({ record }) => record).filter((record) => !isOver(record));
    // Sessions first: to change an account may have to wait for another process.
    if (present.length > 0) await this.#endNew(present, hands, note, all).catch(note);
    if (kept.some(({ record }) => isOver(record) || record.accounts.some(({ state }) => state === 'wanted'))) {
      await hands.exclusive(() => this.#settle(hands, note)).catch(note);
    }
    return fault;
  }

  /** Finishes what was begun and what is over. Read again: this is the first moment that nobody else changes it. */
  async #settle(hands: Hands, note: (thrown: unknown) => void): Promise<void> {
    for (const kept of (await readable(this.#appliance)).kept) {
      const { record } = kept;
      try {
        if (isOver(record)) {
          const enabled = await enableAgain(kept, hands);
          this.#tell({ event: 'released', id: record.id, ...whom(record), enabled, 'ended-meanwhile': record.ended });
        } else {
          const { fault } = await disableWanted(kept, hands);
          if (fault) note(fault);
        }
      } catch (thrown) {
        note(thrown);
      }
    }
  }

  async #endNew(
    present: readonly Contained[],
    hands: Hands,
    note: (thrown: unknown) => void,
    all: readonly JsonObject[] | undefined,
  ): Promise<void> {
    const sessions = all ?? (await sessionsOf(present, hands));
    const listed = new Map(sessions.map((session) => [session['session-id'], session]));
    this.#ended = new Set([...this.#ended].filter((id) => listed.has(id)));
    const found = [...listed.values()].filter((session) => present.some((record) => hands.isOf(session, record)));
    const fresh = found.filter((session) => !this.#ended.has(session['session-id']));
    if (fresh.length === 0) return;
    // The list took its time: who was released meanwhile is let in.
    const still = (await readable(this.#appliance)).kept.filter(({ record }) => !isOver(record));
    const counts = new Map<string, number>();
    await inParallel(fresh, AT_ONCE, async (session) => {
      const record = still.find((kept) => hands.isOf(session, kept.record))?.record;
      if (!record) return;
      try {
        if (!(await hands.end(session))) return;
        this.#ended.add(session['session-id']);
        counts.set(record.id, (counts.get(record.id) ?? 0) + 1);
        this.#tell({ event: 'ended', id: record.id, ...whom(record), session: hands.shown(session) });
      } catch (thrown) {
        note(thrown);
      }
    });
    if (counts.size > 0) await hands.exclusive(() => this.#count(counts));
  }

  /** Only where it is still there: nobody is contained anew by being counted. */
  async #count(counts: ReadonlyMap<string, number>): Promise<void> {
    for (const { record, store } of (await readable(this.#appliance)).kept) {
      const more = counts.get(record.id);
      if (more !== undefined) await store.put({ ...record, ended: record.ended + more });
    }
  }

  #tell(event: ContainEvent): void {
    for (const keeper of this.#keepers) keeper.onEvent(event);
  }
}

/** All among which those of the people are. */
async function sessionsOf(people: readonly Contained[], hands: Hands): Promise<readonly JsonObject[]> {
  const names = people.map(({ name }) => name).filter((name) => name !== undefined);
  const byName = names.length === people.length && names.length <= MOST_BY_NAME;
  return byName ? (await inParallel(names, AT_ONCE, (name) => hands.sessions(name))).flat() : hands.sessions();
}
