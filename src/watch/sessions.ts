import { readFilter } from '../areas/sessions/filter';
import { isObject, type JsonObject } from '../model/json';
import type { Found, Look, Tracker } from './tracker';

/** What is remembered of a session, in this order; the last two are the same for many. */
const OWN = ['active-user-name', 'source-ip', 'sign-in-time-micro'] as const;
const SHARED = ['user-roles', 'authentication-realm'] as const;
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
  readonly #known = new Map<string, string>();
  readonly #shared = new SharedTexts();
  #first = true;

  /** Errors: those of `readFilter`. */
  constructor(filter?: JsonObject) {
    this.#filter = filter;
    if (filter) readFilter(filter);
  }

  look(data: unknown): Look {
    const records = data as readonly JsonObject[];
    // Each time anew: an age in it is counted from now.
    const matches = this.#filter ? readFilter(this.#filter) : undefined;
    const fresh: JsonObject[] = [];
    const changed: { record: JsonObject; before: string }[] = [];
    let met = 0;
    for (const record of records) {
      const id = String(record['session-id']);
      const before = this.#known.get(id);
      if (before === undefined) {
        if (!matches || matches(record)) fresh.push(record);
        continue;
      }
      met++;
      if (before !== this.#shared.packed(record)) changed.push({ record, before });
    }
    const gone = new Map(met === this.#known.size ? [] : this.#missing(records));
    return this.#take(fresh, changed, gone);
  }

  save(): unknown {
    if (this.#first) return undefined;
    return [...this.#known].map(([id, packed]) => [id, ...this.#shared.values(packed)]);
  }

  restore(saved: unknown): void {
    this.apply({ add: saved, gone: [...this.#known.keys()] });
  }

  apply(change: unknown): void {
    if (!isChange(change)) throw new Error('another shape');
    for (const id of change.gone) this.#forget(id);
    for (const [id, ...values] of change.add) this.#learn(id, values);
    this.#first = false;
  }

  #missing(records: readonly JsonObject[]): [string, string][] {
    const present = new Set(records.map((record) => String(record['session-id'])));
    return [...this.#known].filter(([id]) => !present.has(id));
  }

  /** Who has ended comes first: a person who signed in again is then told in the order in which it happened. */
  #take(fresh: readonly JsonObject[], changed: readonly { record: JsonObject; before: string }[], gone: ReadonlyMap<string, string>): Look {
    const ended = [...gone].map(([id, before]): Found => ({
      event: 'ended',
      session: { 'session-id': id, ...recordOf(this.#shared.values(before)) },
    }));
    const others = changed.flatMap(({ record, before }): Found[] => {
      const old = recordOf(this.#shared.values(before));
      const moved = (['source-ip', 'user-roles'] as const).filter((field) => old[field] !== textOf(record[field]));
      if (moved.length === 0) return [];
      return [{ event: 'changed', session: record, before: Object.fromEntries(moved.map((field) => [field, old[field]])) }];
    });
    const started = this.#first ? [] : fresh.map((session): Found => ({ event: 'started', session }));
    const add = [...changed.map(({ record }) => record), ...fresh].map((record): Row => [
      String(record['session-id']),
      ...valuesOf(record),
    ]);
    const any = add.length + gone.size > 0 || this.#first;
    for (const id of gone.keys()) this.#forget(id);
    for (const [id, ...values] of add) this.#learn(id, values);
    this.#first = false;
    const change: Change | undefined = any ? { add, gone: [...gone.keys()] } : undefined;
    return { events: [...ended, ...others, ...started], change, seen: { key: 'sessions', n: this.#known.size } };
  }

  #learn(id: string, values: Values): void {
    this.#forget(id);
    this.#known.set(id, this.#shared.pack(values));
  }

  #forget(id: string): void {
    const packed = this.#known.get(id);
    if (packed === undefined) return;
    this.#shared.release(packed);
    this.#known.delete(id);
  }
}

interface Shared {
  readonly number: number;
  readonly text: string;
  uses: number;
}

/** Texts that many sessions have, each kept once for as long as one of them is there. */
class SharedTexts {
  readonly #byText = new Map<string, Shared>();
  readonly #texts: Shared[] = [];
  readonly #free: number[] = [];

  /** As it would be packed, or what no packed one is like, where its texts are not known yet. */
  packed(record: JsonObject): string {
    const values = valuesOf(record);
    return join(values, this.#byText.get(sharedOf(values))?.number ?? -1);
  }

  pack(values: Values): string {
    const text = sharedOf(values);
    let shared = this.#byText.get(text);
    if (!shared) {
      shared = { number: this.#free.pop() ?? this.#texts.length, text, uses: 0 };
      this.#byText.set(text, shared);
      this.#texts[shared.number] = shared;
    }
    shared.uses++;
    return join(values, shared.number);
  }

  release(packed: string): void {
    const shared = this.#texts[numberOf(packed)];
    if (!shared || --shared.uses > 0) return;
    this.#byText.delete(shared.text);
    this.#free.push(shared.number);
  }

  values(packed: string): string[] {
    const own = packed.split(SEPARATOR).slice(0, OWN.length);
    return [...own, ...(this.#texts[numberOf(packed)]?.text.split(SEPARATOR) ?? [])];
  }
}

/** One flat text: pieces that are merely put behind one another would keep all of them. */
function join(values: Values, number: number): string {
  return [values[0], values[1], values[2], number].join(SEPARATOR);
}

function numberOf(packed: string): number {
  return Number(packed.slice(packed.lastIndexOf(SEPARATOR) + 1));
}

function sharedOf(values: Values): string {
  return `${values[3]}${SEPARATOR}${values[4]}`;
}

function valuesOf(record: JsonObject): Values {
  return [textOf(record[OWN[0]]), textOf(record[OWN[1]]), textOf(record[OWN[2]]), textOf(record[SHARED[0]]), textOf(record[SHARED[1]])];
}

function recordOf(values: readonly string[]): JsonObject {
  return Object.fromEntries([...OWN, ...SHARED].map((name, index) => [name, values[index]]));
}

/** Absent, null and empty are the same; what is remembered has no separator in it. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.includes(SEPARATOR) ? text.replaceAll(SEPARATOR, ' ') : text;
}

function isChange(change: unknown): change is Change {
  if (!isObject(change) || !Array.isArray(change.add) || !Array.isArray(change.gone)) return false;
  const isRow = (row: unknown): boolean => Array.isArray(row) && row.length === 6 && row.every((value) => typeof value === 'string');
  return change.add.every(isRow) && change.gone.every((id) => typeof id === 'string');
}
