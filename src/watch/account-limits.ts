import type { SessionRecord } from '../areas/sessions/session-record';
import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import type { AccountEvent } from './events';
import { evaluateWatchLimit, parseWatchLimits, createWatchLimitKey, type WatchLimitState, type WatchLimit } from './limits';

const NAMES = ['sessions', 'addresses'] as const;
type CountName = (typeof NAMES)[number];
type AccountLimit = WatchLimit & { readonly name: CountName; readonly above: number };

/** Maximum number of sessions of an account in an event. */
const MAX_LISTED_SESSIONS = 100;
const WITHIN: WatchLimitState = { crossed: false, opposingChecks: 0 };
type AccountStates = Map<string, { readonly account: string; readonly limitState: WatchLimitState }>;
const NOBODY: AccountSessions = { account: '', sessions: [] };

interface AccountSessions {
  readonly account: string;
  readonly sessions: SessionRecord[];
}

/**
 * Compares the sessions and addresses of each account with limits. Names that differ only in case are one account, also in different
 * realms. Only accounts that are over a limit are remembered.
 */
export class AccountLimits {
  readonly #limits: readonly AccountLimit[];
  /** The limits that earlier checks compared. A new limit starts with a baseline. */
  #checkedLimits = new Set<string>();
  #states: AccountStates = new Map();

  /** Checks the limits. Errors: `BAD_CONFIG` for a limit with another name or without `above`. */
  constructor(limits: readonly WatchLimit[]) {
    this.#limits = parseWatchLimits(limits).map(toAccountLimit);
  }

  /** The events of a check, and whether the state changed. The first check of a limit sets the baseline and has no events. */
  check(records: readonly SessionRecord[]): { readonly events: AccountEvent[]; readonly hasChange: boolean } {
    const accounts = groupByAccount(records);
    const before = JSON.stringify(this.save());
    const events: AccountEvent[] = [];
    const states: AccountStates = new Map();
    for (const limit of this.#limits) {
      const prefix = `${createWatchLimitKey(limit)} `;
      const unknown = this.#checkedLimits.has(prefix) ? WITHIN : undefined;
      const remembered = [...this.#states.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
      for (const id of new Set([...remembered, ...accounts.keys()])) {
        const previous = this.#states.get(prefix + id);
        const { sessions, account } = accounts.get(id) ?? { ...NOBODY, account: previous?.account ?? id };
        const value = count(limit.name, sessions);
        const { limitState, crossing } = evaluateWatchLimit(limit, value, previous?.limitState ?? unknown);
        if (limitState.crossed || limitState.opposingChecks > 0) states.set(prefix + id, { account, limitState });
        if (!crossing) continue;
        const event = crossing.event === 'above' ? 'over' : 'within';
        events.push({ event, name: limit.name, account, value, limit: crossing.limit, sessions: sessions.slice(0, MAX_LISTED_SESSIONS) });
      }
    }
    this.#states = states;
    this.#checkedLimits = new Set(this.#limits.map((limit) => `${createWatchLimitKey(limit)} `));
    return { events, hasChange: JSON.stringify(this.save()) !== before };
  }

  /** The accounts that are over a limit, as JSON. */
  save(): unknown {
    const states = [...this.#states].map(([key, { account, limitState }]) => [key, account, limitState.crossed, limitState.opposingChecks]);
    return { limits: [...this.#checkedLimits], states };
  }

  /** Restores a saved state. Returns false and changes nothing if the saved value has another structure. */
  restore(saved: unknown): boolean {
    if (!isObject(saved) || !isTextList(saved.limits) || !Array.isArray(saved.states)) return false;
    const states: AccountStates = new Map();
    for (const row of saved.states as readonly unknown[]) {
      if (!Array.isArray(row)) return false;
      const [key, account, crossed, opposingChecks] = row as readonly unknown[];
      if (typeof key !== 'string' || typeof account !== 'string' || typeof crossed !== 'boolean' || typeof opposingChecks !== 'number')
        return false;
      states.set(key, { account, limitState: { crossed, opposingChecks } });
    }
    this.#states = states;
    this.#checkedLimits = new Set(saved.limits);
    return true;
  }
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

function toAccountLimit(limit: WatchLimit, index: number): AccountLimit {
  const { above } = limit;
  const name = NAMES.find((known) => known === limit.name);
  if (name === undefined || above === undefined)
    throw new GatewayError(
      'BAD_CONFIG',
      safeMessage`limits[${index}] of a watch of sessions needs the name sessions or addresses, and above, such as { "name": "sessions", "above": 1 }.`,
      { sent: false },
    );
  return { ...limit, name, above };
}

function groupByAccount(records: readonly SessionRecord[]): Map<string, AccountSessions> {
  const accounts = new Map<string, AccountSessions>();
  for (const record of records) {
    const account = isObject(record) && typeof record['active-user-name'] === 'string' ? record['active-user-name'].trim() : '';
    if (account === '') continue;
    const id = account.toLowerCase();
    const known = accounts.get(id);
    if (known) known.sessions.push(record);
    else accounts.set(id, { account, sessions: [record] });
  }
  return accounts;
}

function count(name: CountName, sessions: readonly SessionRecord[]): number {
  if (name === 'sessions') return sessions.length;
  return new Set(sessions.map((session) => session['source-ip']).filter((address) => typeof address === 'string' && address !== '')).size;
}
