import type { JsonObject } from '../fields';
import type { Settings } from '../options';
import { generateSession, indexOfSession, sessionId, userName } from '../people';
import type { Variants } from '../variants';

/** What a session has beside what is generated for its number. */
interface Extra {
  values: JsonObject;
  ended: () => void;
}

// The records of a small appliance are kept as text, so that polling it costs no work; those of a large one would fill the memory.
const KEPT = 5000;
// A by-name query returns only these.
const BY_NAME = [
  'active-user-name',
  'agent-type',
  'authentication-realm',
  'login-node',
  'session-id',
  'sign-in-time-micro',
  'source-ip',
  'user-roles',
  'user-sign-in-time',
];

export class SessionStore {
  /** Numbers of the sessions that exist, ascending. A number is given once. */
  private alive: number[];
  private readonly extras = new Map<number, Extra>();
  private next: number;
  private byName: Map<string, number[]> | undefined;
  private texts = new Map<number, string>();
  private textsFor = '';

  constructor(private readonly settings: Settings) {
    this.next = settings.sessions;
    this.alive = Array.from({ length: settings.sessions }, (_, index) => index);
  }

  get count(): number {
    return this.alive.length;
  }

  /** Signs somebody in: given fields over generated ones. Returns the session-id. */
  add(values: JsonObject = {}, ended: () => void = () => undefined): string {
    const index = this.next++;
    const id = sessionId(index);
    this.extras.set(index, { values: { ...values, 'session-id': id }, ended });
    this.alive.push(index);
    this.byName?.set(this.nameOf(index), [...(this.byName.get(this.nameOf(index)) ?? []), index]);
    return id;
  }

  has(id: string): boolean {
    const index = indexOfSession(id);
    return index !== undefined && this.position(index) >= 0;
  }

  /** Ends one session; false when there is none of this id. */
  end(id: string): boolean {
    const index = indexOfSession(id);
    const position = index === undefined ? -1 : this.position(index);
    if (index === undefined || position < 0) return false;
    this.alive.splice(position, 1);
    this.extras.get(index)?.ended();
    return true;
  }

  endAll(): void {
    this.alive = [];
    for (const extra of this.extras.values()) extra.ended();
    this.extras.clear();
    this.texts.clear();
    this.byName = undefined;
  }

  /** Ends every session of these users (license, `delete-active-sessions`). */
  endOf(users: ReadonlySet<string>): number {
    const ids = this.alive.filter((index) => users.has(this.nameOf(index))).map(sessionId);
    for (const id of ids) this.end(id);
    return ids.length;
  }

  /** Every record as it is, without variants: for tests. */
  record(index: number): JsonObject {
    const record = generateSession(index, this.settings);
    const extra = this.extras.get(index);
    return extra ? { ...record, ...extra.values } : record;
  }

  ids(): string[] {
    return this.alive.map(sessionId);
  }

  numbers(filter?: { name: string; prefix: boolean }): readonly number[] {
    if (!filter) return this.alive;
    if (filter.prefix) return this.alive.filter((index) => this.nameOf(index).startsWith(filter.name));
    return (this.names().get(filter.name) ?? []).filter((index) => this.position(index) >= 0);
  }

  /** One record as JSON text. */
  text(index: number, subset: boolean, variants: Variants): string {
    if (subset) return JSON.stringify(Object.fromEntries(Object.entries(this.record(index)).filter(([name]) => BY_NAME.includes(name))));
    const signature = `${variants.nullKeys} ${variants.totals}`;
    if (signature !== this.textsFor) this.texts.clear();
    this.textsFor = signature;
    let text = this.texts.get(index);
    if (text === undefined) {
      text = JSON.stringify(shown(this.record(index), index, variants));
      if (this.texts.size < KEPT) this.texts.set(index, text);
    }
    return text;
  }

  private nameOf(index: number): string {
    const given = this.extras.get(index)?.values['active-user-name'];
    return typeof given === 'string' ? given : userName(index);
  }

  private names(): Map<string, number[]> {
    if (this.byName) return this.byName;
    const names = new Map<string, number[]>();
    for (const index of this.alive) {
      const name = this.nameOf(index);
      const same = names.get(name);
      if (same) same.push(index);
      else names.set(name, [index]);
    }
    return (this.byName = names);
  }

  private position(index: number): number {
    let low = 0;
    let high = this.alive.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = this.alive[middle] ?? -1;
      if (found === index) return middle;
      if (found < index) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

function shown(record: JsonObject, index: number, variants: Variants): JsonObject {
  if (variants.totals === 'text') record.events = JSON.stringify(record.events);
  if (variants.nullKeys === 'null') return record;
  return Object.fromEntries(
    Object.entries(record).filter(([, value], at) => value !== null || (variants.nullKeys === 'mixed' && (index + at) % 2 === 0)),
  );
}
