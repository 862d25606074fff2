import type { JsonObject } from '../body-shape';
import type { SimulatorSettings } from '../options';
import { type SessionRealm, generateSession, parseSessionId, toSessionId, toUserName } from '../generated-sessions';
import type { Variants } from '../variants';

/** Fields of a session that replace the generated ones. */
interface Extra {
  values: JsonObject;
  onEnded: () => void;
}

// The records of a small appliance are kept as text, so that polling it costs no work; those of a large one would fill the memory.
const MAX_CACHED_RECORDS = 5000;
// A by-name query returns only these.
const BY_NAME_FIELDS = [
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
  /** Numbers of the existing sessions, ascending. A number is used only once. */
  private activeNumbers: number[];
  private readonly extras = new Map<number, Extra>();
  private next: number;
  private byName: Map<string, number[]> | undefined;
  private texts = new Map<number, string>();
  private textsFor = '';

  constructor(
    private readonly settings: SimulatorSettings,
    private readonly realms: readonly SessionRealm[] = [],
  ) {
    this.next = settings.sessions;
    this.activeNumbers = Array.from({ length: settings.sessions }, (_, index) => index);
  }

  get count(): number {
    return this.activeNumbers.length;
  }

  /** Starts a session. The given fields replace generated ones. Returns the session-id. */
  add(values: JsonObject = {}, onEnded: () => void = () => undefined): string {
    const index = this.next++;
    const id = toSessionId(index);
    this.extras.set(index, { values: { ...values, 'session-id': id }, onEnded });
    this.activeNumbers.push(index);
    this.byName?.set(this.getUserName(index), [...(this.byName.get(this.getUserName(index)) ?? []), index]);
    return id;
  }

  has(id: string): boolean {
    const index = parseSessionId(id);
    return index !== undefined && this.position(index) >= 0;
  }

  /** Ends one session. False if no session has this id. */
  end(id: string): boolean {
    const index = parseSessionId(id);
    const position = index === undefined ? -1 : this.position(index);
    if (index === undefined || position < 0) return false;
    this.activeNumbers.splice(position, 1);
    this.extras.get(index)?.onEnded();
    return true;
  }

  endAll(): void {
    this.activeNumbers = [];
    for (const extra of this.extras.values()) extra.onEnded();
    this.extras.clear();
    this.texts.clear();
    this.byName = undefined;
  }

  /** Ends every session of these users (license, `delete-active-sessions`). */
  endUsers(users: ReadonlySet<string>): number {
    const ids = this.activeNumbers.filter((index) => users.has(this.getUserName(index))).map(toSessionId);
    for (const id of ids) this.end(id);
    return ids.length;
  }

  /** Every record without variants, for tests. */
  record(index: number): JsonObject {
    const record = generateSession(index, this.settings, this.realms);
    const extra = this.extras.get(index);
    return extra ? { ...record, ...extra.values } : record;
  }

  ids(): string[] {
    return this.activeNumbers.map(toSessionId);
  }

  findNumbers(filter?: { name: string; prefix: boolean }): readonly number[] {
    if (!filter) return this.activeNumbers;
    if (filter.prefix) return this.activeNumbers.filter((index) => this.getUserName(index).startsWith(filter.name));
    return (this.getNumbersByName().get(filter.name) ?? []).filter((index) => this.position(index) >= 0);
  }

  /** One record as JSON text. */
  toRecordText(index: number, isByName: boolean, variants: Variants): string {
    if (isByName)
      return JSON.stringify(Object.fromEntries(Object.entries(this.record(index)).filter(([name]) => BY_NAME_FIELDS.includes(name))));
    const signature = `${variants.nullKeys} ${variants.totals}`;
    if (signature !== this.textsFor) this.texts.clear();
    this.textsFor = signature;
    let text = this.texts.get(index);
    if (text === undefined) {
      text = JSON.stringify(applyVariants(this.record(index), index, variants));
      if (this.texts.size < MAX_CACHED_RECORDS) this.texts.set(index, text);
    }
    return text;
  }

  private getUserName(index: number): string {
    const ownName = this.extras.get(index)?.values['active-user-name'];
    return typeof ownName === 'string' ? ownName : toUserName(index, this.realms);
  }

  private getNumbersByName(): Map<string, number[]> {
    if (this.byName) return this.byName;
    const names = new Map<string, number[]>();
    for (const index of this.activeNumbers) {
      const name = this.getUserName(index);
      const same = names.get(name);
      if (same) same.push(index);
      else names.set(name, [index]);
    }
    return (this.byName = names);
  }

  private position(index: number): number {
    let low = 0;
    let high = this.activeNumbers.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = this.activeNumbers[middle] ?? -1;
      if (found === index) return middle;
      if (found < index) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

function applyVariants(record: JsonObject, index: number, variants: Variants): JsonObject {
  if (variants.totals === 'text') record.events = JSON.stringify(record.events);
  if (variants.nullKeys === 'null') return record;
  return Object.fromEntries(
    Object.entries(record).filter(([, value], at) => value !== null || (variants.nullKeys === 'mixed' && (index + at) % 2 === 0)),
  );
}
