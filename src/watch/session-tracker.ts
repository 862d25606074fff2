import { parseSessionFilter } from '../areas/sessions/session-filter';
import { isObject, type JsonObject } from '../model/json';
import type { SessionRecord } from '../areas/sessions/session-record';
import type { AccountEvent, SessionsEvent } from './events';
import { AccountLimits } from './account-limits';
import type { WatchLimit } from './limits';
import type { TrackerUpdate, Tracker } from './tracker';

/** The saved fields of a session, in this order. Many sessions have the same values in the last two. */
const OWN_FIELDS = ['active-user-name', 'source-ip', 'sign-in-time-micro'] as const;
const SHARED_FIELDS = ['user-roles', 'authentication-realm'] as const;
const SEPARATOR = '\u0000';

type Values = readonly [string, string, string, string, string];
type Row = readonly [id: string, ...Values];
type Change = { add: Row[]; gone: string[]; accounts?: unknown };

/**
 * The sessions of the last check by id. Each is one text of about 60 characters, because lists can have 40,000 sessions. A session that
 * was reported as started stays until it ends, even if it no longer matches the filter.
 */
export class SessionTracker implements Tracker {
  readonly #filter: JsonObject | undefined;
  readonly #getClockOffsetSeconds: () => number | undefined;
  readonly #sessions = new Map<string, string>();
  readonly #sharedTexts = new SharedTexts();
  readonly #accountLimits: AccountLimits | undefined;
  #isFirstCheck = true;

  /** Creates the tracker. Errors: those of `parseSessionFilter` and `AccountLimits`. */
  constructor(filter?: JsonObject, getClockOffsetSeconds: () => number | undefined = () => undefined, limits?: readonly WatchLimit[]) {
    this.#filter = filter;
    this.#getClockOffsetSeconds = getClockOffsetSeconds;
    if (filter) parseSessionFilter(filter);
    this.#accountLimits = limits && new AccountLimits(limits);
  }

