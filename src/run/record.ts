import { emptyResult, type Many, type ResultLists } from '../model/envelope';
import type { Request } from '../model/request';

/** What an exchange is to its operation: something that has to be known first, what is read, or what is written. */
export type Role = 'look-up' | 'read' | 'write';

const WEIGHT: Readonly<Record<Role, number>> = { 'look-up': 1, read: 2, write: 3 };

/**
 * What the envelope of one run will say of its exchanges. *The* request of an operation is the first write if there is one, else the
 * first read, else what was looked up; the status is that of the last answer to an exchange of the same role.
 */
export class RunRecord {
  request: Request | undefined;
  status: number | null = null;
  result: ResultLists = emptyResult();
  /** Null as long as nothing can be said: for reads and plans. */
  changed: boolean | null = null;
  /** The data of an operation that tells of several items. */
  many: Many | undefined;
  /** How many parts went out; undefined when the data goes back whole. */
  emitted: number | undefined;
  /** What was in them. */
  emittedItems = 0;
  readonly notes: Record<string, unknown> = {};
  #role: Role | undefined;
  readonly #whole: RunRecord | undefined;

  /** `whole`: that of the operation, of which this one has the work on one item. */
  constructor(whole?: RunRecord) {
    this.#whole = whole;
  }

  /** Whether a write was sent or planned. */
  get writes(): boolean {
    return this.#role === 'write';
  }

  /** Before an exchange is sent or planned. */
  begins(role: Role, request: Request): void {
    this.#whole?.begins(role, request);
    if (this.#role && WEIGHT[role] <= WEIGHT[this.#role]) return;
    this.#role = role;
    this.request = request;
    // That of something else.
    this.status = null;
  }

  answered(role: Role, status: number | null): void {
    this.#whole?.answered(role, status);
    if (WEIGHT[role] >= WEIGHT[this.#role ?? role]) this.status = status;
  }

  /** A write succeeded. */
  wrote(status: number | null, result: ResultLists): void {
    this.answered('write', status);
    this.changed = true;
    this.result = result;
  }

  /** Several writes are over. What was changed before them stays changed. */
  wroteMany(many: Many, changed: boolean | null): void {
    this.many = many;
    if (this.changed !== true) this.changed = changed;
  }

  /** Nothing had to be written. */
  unchanged(): void {
    this.changed ??= false;
  }
}
