import { parseSessionFilter } from '../areas/sessions/session-filter';
import { isObject, type JsonObject } from '../model/json';
import type { TrackedEvent, TrackerUpdate, Tracker } from './tracker';

/** What is remembered of a session, in this order; the last two are the same for many. */
const OWN_FIELDS = ['active-user-name', 'source-ip', 'sign-in-time-micro'] as const;
const SHARED_FIELDS = ['user-roles', 'authentication-realm'] as const;
const SEPARATOR = '\u0000';

type Values = readonly [string, string, string, string, string];
type Row = readonly [id: string, ...Values];
type Change = { add: Row[]; gone: string[] };

/**
 * The sessions of the last check, by id: of each what an event needs, as one text of some 60 characters. What many have in common is
 * kept once. A session that was told as started stays in it until it has ended, though its record may not match the filter any more.
 */
export class SessionTracker implements Tracker {
  readonly #filter: JsonObject | undefined;
  readonly #sessions = new Map<string, string>();
  readonly #sharedTexts = new SharedTexts();
  #isFirstCheck = true;

  /** Errors: those of `readFilter`. */
  constructor(filter?: JsonObject) {
    this.#filter = filter;
    if (filter) parseSessionFilter(filter);
  }

  update(data: unknown): TrackerUpdate {
    const records = data as readonly JsonObject[];
    // Each time anew: an age in it is counted from now.
    const matches = this.#filter ? parseSessionFilter(this.#filter) : undefined;
    const newRecords: JsonObject[] = [];
    const changed: { record: JsonObject; before: string }[] = [];
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
    return this.#toUpdate(newRecords, changed, gone);
  }

  save(): unknown {
    if (this.#isFirstCheck) return undefined;
    return [...this.#sessions].map(([id, packed]) => [id, ...this.#sharedTexts.unpack(packed)]);
  }

  restore(saved: unknown): void {
    this.apply({ add: saved, gone: [...this.#sessions.keys()] });
  }

  apply(change: unknown): void {
    if (!isChange(change)) throw new Error('another shape');
    for (const id of change.gone) this.#remove(id);
    for (const [id, ...values] of change.add) this.#add(id, values);
    this.#isFirstCheck = false;
  }

  #findEnded(records: readonly JsonObject[]): [string, string][] {
    const presentIds = new Set(records.map((record) => String(record['session-id'])));
    return [...this.#sessions].filter(([id]) => !presentIds.has(id));
  }

  /** Who has ended comes first: a person who signed in again is then told in the order in which it happened. */
  #toUpdate(
    newRecords: readonly JsonObject[],
    changed: readonly { record: JsonObject; before: string }[],
    gone: ReadonlyMap<string, string>,
  ): TrackerUpdate {
    const ended = [...gone].map(([id, before]): TrackedEvent => ({
      event: 'ended',
      session: { 'session-id': id, ...toRecord(this.#sharedTexts.unpack(before)) },
    }));
    const changedEvents = changed.flatMap(({ record, before }): TrackedEvent[] => {
      const previous = toRecord(this.#sharedTexts.unpack(before));
      const changedFields = (['source-ip', 'user-roles'] as const).filter((field) => previous[field] !== toText(record[field]));
      if (changedFields.length === 0) return [];
      return [{ event: 'changed', session: record, before: Object.fromEntries(changedFields.map((field) => [field, previous[field]])) }];
    });
    const started = this.#isFirstCheck ? [] : newRecords.map((session): TrackedEvent => ({ event: 'started', session }));
    const add = [...changed.map(({ record }) => record), ...newRecords].map((record): Row => [
      String(record['session-id']),
      ...readValues(record),
    ]);
    const hasChange = add.length + gone.size > 0 || this.#isFirstCheck;
    for (const id of gone.keys()) this.#remove(id);
    for (const [id, ...values] of add) this.#add(id, values);
    this.#isFirstCheck = false;
    const change: Change | undefined = hasChange ? { add, gone: [...gone.keys()] } : undefined;
    return { events: [...ended, ...changedEvents, ...started], change, summary: { key: 'sessions', n: this.#sessions.size } };
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

/** Texts that many sessions have, each kept once for as long as one of them is there. */
class SharedTexts {
  readonly #byText = new Map<string, SharedText>();
  readonly #texts: SharedText[] = [];
  readonly #free: number[] = [];

  /** As it would be packed, or what no packed one is like, where its texts are not known yet. */
  packWithoutAdding(record: JsonObject): string {
    const values = readValues(record);
    return joinValues(values, this.#byText.get(joinSharedValues(values))?.number ?? -1);
  }

  addAndPack(values: Values): string {
    const text = joinSharedValues(values);
    let shared = this.#byText.get(text);
    if (!shared) {
      shared = { number: this.#free.pop() ?? this.#texts.length, text, uses: 0 };
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
    this.#free.push(shared.number);
  }

  unpack(packed: string): string[] {
    const own = packed.split(SEPARATOR).slice(0, OWN_FIELDS.length);
    return [...own, ...(this.#texts[parseTextNumber(packed)]?.text.split(SEPARATOR) ?? [])];
  }
}

/** One flat text: pieces that are merely put behind one another would keep all of them. */
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

/** Absent, null and empty are the same; what is remembered has no separator in it. */
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