  update(data: unknown): TrackerUpdate {
    const records = data as readonly SessionRecord[];
    // Parsed at each check, because an age in the filter counts from now.
    const matches = this.#filter ? parseSessionFilter(this.#filter, this.#getClockOffsetSeconds()) : undefined;
    const newRecords: SessionRecord[] = [];
    const changed: { record: SessionRecord; before: string }[] = [];
    let knownCount = 0;
    for (const record of records) {
      const id = String(record['session-id']);
      const before = this.#sessions.get(id);
      if (before === undefined) {
        if (!matches || matches(record)) newRecords.push(record);
        continue;
      }
      knownCount++;
      if (before !== this.#sharedTexts.packWithoutAdding(record)) changed.push({ record, before });
    }
    const gone = new Map(knownCount === this.#sessions.size ? [] : this.#findEnded(records));
    const accounts = this.#accountLimits?.check(matches ? records.filter(matches) : records);
    return this.#toUpdate(newRecords, changed, gone, accounts);
  }

  save(): unknown {
    if (this.#isFirstCheck) return undefined;
    const rows = [...this.#sessions].map(([id, packed]) => [id, ...this.#sharedTexts.unpack(packed)]);
    return this.#accountLimits ? { rows, accounts: this.#accountLimits.save() } : rows;
  }

  /** Restores the state. A state without accounts comes from a watch without limits. */
  restore(saved: unknown): void {
    const { rows, accounts } = isObject(saved) ? saved : { rows: saved, accounts: undefined };
    this.apply({ add: rows, gone: [...this.#sessions.keys()], accounts });
  }

  apply(change: unknown): void {
    if (!isChange(change)) throw new Error('The saved state has another shape.');
    if (change.accounts !== undefined && this.#accountLimits?.restore(change.accounts) === false)
      throw new Error('The saved state has another shape.');
    for (const id of change.gone) this.#remove(id);
    for (const [id, ...values] of change.add) this.#add(id, values);
    this.#isFirstCheck = false;
  }

  #findEnded(records: readonly JsonObject[]): [string, string][] {
    const presentIds = new Set(records.map((record) => String(record['session-id'])));
    return [...this.#sessions].filter(([id]) => !presentIds.has(id));
  }

  /** Ended sessions come first, so that a person who signed in again appears in the order of the events. */
  #toUpdate(
    newRecords: readonly SessionRecord[],
    changed: readonly { record: SessionRecord; before: string }[],
    gone: ReadonlyMap<string, string>,
    accounts: { readonly events: AccountEvent[]; readonly hasChange: boolean } | undefined,
  ): TrackerUpdate {
    const ended = [...gone].map(([id, before]): SessionsEvent => ({
      event: 'ended',
      session: { 'session-id': id, ...toRecord(this.#sharedTexts.unpack(before)) },
    }));
    const changedEvents = changed.flatMap(({ record, before }): SessionsEvent[] => {
      const previous = toRecord(this.#sharedTexts.unpack(before));
      const changedFields = (['source-ip', 'user-roles'] as const).filter((field) => previous[field] !== toText(record[field]));
      if (changedFields.length === 0) return [];
      return [{ event: 'changed', session: record, before: Object.fromEntries(changedFields.map((field) => [field, previous[field]])) }];
    });
    const started = this.#isFirstCheck ? [] : newRecords.map((session): SessionsEvent => ({ event: 'started', session }));
    const add = [...changed.map(({ record }) => record), ...newRecords].map((record): Row => [
      String(record['session-id']),
      ...readValues(record),
    ]);
    const hasChange = add.length + gone.size > 0 || this.#isFirstCheck || accounts?.hasChange === true;
    for (const id of gone.keys()) this.#remove(id);
    for (const [id, ...values] of add) this.#add(id, values);
    this.#isFirstCheck = false;
    const change: Change | undefined = hasChange
      ? { add, gone: [...gone.keys()], ...(accounts?.hasChange === true && { accounts: this.#accountLimits?.save() }) }
      : undefined;
    return {
      events: [...ended, ...changedEvents, ...started, ...(accounts?.events ?? [])],
      change,
      summary: { key: 'sessions', n: this.#sessions.size },
    };
  }

  #add(id: string, values: Values): void {
    this.#remove(id);
    this.#sessions.set(id, this.#sharedTexts.addAndPack(values));
  }

  #remove(id: string): void {
    const packed = this.#sessions.get(id);
    if (packed === undefined) return;
    this.#sharedTexts.release(packed);
    this.#sessions.delete(id);
  }
}

interface SharedText {
  readonly number: number;
  readonly text: string;
  uses: number;
}

/** Stores each text that several sessions share once, with a reference count. */
class SharedTexts {
  readonly #byText = new Map<string, SharedText>();
  readonly #texts: SharedText[] = [];
  readonly #freeNumbers: number[] = [];

  /** The packed form of a record, for a comparison. It matches no stored session if its shared text is new. */
  packWithoutAdding(record: JsonObject): string {
    const values = readValues(record);
    return joinValues(values, this.#byText.get(joinSharedValues(values))?.number ?? -1);
  }

  addAndPack(values: Values): string {
    const text = joinSharedValues(values);
    let shared = this.#byText.get(text);
    if (!shared) {
      shared = { number: this.#freeNumbers.pop() ?? this.#texts.length, text, uses: 0 };
      this.#byText.set(text, shared);
      this.#texts[shared.number] = shared;
    }
    shared.uses++;
    return joinValues(values, shared.number);
  }

  release(packed: string): void {
    const shared = this.#texts[parseTextNumber(packed)];
    if (!shared || --shared.uses > 0) return;
    this.#byText.delete(shared.text);
    this.#freeNumbers.push(shared.number);
  }

  unpack(packed: string): string[] {
    const ownValues = packed.split(SEPARATOR).slice(0, OWN_FIELDS.length);
    return [...ownValues, ...(this.#texts[parseTextNumber(packed)]?.text.split(SEPARATOR) ?? [])];
  }
}

/** `join` makes one flat string. Concatenated strings would keep all their parts in memory. */
function joinValues(values: Values, number: number): string {
  return [values[0], values[1], values[2], number].join(SEPARATOR);
}

function parseTextNumber(packed: string): number {
  return Number(packed.slice(packed.lastIndexOf(SEPARATOR) + 1));
}

function joinSharedValues(values: Values): string {
  return `${values[3]}${SEPARATOR}${values[4]}`;
}

function readValues(record: JsonObject): Values {
  return [
    toText(record[OWN_FIELDS[0]]),
    toText(record[OWN_FIELDS[1]]),
    toText(record[OWN_FIELDS[2]]),
    toText(record[SHARED_FIELDS[0]]),
    toText(record[SHARED_FIELDS[1]]),
  ];
}

function toRecord(values: readonly string[]): JsonObject {
  return Object.fromEntries([...OWN_FIELDS, ...SHARED_FIELDS].map((name, index) => [name, values[index]]));
}

/** Treats absent, null and empty alike, and removes the separator. */
function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.includes(SEPARATOR) ? text.replaceAll(SEPARATOR, ' ') : text;
}

function isChange(change: unknown): change is Change {
  if (!isObject(change) || !Array.isArray(change.add) || !Array.isArray(change.gone)) return false;
  const isRow = (row: unknown): boolean => Array.isArray(row) && row.length === 6 && row.every((value) => typeof value === 'string');
  return change.add.every(isRow) && change.gone.every((id) => typeof id === 'string');
}
